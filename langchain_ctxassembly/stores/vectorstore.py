"""Neighbors from any LangChain vector store, by their metadata or by their ids."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from ctxassembly.adapters.numbering import default_chunk_id
from ctxassembly.concurrency import await_with_deadline, submit, wait_with_deadline
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_ctxassembly.stores.filters import (
    Qdrant,
    aget_documents,
    check_filter,
    find_by_metadata,
    finds_metadata,
    get_documents,
    is_postgres,
    kind_of,
)


@dataclass(frozen=True)
class VectorStoreNeighbors:
    """A store of neighbors over any vector store with `get_by_ids`, sync or async; Chroma and Qdrant need none.

    By metadata: Chroma and Qdrant are queried for document and index in the metadata, under the first of `keys` that a
    chunk has. Indexes must be integers; ids may be anything. One query covers several documents (32 in Chroma, one in
    Chroma Cloud). They also answer for whole documents and, if chunks have no index, for the chunks next to an offset
    (`keys.start`), page by page or section by section; the whole document is read for that. After
    `timeout_seconds` a TimeoutError is raised; a query under way in its thread can't be stopped.

    By id: any other vector store, and any store with `id_of`, must hold the chunks under ids made of document and
    index: `vectorstore.add_documents(documents, ids=[...])`. Their metadata must match: a chunk with another document
    or index is left out of the context, and the trace says so. Whole documents can't be found by id.

    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> vectorstore = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    >>> parts = [Document(text, metadata={"document_id": "gastro", "chunk_index": at}) for at, text in enumerate("abc")]
    >>> _ = vectorstore.add_documents(parts, ids=["gastro#0", "gastro#1", "gastro#2"])
    >>> [chunk.text for chunk in VectorStoreNeighbors(vectorstore).fetch([ChunkRef("gastro", 2)])]
    ['c']

    Without a `filter`, the store returns unfiltered chunks. The adapter then applies the filter of the search, or if
    that is unknown, drops chunks whose metadata doesn't match their hit's.
    """

    vectorstore: VectorStore
    id_of: Callable[[str, int], str | Sequence[str]] | None = None
    """A function from document id and index to the id of the chunk; to several ids if tenants share document ids, and
    the filter keeps the caller's. None: by metadata in Chroma and Qdrant, by ids like `handbook.pdf#7` in others."""
    filter: Any = None
    """The filter that neighbors must pass, in the vector store's own form: a mapping for Chroma, a `models.Filter` for
    Qdrant, both applied in the query; a mapping or a function of the metadata for FAISS. For others a mapping or a
    function of the document as `as_predicate` takes it: a mapping for `InMemoryVectorStore`, too, whose search takes
    functions alone."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    timeout_seconds: float = 10.0
    """Deadline of a query of metadata."""

    def __post_init__(self) -> None:
        if not can_get_by_ids(self.vectorstore):
            raise ConfigError("vectorstore", "a vector store with get_by_ids", type(self.vectorstore).__name__)
        if not (self.id_of is None or callable(self.id_of)):
            raise ConfigError("id_of", "a function (document_id, index) -> id", self.id_of)
        if not 0 < self.timeout_seconds < math.inf:
            raise ConfigError("timeout_seconds", "a finite number above 0", self.timeout_seconds)
        check_filter(self.vectorstore, self.filter)

    @property
    def remedies(self) -> Mapping[str, str]:
        """Lines to write if neighbors can't be found."""
        again = "vectorstore.add_documents(number_chunks(documents))"
        if not self._can_use_metadata:
            return dict.fromkeys(("place", "answer"), again)
        in_order = "number_stored_chunks(vectorstore, trust_insertion_order=True)"
        if isinstance(kind_of(self.vectorstore), Qdrant):  # it keeps no order of insertion
            in_order = "vectorstore.add_documents(number_chunks(documents, id_of=uuid_of))"
        return {**dict.fromkeys(("place", "answer"), "number_stored_chunks(vectorstore)"), "order": in_order}

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own; else None, since the caller's filter is unknown."""
        return True if is_filter(self.filter) else None

    @property
    def finds_offsets(self) -> bool:
        """True if it answers for chunks next to an offset."""
        return self._can_use_metadata

    @property
    def _can_use_metadata(self) -> bool:
        return self.id_of is None and finds_metadata(self.vectorstore)

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order.

        Raises:
            TimeoutError: a query of metadata took too long.
        """
        ids, places = self._split_refs(refs)
        found = wait_with_deadline(self.timeout_seconds, submit(self._search(places))) if places else []
        return [*found, *self._to_chunks(get_documents(self.vectorstore, ids, self.filter) if ids else ())]

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`; a query of metadata is made in a thread."""
        ids, places = self._split_refs(refs)
        found = await await_with_deadline(self.timeout_seconds, submit(self._search(places))) if places else []
        return [*found, *self._to_chunks(await aget_documents(self.vectorstore, ids, self.filter) if ids else ())]

    def _search(self, refs: Sequence[ChunkRef]) -> Callable[[], list[Chunk]]:
        """Return the query for the chunks at places that metadata name."""
        return partial(find_by_metadata, self.vectorstore, refs, self.keys, self.filter)

    def _split_refs(self, refs: Sequence[ChunkRef]) -> tuple[list[str], list[ChunkRef]]:
        """Return the ids to get, and the references to look for in the metadata."""
        if self._can_use_metadata:
            ids = [ref.chunk_id for ref in refs if ref.chunk_id]
            return list(dict.fromkeys(ids)), [ref for ref in refs if not ref.chunk_id]
        return list(dict.fromkeys(name for ref in refs for name in self._ids_of(ref))), []

    def _ids_of(self, ref: ChunkRef) -> Sequence[str]:
        if ref.chunk_id:
            return (ref.chunk_id,)
        if ref.index is None:
            return ()
        ids = (self.id_of or default_chunk_id)(ref.document_id, ref.index)
        return (ids,) if isinstance(ids, str) else ids

    def _to_chunks(self, documents: Iterable[Document]) -> list[Chunk]:
        return [chunk_from(document, self.keys) for document in documents]


def can_get_by_ids(vectorstore: VectorStore) -> bool:
    """Return True if `vectorstore` can be asked by ids: it has a query of its own for that, or implements `get_by_ids`.

    Chroma of langchain-community has the first alone. The `get_by_ids` of the base class only raises.
    """
    return finds_metadata(vectorstore) or any(
        getattr(type(vectorstore), name, None) not in (None, getattr(VectorStore, name))
        for name in ("get_by_ids", "aget_by_ids")
    )


def make_neighbor_store(vectorstore: Any, keys: MetadataKeys) -> Any:
    """Return a store of neighbors made from `vectorstore`.

    PGVectorStore and PGVector give a `PGVectorNeighbors`. Chroma, Qdrant and all with `get_by_ids` give a
    `VectorStoreNeighbors`, which finds neighbors in Chroma and Qdrant by document and index in their metadata,
    elsewhere if the chunks were stored under `{document_id}#{index}`. The rest give one that has none, and says so.
    """
    if is_postgres(vectorstore):
        from langchain_ctxassembly.stores.postgres import PGVectorNeighbors

        return PGVectorNeighbors(vectorstore, keys=keys)
    return VectorStoreNeighbors(vectorstore, keys=keys) if can_get_by_ids(vectorstore) else NoNeighbors(vectorstore)


class NoNeighbors:
    """The neighbors of a vector store that can't be queried for any; the trace says so."""

    holds_filter = True
    """It has no neighbors, so none comes past a filter."""
    finds_ids = False
    remedies = dict.fromkeys(
        ("method",), "ContextAssemblyRetriever.from_vectorstore(vectorstore, store=MemoryStore(chunks))"
    )
    """The line to write if neighbors can't be found."""

    def __init__(self, vectorstore: Any) -> None:
        self.vectorstore = vectorstore

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Raise, since there is nothing to query.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self.vectorstore).__name__} has no get_by_ids")
