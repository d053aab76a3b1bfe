"""Neighbors from langchain-postgres, `PGVectorStore` and the older `PGVector`, by one statement with bound values.

Chunks that are stored there without a place are numbered where they are.
"""

# ruff: noqa: SLF001  what is private here has no public way in: the event loop, the sessions, the filter's translation

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias, cast

from langchain_postgres import PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from sqlalchemy import Connection, Engine, Table, bindparam, func, select
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import check_size
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.framework_rows import LANGCHAIN, langchain_chunk
from ctxassembly.stores.numbering import NumberingReport
from ctxassembly.stores.postgres.connection import BoundStatement, await_rows, execute_async, fetch_rows
from ctxassembly.stores.postgres.ingest import TableRecords, number_rows
from ctxassembly.stores.postgres.lookup import (
    ChunkTable,
    PostgresStore,
    cached_table,
    json_text,
    keep_requested,
    keep_storable,
    langchain_chunk_table,
    langchain_table,
)
from ctxassembly.stores.postgres.table import TITLE, build_table
from langchain_ctxassembly.stores.filters import unwrap

AnyPostgres: TypeAlias = PGVectorStore | AsyncPGVectorStore | PGVector

Rows = Iterable[Sequence[Any]]
"""Id, text and metadata of chunks."""


@dataclass(frozen=True, kw_only=True)
class PGVectorNeighbors(PostgresStore):
    """A store of neighbors over `PGVectorStore`, `AsyncPGVectorStore` or `PGVector`: one statement a fetch.

        tenant = {"tenant": "north"}
        store = PGVectorNeighbors(vectorstore, filter=tenant)
        chain = vectorstore.as_retriever(search_kwargs={"filter": tenant}) | ContextAssembler(store=store)

    All values are bound, the embedding is never read, and a row that `filter` excludes never leaves the database.
    Document and index are read from the first of their `keys` that is a column, else from the first one in the JSON
    metadata. Documents that aren't found there are looked up by all other keys, the source among them. The columns must
    be text and integer. An index on the two makes it fast; neither class creates one, but `number_stored_chunks` does.
    It also stores the titles by which documents that a hit mentions are found. The vector store itself translates the
    filter. References that Postgres can't store (NUL) find nothing.

    If chunks have no index, all chunks of the document are read, and those next to an offset are kept by `keys.start`,
    page by page or section by section.
    """

    finds_offsets = finds_titles = True
    remedies = dict.fromkeys(("place", "answer"), "number_stored_chunks(vectorstore)") | {
        "order": "number_stored_chunks(vectorstore, trust_insertion_order=True)"
    }
    """Lines to write if neighbors can't be found."""

    vectorstore: AnyPostgres = field(kw_only=False)
    filter: dict[str, Any] | None = None
    """In the form that the vector store's own search takes."""

    def __post_init__(self) -> None:
        if not isinstance(self.vectorstore, (PGVectorStore, AsyncPGVectorStore, PGVector)):
            raise ConfigError("vectorstore", "a PGVectorStore, AsyncPGVectorStore or PGVector", self.vectorstore)
        if self.filter is not None and not isinstance(self.filter, dict):
            raise ConfigError("filter", "a dict, as for the vector store's own search", self.filter)
        check_size(self.filter)
        super().__post_init__()

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order.

        Raises:
            TimeoutError: the database didn't answer in time.
            InputError: the vector store was set up for async use alone.
        """
        refs = keep_storable(refs)
        if not refs:
            return []
        loop = _sync_loop(self.vectorstore, "the async methods")
        if loop is None:
            return self._to_chunks(self._sync_rows(refs), refs)
        # Its connections belong to its event loop, and work on no other.
        rows = await_rows(self._table_rows(refs), self.timeout_seconds)
        return self._to_chunks(asyncio.run_coroutine_threadsafe(rows, loop).result(), refs)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`. A `PGVector` set up for sync use is asked in a thread."""
        refs = keep_storable(refs)
        if not refs:
            return []
        if isinstance(self.vectorstore, PGVector) and not self.vectorstore.async_mode:
            return self._to_chunks(await asyncio.to_thread(self._sync_rows, refs), refs)
        asked = self._collection_rows(refs) if isinstance(self.vectorstore, PGVector) else self._table_rows(refs)
        rows, loop = await_rows(asked, self.timeout_seconds), _loop_of(self.vectorstore)
        found = await (asyncio.wrap_future(asyncio.run_coroutine_threadsafe(rows, loop)) if loop else rows)
        return self._to_chunks(found, refs)

    def _to_chunks(self, rows: Rows, refs: Sequence[ChunkRef]) -> list[Chunk]:
        chunks = [langchain_chunk(id_, text, metadata or {}, self.keys) for id_, text, metadata in rows]
        return keep_requested(chunks, refs)

    async def _table_rows(self, refs: Sequence[ChunkRef]) -> Rows:
        """Return the rows of a PGVectorStore's table. What its filter means is for the vector store to say."""
        store = unwrap(self.vectorstore)
        condition, bound = _translate_filter(store, self.filter)
        table = langchain_table(store)

        def make_table() -> ChunkTable:
            clause: Any = sql(f"({condition})") if condition else None
            return langchain_chunk_table(table, self.keys, clause)

        # Values of a filter are bound, so one statement serves all callers whose filters have the same form.
        statement, parameters = cached_table((table, self.keys, condition), make_table).statement_for(refs)
        rows = await execute_async(store.engine, (statement, {**parameters, **bound}))
        return [
            (id_, text, {**(json or {}), **dict(zip(table.columns, more, strict=True))})
            for id_, text, json, *more in rows
        ]

    async def _collection_rows(self, refs: Sequence[ChunkRef]) -> Rows:
        """Return the rows of a PGVector that was set up for async use."""
        vectorstore = cast(PGVector, self.vectorstore)
        # It happens once: a fetch that is given up must not leave it half done.
        await asyncio.shield(vectorstore.__apost_init__())
        return await execute_async(cast(AsyncEngine, vectorstore._async_engine), self._collection_statement(refs))

    def _sync_rows(self, refs: Sequence[ChunkRef]) -> Rows:
        engine = cast(Engine, cast(PGVector, self.vectorstore)._engine)
        return fetch_rows(engine, self._collection_statement(refs), self.timeout_seconds)

    def _collection_statement(self, refs: Sequence[ChunkRef]) -> BoundStatement:
        """Return the statement for a collection in the tables that all `PGVector`s of a database share."""
        vectorstore = cast(PGVector, self.vectorstore)
        # Of a filter there are as many tables as values: they are part of its clauses.
        cache_key = (vectorstore.EmbeddingStore, self.keys, repr(self.filter))
        statement, parameters = cached_table(cache_key, partial(self._collection_table, vectorstore)).statement_for(
            refs
        )
        return statement, {**parameters, "collection": vectorstore.collection_name}

    def _collection_table(self, vectorstore: PGVector) -> ChunkTable:
        chunks, collections = vectorstore.EmbeddingStore, vectorstore.CollectionStore
        collection_id = select(collections.uuid).where(collections.name == bindparam("collection"))
        rows = select(chunks.id, chunks.document, chunks.cmetadata).where(
            chunks.collection_id == collection_id.scalar_subquery()
        )

        def first_text(keys: Sequence[str]) -> Any:
            return func.coalesce(*(json_text(chunks.cmetadata, key) for key in keys))

        return ChunkTable(
            id=chunks.id,
            document_id=json_text(chunks.cmetadata, (self.keys.lookup_id or self.keys.document_id)[0]),
            index=json_text(chunks.cmetadata, self.keys.index[0]),
            rows=rows.where(vectorstore._create_filter_clause(self.filter)) if self.filter else rows,
            fallback_columns=(first_text(self.keys.lookup_keys), first_text(self.keys.index)),
            title=json_text(chunks.cmetadata, TITLE),
        )


def _translate_filter(store: AsyncPGVectorStore, condition: dict[str, Any] | None) -> tuple[str, dict[str, Any]]:
    """Return the condition in SQL that a filter is to the vector store itself, and the values of its parameters.

    The vector store names those differently each time; here filters that differ in values alone give the same text.
    """
    if not condition:
        return "", {}
    clause, bound = store._create_filter_clause(condition)
    for at, name in enumerate(bound):
        clause = re.sub(rf":{name}\b", f":filter_{at}", clause)
    return clause, {f"filter_{at}": value for at, value in enumerate(bound.values())}


def _loop_of(vectorstore: Any) -> asyncio.AbstractEventLoop | None:
    """Return the event loop that the engine of a PGVectorStore runs in a thread of its own; None if it has none."""
    loop: asyncio.AbstractEventLoop | None = getattr(getattr(vectorstore, "_engine", None), "_loop", None)
    return loop


def _sync_loop(vectorstore: AnyPostgres, instead: str) -> asyncio.AbstractEventLoop | None:
    """Return the event loop of a PGVectorStore for a sync call; None for a PGVector, which needs none.

    Raises:
        InputError: the vector store was set up for async use alone.
    """
    if isinstance(vectorstore, PGVector):
        if vectorstore.async_mode:
            raise InputError(f"this PGVector was set up with async_mode=True: use {instead}")
        return None
    loop = _loop_of(vectorstore)
    if loop is None:
        raise InputError(f"this vector store has no event loop of its own for sync calls: use {instead}")
    return loop


def number_table(vectorstore: AnyPostgres, keys: MetadataKeys, **options: Any) -> NumberingReport:
    """Number the chunks of a PGVectorStore or PGVector, as `number_stored_chunks` describes it; the table gets indexes.

    Raises:
        ConfigError: a table without a column for the two and without JSON metadata.
        InputError: the vector store was set up for async use alone.
    """
    loop = _sync_loop(vectorstore, "one whose engine is made by PGEngine.from_connection_string, or sync")
    if loop is None:
        with cast(Engine, cast(PGVector, vectorstore)._engine).begin() as connection:
            return number_rows(_collection_records(vectorstore, connection), LANGCHAIN, keys, **options)

    def number(connection: Connection) -> NumberingReport:
        return number_rows(_table_records(vectorstore, connection), LANGCHAIN, keys, **options)

    async def number_in_transaction() -> NumberingReport:
        async with unwrap(vectorstore).engine.begin() as connection:
            return cast(NumberingReport, await connection.run_sync(number))

    return asyncio.run_coroutine_threadsafe(number_in_transaction(), loop).result()


def _table_records(vectorstore: Any, connection: Connection) -> TableRecords:
    table = langchain_table(unwrap(vectorstore))
    names = (table.id, table.content, table.metadata, frozenset(table.columns))
    return TableRecords(connection, table.sql_table, *names)


def _collection_records(vectorstore: Any, connection: Connection) -> TableRecords:
    chunks, collections = vectorstore.EmbeddingStore, vectorstore.CollectionStore
    orm_table = cast(Table, chunks.__table__)  # an index on it would be made with every table of theirs
    columns = {"id": None, "collection_id": None, "document": None, "cmetadata": JSONB}
    table = build_table(orm_table.name, orm_table.schema, columns)
    collection_id = select(collections.uuid).where(collections.name == vectorstore.collection_name).scalar_subquery()
    is_member = table.c["collection_id"] == collection_id
    return TableRecords(connection, table, "id", "document", "cmetadata", condition=is_member)
