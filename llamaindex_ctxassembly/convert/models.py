"""LlamaIndex's models in the form the engine calls: functions from a prompt to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from inspect import getattr_static
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import CacheControl, CachePoint
from llama_index.core.llms import ChatMessage, CustomLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly.adapters.metadata import check_context
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import RerankedPosition, Reranker
from ctxassembly.runtime.scorers import to_reranker


@dataclass(frozen=True)
class _Embeddings:
    """A LlamaIndex embedding model with the methods that the engine calls."""

    model: BaseEmbedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each of `texts`, in their order."""
        return self.model.get_text_embedding_batch(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Async version of `embed_documents`."""
        return await self.model.aget_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.model.get_query_embedding(text)

    async def aembed_query(self, text: str) -> list[float]:
        """Async version of `embed_query`."""
        return await self.model.aget_query_embedding(text)


def check_kind(parameter: str, value: object, kind: type, allowed: str) -> None:
    """Check that `value` is of the class `kind`.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, kind):
        hint = f": write {parameter}=index.{parameter}" if hasattr(value, parameter) else ""
        raise ConfigError(parameter, allowed, value, hint)


def as_embeddings(embeddings: Any) -> Any:
    """Return embeddings for the engine: a LlamaIndex model is wrapped, anything else stays as it is."""
    return _Embeddings(embeddings) if isinstance(embeddings, BaseEmbedding) else embeddings


def check_embeddings(embeddings: Any) -> None:
    """Check that `embeddings` embed texts.

    Raises:
        ConfigError: they can't.
    """
    can_embed = any(hasattr(embeddings, name) for name in ("embed_documents", "aembed_documents", "__call__"))
    if not (embeddings is None or can_embed):
        allowed = "a LlamaIndex embedding model, an object with embed_documents or a function"
        raise ConfigError("embeddings", allowed, embeddings)


def text_model(llm: Any) -> Any:
    """Return a function from a prompt to the answer of `llm`: a LlamaIndex model completes it, a function stays."""
    return (lambda prompt: llm.complete(prompt).text) if isinstance(llm, BaseLLM) else llm


def async_text_model(llm: Any) -> Any:
    """Return the async version of `text_model`. If `acomplete` would block the event loop, a thread is used."""
    if not isinstance(llm, BaseLLM) or is_blocking(llm):
        return text_model(llm)

    async def ask(prompt: str) -> str:
        return (await llm.acomplete(prompt)).text

    return ask


def is_blocking(llm: BaseLLM) -> bool:
    """Return True if the LLM inherits `acomplete` from CustomLLM, which awaits nothing, so no deadline would apply."""
    return getattr_static(type(llm), "acomplete") is getattr_static(CustomLLM, "acomplete")


def to_messages(
    context: Context,
    question: str,
    style: str = "grounded",
    extra_instructions: str | None = None,
    *,
    extra_rules: Sequence[str] = (),
    template: str | None = None,
    cache_prefix: bool = False,
) -> list[ChatMessage]:
    """Return a system and a user message, worded as by `Context.to_messages`.

    With `cache_prefix` the system message ends with a `CachePoint`, for providers that cache what is marked, such as
    Anthropic: all before the mark stays the same from question to question.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.role.value for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'user']

    Raises:
        InputError: `context` is no Context.
    """
    context = check_context(context, "ContextAssemblyPostprocessor().context(nodes)")
    messages = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    system, user = [ChatMessage(content=message["content"], role=message["role"]) for message in messages]
    if cache_prefix:
        system.blocks.append(CachePoint(cache_control=CacheControl(type="ephemeral")))
    return [system, user]


def as_reranker(reranker: Any) -> Reranker:
    """Return a reranker: a postprocessor or a cross-encoder is wrapped, a function is returned unchanged.

    Raises:
        ConfigError: `reranker` is none of these.
    """
    if isinstance(reranker, BaseNodePostprocessor):
        return partial(_rerank_with_postprocessor, reranker)
    return to_reranker(reranker, "node postprocessors, cross-encoders or functions")


def _rerank_with_postprocessor(
    postprocessor: BaseNodePostprocessor, query: str, chunks: Sequence[Chunk]
) -> list[RerankedPosition]:
    # The place is the id: it comes back whatever a postprocessor does with metadata.
    nodes = [
        NodeWithScore(node=TextNode(id_=str(index), text=chunk.text, metadata=dict(chunk.metadata)))
        for index, chunk in enumerate(chunks)
    ]
    ranked = postprocessor.postprocess_nodes(nodes, query_str=query)
    return [(int(node.node.node_id), node.score) for node in ranked if node.node.node_id.isdecimal()]
