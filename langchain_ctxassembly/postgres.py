"""Neighbours from langchain-postgres: `PGVectorStore` by its own `aget`, the older `PGVector` by a bound statement."""

# ruff: noqa: SLF001  what is private here has no public way in: the event loop, the sessions, the filter's translation

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, cast

from langchain_core.documents import Document
from langchain_postgres import PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from sqlalchemy import Engine, select
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.keys import MetadataKeys
from ctxassembly.stores.postgres import ChunkTable, arows, awaited, json_text, read, read_in_background, waited
from ctxassembly.types import Chunk, ChunkRef
from langchain_ctxassembly.detect import unwrapped
from langchain_ctxassembly.documents import chunk_from

Rows = Iterable[Sequence[Any]]
"""Id, text and metadata of chunks."""


@dataclass(frozen=True)
class PGVectorNeighbours:
    """A store of neighbours over `PGVectorStore`, `AsyncPGVectorStore` or `PGVector`: one statement a fetch.

    All values are bound, the embedding is never read, and a row that `filter` excludes never leaves the database.
    Document and index are looked for under the first of their `keys` that is a column, else under the first, in the
    JSON metadata. Columns must be of text and integers. An index on the two makes it fast; neither class creates one.
    """

    vectorstore: PGVectorStore | AsyncPGVectorStore | PGVector
    _: KW_ONLY
    filter: dict[str, Any] | None = None
    """As for the vector store's own search."""
    timeout_seconds: float = 10.0
    """A fetch that takes longer is cancelled, on the server too."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not isinstance(self.vectorstore, (PGVectorStore, AsyncPGVectorStore, PGVector)):
            raise ConfigError("vectorstore", "a PGVectorStore, AsyncPGVectorStore or PGVector", self.vectorstore)
        if self.filter is not None and not isinstance(self.filter, dict):
            raise ConfigError("filter", "a dict, as for the vector store's own search", self.filter)
        if not 0 < self.timeout_seconds < math.inf:
            raise ConfigError("timeout_seconds", "a finite number above 0", self.timeout_seconds)

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own; without one nobody knows how the caller filters."""
        return True if self.filter else None

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order.

        Raises:
            TimeoutError: the database didn't answer in time.
            InputError: the vector store was set up for async use alone.
        """
        return self._chunks(self._source().rows(refs)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited. A `PGVector` set up for sync use is asked in a thread."""
        return self._chunks(await self._source().arows(refs)) if refs else []

    def _source(self) -> _Source:
        if isinstance(self.vectorstore, PGVector):
            return _Collection(self.vectorstore, self.filter, self.timeout_seconds, self.keys)
        return _Table(self.vectorstore, self.filter, self.timeout_seconds, self.keys)

    def _chunks(self, rows: Rows) -> list[Chunk]:
        documents = (Document(id=id_, page_content=text, metadata=metadata or {}) for id_, text, metadata in rows)
        return [chunk_from(document, self.keys) for document in documents]


class _Source(Protocol):
    def rows(self, refs: Sequence[ChunkRef]) -> Rows: ...

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows: ...


@dataclass(frozen=True)
class _Table:
    """A `PGVectorStore`'s table, by the public `aget`."""

    vectorstore: PGVectorStore | AsyncPGVectorStore
    filter: dict[str, Any] | None
    timeout_seconds: float
    keys: MetadataKeys

    def rows(self, refs: Sequence[ChunkRef]) -> Rows:
        loop = getattr(getattr(self.vectorstore, "_engine", None), "_loop", None)
        if loop is None:
            raise InputError("this vector store has no event loop of its own for sync calls: use the async methods")
        return waited(asyncio.run_coroutine_threadsafe(self._rows(refs), loop), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        loop = getattr(getattr(self.vectorstore, "_engine", None), "_loop", None)
        asked = self._rows(refs)
        return await awaited(asyncio.run_coroutine_threadsafe(asked, loop) if loop else asked, self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        table = unwrapped(self.vectorstore)
        found = await table.aget(where=self._where(refs), include=["documents", "metadatas"])
        return zip(found["ids"], found["documents"], found["metadatas"], strict=True)

    def _where(self, refs: Sequence[ChunkRef]) -> dict[str, Any]:
        table = unwrapped(self.vectorstore)
        document, index = (
            next((name for name in names if name in table.metadata_columns), names[0])
            for names in (self.keys.document_id, self.keys.index)
        )
        places: defaultdict[str, list[int | str]] = defaultdict(list)
        for ref in refs:
            if ref.index is not None:
                # JSON is compared as text, since a cast would fail on any odd value in the table.
                in_column = index in table.metadata_columns
                places[ref.document_id] += [ref.index] if in_column else [f"{ref.index}", f"{ref.index}.0"]
        wanted: list[dict[str, Any]] = [
            {"$and": [{document: document_id}, {index: {"$in": indexes}}]} for document_id, indexes in places.items()
        ]
        if ids := [ref.chunk_id for ref in refs if ref.chunk_id is not None]:
            wanted.append({table.id_column: {"$in": ids}})
        if whole := [ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None]:
            wanted.append({document: {"$in": whole}})
        return {"$and": [{"$or": wanted}, *([self.filter] if self.filter else [])]}


@dataclass(frozen=True)
class _Collection:
    """A collection in the tables that all `PGVector`s of a database share."""

    vectorstore: PGVector
    filter: dict[str, Any] | None
    timeout_seconds: float
    keys: MetadataKeys

    def rows(self, refs: Sequence[ChunkRef]) -> Rows:
        if self.vectorstore.async_mode:
            raise InputError("this PGVector was set up with async_mode=True: use the async methods")
        return read(self._engine, self._table().select(refs), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        if not self.vectorstore.async_mode:
            return await read_in_background(self._engine, self._table().select(refs), self.timeout_seconds)
        return await awaited(self._rows(refs), self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        # It happens once: a fetch that is given up must not leave it half done.
        await asyncio.shield(self.vectorstore.__apost_init__())
        return await arows(cast(AsyncEngine, self.vectorstore._async_engine), self._table().select(refs))

    def _engine(self) -> Engine:
        return cast(Engine, self.vectorstore._engine)

    def _table(self) -> ChunkTable:
        chunks, collections = self.vectorstore.EmbeddingStore, self.vectorstore.CollectionStore
        named = collections.name == self.vectorstore.collection_name
        where = [chunks.collection_id == select(collections.uuid).where(named).scalar_subquery()]
        if self.filter:
            where.append(self.vectorstore._create_filter_clause(self.filter))
        return ChunkTable(
            id=chunks.id,
            document_id=json_text(chunks.cmetadata, self.keys.document_id[0]),
            index=json_text(chunks.cmetadata, self.keys.index[0]),
            text=chunks.document,
            metadata=chunks.cmetadata,
            where=tuple(where),
        )
