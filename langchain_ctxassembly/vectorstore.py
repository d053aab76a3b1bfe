"""Neighbours from any LangChain vector store, by the ids that its chunks were stored under."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from ctxassembly.errors import ConfigError
from ctxassembly.keys import MetadataKeys
from ctxassembly.missing import Lack
from ctxassembly.numbering import document_and_index
from ctxassembly.types import Chunk, ChunkRef
from langchain_ctxassembly.documents import chunk_from
from langchain_ctxassembly.kinds import agot, check, got, is_filter

REMEDIES: Mapping[Lack, str] = {
    "place": "store them anew as vectorstore.add_documents(number_chunks(documents))",
    "answer": "store them anew under ids that follow from document and index, as "
    "vectorstore.add_documents(number_chunks(documents)), or say under which they are in "
    "VectorStoreNeighbours(vectorstore, id_of=...)",
}


@dataclass(frozen=True)
class VectorStoreNeighbours:
    """A store of neighbours over any vector store with `get_by_ids`: one call a fetch, sync or async.

    The chunks must have been stored under ids that follow from document and place:
    `vectorstore.add_documents(documents, ids=[...])`. Their metadata must say the same: what comes back as a chunk of
    another document or place is left out of the context, and the trace says so. A whole document can't be asked for
    by id; such references stay unanswered.

    Without a `filter` of its own it brings whatever stands under an id, held to the filter of the search by the adapter
    that asks it, or to its hit where that filter isn't known.
    """

    vectorstore: VectorStore
    id_of: Callable[[str, int], str | Sequence[str]] = document_and_index
    """The id of the chunk at a place of a document; several where tenants have documents of the same id, of which the
    filter leaves the caller's."""
    filter: Any = None
    """What a neighbour must satisfy, in the vector store's own form: a mapping for Chroma, a `models.Filter` for
    Qdrant, both applied in its own query; a function of the metadata or a mapping for FAISS, of the document for
    `InMemoryVectorStore`. For others a mapping or function as `langchain_ctxassembly.filters.as_predicate` has it."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not can_get_by_ids(self.vectorstore):
            raise ConfigError("vectorstore", "a vector store with get_by_ids", type(self.vectorstore).__name__)
        if not callable(self.id_of):
            raise ConfigError("id_of", "a function (document_id, index) -> id", self.id_of)
        check(self.vectorstore, self.filter)

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """What to write where neighbours can't be found."""
        return REMEDIES

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own; without one nobody knows how the caller filters."""
        return True if is_filter(self.filter) else None

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order."""
        ids = self._ids(refs)
        return self._chunks(got(self.vectorstore, ids, self.filter)) if ids else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        ids = self._ids(refs)
        return self._chunks(await agot(self.vectorstore, ids, self.filter)) if ids else []

    def _ids(self, refs: Sequence[ChunkRef]) -> list[str]:
        return list(dict.fromkeys(name for ref in refs for name in self._named(ref)))

    def _named(self, ref: ChunkRef) -> Sequence[str]:
        if ref.chunk_id:
            return (ref.chunk_id,)
        if ref.index is None:
            return ()
        named = self.id_of(ref.document_id, ref.index)
        return (named,) if isinstance(named, str) else named

    def _chunks(self, documents: Iterable[Document]) -> list[Chunk]:
        return [chunk_from(document, self.keys) for document in documents]


def can_get_by_ids(vectorstore: VectorStore) -> bool:
    """Whether `vectorstore` implements `get_by_ids` or its async twin; the base class only raises."""
    return any(
        getattr(type(vectorstore), name, None) not in (None, getattr(VectorStore, name))
        for name in ("get_by_ids", "aget_by_ids")
    )
