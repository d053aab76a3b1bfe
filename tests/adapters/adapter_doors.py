"""The doors of both adapters, for one test of each rule: the same hits in, the same blocks out.

A hit is a `Chunk`, here with the metadata alone that both frameworks carry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from pydantic import PrivateAttr

from ctxassembly import Chunk, Context
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

Embed = Callable[[list[str]], list[list[float]]]


@dataclass(frozen=True)
class Block:
    """What a model reads under one label, and the metadata that it doesn't read."""

    id: str | None
    text: str
    metadata: dict[str, Any]
    score: float | None


@dataclass(frozen=True)
class Read:
    """What a chain or an engine hands to the model."""

    blocks: list[Block]
    found: list[Any]
    """The same, as the framework's own objects."""

    @property
    def text(self) -> str:
        """All that the model reads."""
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def trace(self) -> dict[str, Any]:
        """The trace, which the first block has."""
        trace: dict[str, Any] = self.blocks[0].metadata["trace"]
        return trace

    @property
    def citations(self) -> list[dict[str, Any]]:
        """The citations of the labels, in order."""
        return [block.metadata["citation"] for block in self.blocks]


@dataclass(frozen=True)
class Door:
    """One adapter, called or awaited."""

    is_langchain: bool
    is_async: bool

    def make(self, **settings: Any) -> Any:
        """Return the assembler or the postprocessor."""
        return ContextAssembler(**settings) if self.is_langchain else ContextAssemblyPostprocessor(**settings)

    def hit(self, chunk: Chunk, score: float | None = None) -> Any:
        """Return `chunk` as the framework's own retriever would."""
        place = {} if chunk.index is None else {"chunk_index": chunk.index}
        if self.is_langchain:
            offset = {} if chunk.start is None else {"start_index": chunk.start}
            scores = {} if score is None else {"score": score}
            own = {"document_id": chunk.document_id, **place, **offset, **scores}
            return Document(chunk.text, id=chunk.id, metadata={**own, **chunk.metadata})
        end = None if chunk.start is None else chunk.start + len(chunk.text)
        node = TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata={**place, **chunk.metadata},
            start_char_idx=chunk.start,
            end_char_idx=end,
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.document_id)},
        )
        return NodeWithScore(node=node, score=score)

    def embeddings(self, embed: Embed) -> Any:
        """Return a model of the framework's whose vectors are those of `embed`."""
        return _Embeddings(embed) if self.is_langchain else _EmbedModel(embed)

    def read(self, chunks: Sequence[Chunk], query: str | None = None, **settings: Any) -> Read:
        """Return what the adapter makes of `chunks` as hits."""
        return self.read_by(self.make(**settings), [self.hit(chunk) for chunk in chunks], query)

    def read_by(self, made: Any, hits: Sequence[Any], query: str | None = None) -> Read:
        """Return what `made` makes of `hits`."""
        if self.is_langchain:
            given = list(hits) if query is None else {"documents": list(hits), "query": query}
            return self.of(asyncio.run(made.ainvoke(given)) if self.is_async else made.invoke(given))
        bundle = None if query is None else QueryBundle(query)
        call = made.apostprocess_nodes if self.is_async else made.postprocess_nodes
        return self.of(asyncio.run(call(list(hits), bundle)) if self.is_async else call(list(hits), bundle))

    def of(self, found: list[Any]) -> Read:
        """Return what a model reads of the framework's own objects."""
        if self.is_langchain:
            blocks = [Block(one.id, one.page_content, one.metadata, one.metadata.get("score")) for one in found]
        else:
            blocks = [Block(one.node_id, one.get_content(), one.metadata, one.score) for one in found]
        return Read(blocks, found)

    def with_text(self, one: Any, text: str) -> Any:
        """Return a copy of a hit, or of a block that was found, with another text."""
        if self.is_langchain:
            return one.model_copy(update={"page_content": text})
        node = one.node.model_copy(deep=True)
        node.set_content(text)
        return NodeWithScore(node=node, score=one.score)

    def context(self, chunks: Sequence[Chunk], query: str | None = None, **settings: Any) -> Context:
        """Return the context of `chunks` itself."""
        return self.context_of(self.make(**settings), [self.hit(chunk) for chunk in chunks], query)

    def context_of(self, made: Any, hits: Sequence[Any], query: str | None = None) -> Context:
        """Return the context that `made` makes of `hits`."""
        if self.is_langchain:
            runnable, given = made.as_context(), {"documents": list(hits), "query": query}
            context: Context = asyncio.run(runnable.ainvoke(given)) if self.is_async else runnable.invoke(given)
            return context
        return asyncio.run(made.acontext(list(hits), query)) if self.is_async else made.context(list(hits), query)


DOORS = {
    f"{name}, {how}": Door(is_langchain, is_async)
    for name, is_langchain in (("LangChain", True), ("LlamaIndex", False))
    for how, is_async in (("called", False), ("awaited", True))
}


class _Embeddings(Embeddings):
    def __init__(self, embed: Embed) -> None:
        self.embed_documents = embed  # type: ignore[method-assign]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class _EmbedModel(BaseEmbedding):
    _embed: Any = PrivateAttr()

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = embed

    def _get_text_embedding(self, text: str) -> list[float]:
        vectors: list[list[float]] = self._embed([text])
        return vectors[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
