"""Neighbours from any LangChain vector store, by the ids that its chunks were stored under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from ctxassembly.errors import ConfigError
from ctxassembly.keys import MetadataKeys
from ctxassembly.types import Chunk, ChunkRef
from langchain_ctxassembly.documents import chunk_from
from langchain_ctxassembly.filters import Filter, as_predicate


def document_and_index(document_id: str, index: int) -> str:
    """The id of a chunk by default: `handbook.pdf#7`."""
    return f"{document_id}#{index}"


@dataclass(frozen=True)
class VectorStoreNeighbours:
    """A store of neighbours over any vector store with `get_by_ids`: one call a fetch, sync or async.

    The chunks must have been stored under ids that follow from document and place:
    `vectorstore.add_documents(documents, ids=[...])`. Their metadata must say the same: what comes back as a chunk of
    another document or place is left out of the context, and the trace says so. A whole document can't be asked for
    by id; such references stay unanswered.
    """

    vectorstore: VectorStore
    id_of: Callable[[str, int], str] = document_and_index
    """The id of the chunk at a place of a document."""
    filter: Filter | None = None
    """What a neighbour must satisfy, as `langchain_ctxassembly.filters.as_predicate` describes it."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not can_get_by_ids(self.vectorstore):
            raise ConfigError("vectorstore", "a vector store with get_by_ids", type(self.vectorstore).__name__)
        if not callable(self.id_of):
            raise ConfigError("id_of", "a function (document_id, index) -> id", self.id_of)
        as_predicate(self.filter)

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own; without one nobody knows how the caller filters."""
        return True if self.filter else None

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order."""
        ids = self._ids(refs)
        return self._chunks(self.vectorstore.get_by_ids(ids)) if ids else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        ids = self._ids(refs)
        return self._chunks(await self.vectorstore.aget_by_ids(ids)) if ids else []

    def _ids(self, refs: Sequence[ChunkRef]) -> list[str]:
        named = (ref.chunk_id or (ref.index is not None and self.id_of(ref.document_id, ref.index)) for ref in refs)
        return list(dict.fromkeys(name for name in named if name))

    def _chunks(self, documents: Iterable[Document]) -> list[Chunk]:
        passes = as_predicate(self.filter)
        return [chunk_from(document, self.keys) for document in documents if passes(document)]


def can_get_by_ids(vectorstore: VectorStore) -> bool:
    """Whether `vectorstore` implements `get_by_ids` or its async twin; the base class only raises."""
    return any(
        getattr(type(vectorstore), name, None) not in (None, getattr(VectorStore, name))
        for name in ("get_by_ids", "aget_by_ids")
    )
