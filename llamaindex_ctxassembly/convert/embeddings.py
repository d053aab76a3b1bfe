"""LlamaIndex's embedding models with the methods that the engine calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from ctxassembly.errors import ConfigError


@dataclass(frozen=True)
class NodeEmbeddings:
    """A LlamaIndex embedding model with `embed_documents` and `aembed_documents`."""

    model: BaseEmbedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each of `texts`, in their order."""
        return self.model.get_text_embedding_batch(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The same, awaited."""
        return await self.model.aget_text_embedding_batch(texts)


@dataclass(frozen=True)
class QueryEmbedding:
    """A LlamaIndex embedding model with `embed_query` and `aembed_query`."""

    model: BaseEmbedding

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.model.get_query_embedding(text)

    async def aembed_query(self, text: str) -> list[float]:
        """The same, awaited."""
        return await self.model.aget_query_embedding(text)


def as_query_embedding(given: Any) -> Any:
    """The embeddings of a query: a LlamaIndex model is wrapped, anything else stays for the engine to check."""
    return QueryEmbedding(given) if isinstance(given, BaseEmbedding) else given


def as_embeddings(given: Any) -> Any:
    """Embeddings for the engine: a LlamaIndex model is wrapped, anything else that embeds stays as it is.

    Raises:
        ConfigError: `given` can't embed.
    """
    if isinstance(given, BaseEmbedding):
        return NodeEmbeddings(given)
    if given is None or callable(given) or hasattr(given, "embed_documents") or hasattr(given, "aembed_documents"):
        return given
    raise ConfigError("embeddings", "a LlamaIndex embedding model, an object with embed_documents or a function", given)
