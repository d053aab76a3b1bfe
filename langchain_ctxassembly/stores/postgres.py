"""Neighbours from langchain-postgres, `PGVectorStore` and the older `PGVector`, by one statement with bound values."""

# ruff: noqa: SLF001  what is private here has no public way in: the event loop, the sessions, the filter's translation

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, cast

from langchain_core.documents import Document
from langchain_postgres import PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from sqlalchemy import Engine, bindparam, func, select
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.assembly.expansion.diagnostics import Lack
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import check_size
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, PostgresStore, json_text, remembered, storable
from ctxassembly.stores.postgres.columns import Columns, langchain_table, of_langchain
from ctxassembly.stores.postgres.deadline import Asked, arows, awaited, read, read_in_background, waited
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_ctxassembly.stores.identity import loop_of, unwrapped

REMEDIES: Mapping[Lack, str] = {
    "place": "call number_stored_chunks(vectorstore) once, and store new ones as "
    "vectorstore.add_documents(number_chunks(documents))",
    "answer": "call number_stored_chunks(vectorstore) once, or name the keys of the table in "
    "AssemblyConfig(keys=MetadataKeys(document_id=..., index=...))",
}

Rows = Iterable[Sequence[Any]]
"""Id, text and metadata of chunks."""


@dataclass(frozen=True, kw_only=True)
class PGVectorNeighbours(PostgresStore):
    """A store of neighbours over `PGVectorStore`, `AsyncPGVectorStore` or `PGVector`: one statement a fetch.

        tenant = {"tenant": "north"}
        store = PGVectorNeighbours(vectorstore, filter=tenant)
        chain = vectorstore.as_retriever(search_kwargs={"filter": tenant}) | ContextAssembler(store=store)

    All values are bound, the embedding is never read, and a row that `filter` excludes never leaves the database.
    Document and index are looked for under the first of their `keys` that is a column, else under the first, in the
    JSON metadata, and for documents that aren't there under all others, the source among them. Columns must be of text
    and integers. An index on the two makes it fast; neither class creates one, but `number_stored_chunks` does.
    What the filter means is for the vector store to say. References that Postgres can't hold (NUL) stay unanswered.

    Where chunks have no index, those next to an offset are found by `keys.start`, page by page or section by section.
    """

    finds_offsets = True

    vectorstore: PGVectorStore | AsyncPGVectorStore | PGVector = field(kw_only=False)
    filter: dict[str, Any] | None = None
    """In the form that the vector store's own search takes."""

    def __post_init__(self) -> None:
        if not isinstance(self.vectorstore, (PGVectorStore, AsyncPGVectorStore, PGVector)):
            raise ConfigError("vectorstore", "a PGVectorStore, AsyncPGVectorStore or PGVector", self.vectorstore)
        if self.filter is not None and not isinstance(self.filter, dict):
            raise ConfigError("filter", "a dict, as for the vector store's own search", self.filter)
        check_size(self.filter)
        super().__post_init__()

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """Lines to write if neighbours can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter, in any order.

        Raises:
            TimeoutError: the database didn't answer in time.
            InputError: the vector store was set up for async use alone.
        """
        refs = storable(refs)
        return self._chunks(self._source().rows(refs)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited. A `PGVector` set up for sync use is asked in a thread."""
        refs = storable(refs)
        return self._chunks(await self._source().arows(refs)) if refs else []

    def _source(self) -> _Source:
        if isinstance(self.vectorstore, PGVector):
            return _Collection(self.vectorstore, self.filter, self.timeout_seconds, self.keys)
        return _Table(self.vectorstore, self.filter, self.timeout_seconds, self.keys)

    def _chunks(self, rows: Rows) -> list[Chunk]:
        return [chunk_from(_document(*row), self.keys) for row in rows]


def _document(id_: Any, text: str, metadata: dict[str, Any] | None) -> Document:
    return Document(id=str(id_), page_content=text, metadata=metadata or {})


class _Source(Protocol):
    def rows(self, refs: Sequence[ChunkRef]) -> Rows: ...

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows: ...


@dataclass(frozen=True)
class _Table:
    """A `PGVectorStore`'s table. What its filter means is for the vector store to say."""

    vectorstore: PGVectorStore | AsyncPGVectorStore
    filter: dict[str, Any] | None
    timeout_seconds: float
    keys: MetadataKeys

    def rows(self, refs: Sequence[ChunkRef]) -> Rows:
        loop = loop_of(self.vectorstore)
        if loop is None:
            raise InputError("this vector store has no event loop of its own for sync calls: use the async methods")
        # Its connections belong to its event loop, and work on no other.
        return waited(asyncio.run_coroutine_threadsafe(self._rows(refs), loop), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        loop, rows = loop_of(self.vectorstore), self._rows(refs)
        return await awaited(asyncio.run_coroutine_threadsafe(rows, loop) if loop else rows, self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        store = unwrapped(self.vectorstore)
        condition, bound = _translated(store, self.filter)
        columns = Columns(
            store.id_column, store.content_column, store.metadata_json_column, tuple(store.metadata_columns)
        )

        def table() -> ChunkTable:
            home = langchain_table(store.schema_name, store.table_name, columns)
            return of_langchain(home, columns, self.keys, _clause(condition))

        # Values of a filter are bound, so one statement serves all callers whose filters have the same form.
        made_of = (store.schema_name, store.table_name, columns, self.keys, condition)
        asked, places = remembered(made_of, table).asked(refs)
        rows = await arows(store.engine, (asked, {**places, **bound}))
        return [
            (id_, text, {**(json or {}), **dict(zip(columns.own, more, strict=True))})
            for id_, text, json, *more in rows
        ]


def _translated(store: AsyncPGVectorStore, condition: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """The condition in SQL that a filter is to the vector store itself, and the values of its parameters.

    The vector store names those differently each time; here filters that differ in values alone give the same text.
    """
    if not condition:
        return "", {}
    clause, bound = store._create_filter_clause(condition)
    for at, name in enumerate(bound):
        clause = re.sub(rf":{name}\b", f":filter_{at}", clause)
    return clause, {f"filter_{at}": value for at, value in enumerate(bound.values())}


def _clause(condition: str) -> Any:
    return sql(f"({condition})") if condition else None


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
        return read(self._engine, self._asked(refs), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        if not self.vectorstore.async_mode:
            return await read_in_background(self._engine, self._asked(refs), self.timeout_seconds)
        return await awaited(self._rows(refs), self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        # It happens once: a fetch that is given up must not leave it half done.
        await asyncio.shield(self.vectorstore.__apost_init__())
        return await arows(cast(AsyncEngine, self.vectorstore._async_engine), self._asked(refs))

    def _engine(self) -> Engine:
        return cast(Engine, self.vectorstore._engine)

    def _asked(self, refs: Sequence[ChunkRef]) -> Asked:
        # Of a filter there are as many tables as values: they are part of its clauses.
        made_of = (self.vectorstore.EmbeddingStore, self.keys, repr(self.filter))
        asked, places = remembered(made_of, self._table).asked(refs)
        return asked, {**places, "collection": self.vectorstore.collection_name}

    def _table(self) -> ChunkTable:
        chunks, collections = self.vectorstore.EmbeddingStore, self.vectorstore.CollectionStore
        named = select(collections.uuid).where(collections.name == bindparam("collection"))
        rows = select(chunks.id, chunks.document, chunks.cmetadata).where(
            chunks.collection_id == named.scalar_subquery()
        )
        return ChunkTable(
            id=chunks.id,
            document_id=json_text(chunks.cmetadata, (self.keys.lookup_id or self.keys.document_id)[0]),
            index=json_text(chunks.cmetadata, self.keys.index[0]),
            rows=rows.where(self.vectorstore._create_filter_clause(self.filter)) if self.filter else rows,
            otherwise=(
                func.coalesce(*(json_text(chunks.cmetadata, key) for key in self.keys.looked_up)),
                func.coalesce(*(json_text(chunks.cmetadata, key) for key in self.keys.index)),
            ),
            named=partial(json_text, chunks.cmetadata),
            start=func.coalesce(*(json_text(chunks.cmetadata, name) for name in self.keys.start)),
        )
