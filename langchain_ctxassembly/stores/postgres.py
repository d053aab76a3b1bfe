"""Neighbors from langchain-postgres, `PGVectorStore` and the older `PGVector`, by one statement with bound values."""

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

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import check_size
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, PostgresStore, cached_table, json_text, keep_storable
from ctxassembly.stores.postgres.columns import LangChainColumns, langchain_chunk_table
from ctxassembly.stores.postgres.deadline import (
    BoundStatement,
    afetch_rows,
    await_rows,
    execute_async,
    fetch_rows,
    wait_for_rows,
)
from ctxassembly.stores.postgres.numbering import build_table
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_ctxassembly.stores.identity import loop_of, unwrap

REMEDIES: Mapping[Problem, str] = {
    "place": "call number_stored_chunks(vectorstore) once, and store new ones as "
    "vectorstore.add_documents(number_chunks(documents))",
    "answer": "call number_stored_chunks(vectorstore) once, or name the keys of the table in "
    "AssemblyConfig(keys=MetadataKeys(document_id=..., index=...))",
}

Rows = Iterable[Sequence[Any]]
"""Id, text and metadata of chunks."""


@dataclass(frozen=True, kw_only=True)
class PGVectorNeighbors(PostgresStore):
    """A store of neighbors over `PGVectorStore`, `AsyncPGVectorStore` or `PGVector`: one statement a fetch.

        tenant = {"tenant": "north"}
        store = PGVectorNeighbors(vectorstore, filter=tenant)
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
    def remedies(self) -> Mapping[Problem, str]:
        """Lines to write if neighbors can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order.

        Raises:
            TimeoutError: the database didn't answer in time.
            InputError: the vector store was set up for async use alone.
        """
        refs = keep_storable(refs)
        return self._to_chunks(self._row_source().rows(refs)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`. A `PGVector` set up for sync use is asked in a thread."""
        refs = keep_storable(refs)
        return self._to_chunks(await self._row_source().arows(refs)) if refs else []

    def _row_source(self) -> _RowSource:
        if isinstance(self.vectorstore, PGVector):
            return _CollectionRows(self.vectorstore, self.filter, self.timeout_seconds, self.keys)
        return _TableRows(self.vectorstore, self.filter, self.timeout_seconds, self.keys)

    def _to_chunks(self, rows: Rows) -> list[Chunk]:
        return [chunk_from(_to_document(*row), self.keys) for row in rows]


def _to_document(id_: Any, text: str, metadata: dict[str, Any] | None) -> Document:
    return Document(id=str(id_), page_content=text, metadata=metadata or {})


class _RowSource(Protocol):
    def rows(self, refs: Sequence[ChunkRef]) -> Rows: ...

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows: ...


@dataclass(frozen=True)
class _TableRows:
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
        return wait_for_rows(asyncio.run_coroutine_threadsafe(self._rows(refs), loop), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        loop, rows = loop_of(self.vectorstore), self._rows(refs)
        return await await_rows(asyncio.run_coroutine_threadsafe(rows, loop) if loop else rows, self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        store = unwrap(self.vectorstore)
        condition, bound = _translate_filter(store, self.filter)
        columns = LangChainColumns(
            store.id_column, store.content_column, store.metadata_json_column, tuple(store.metadata_columns)
        )

        def make_table() -> ChunkTable:
            names = (columns.id, columns.content, *columns.key_columns)
            framework_table = build_table(store.table_name, store.schema_name, names, columns.json_column)
            return langchain_chunk_table(framework_table, columns, self.keys, _sql_clause(condition))

        # Values of a filter are bound, so one statement serves all callers whose filters have the same form.
        cache_key = (store.schema_name, store.table_name, columns, self.keys, condition)
        statement, parameters = cached_table(cache_key, make_table).statement_for(refs)
        rows = await execute_async(store.engine, (statement, {**parameters, **bound}))
        return [
            (id_, text, {**(json or {}), **dict(zip(columns.key_columns, more, strict=True))})
            for id_, text, json, *more in rows
        ]


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


def _sql_clause(condition: str) -> Any:
    return sql(f"({condition})") if condition else None


@dataclass(frozen=True)
class _CollectionRows:
    """A collection in the tables that all `PGVector`s of a database share."""

    vectorstore: PGVector
    filter: dict[str, Any] | None
    timeout_seconds: float
    keys: MetadataKeys

    def rows(self, refs: Sequence[ChunkRef]) -> Rows:
        if self.vectorstore.async_mode:
            raise InputError("this PGVector was set up with async_mode=True: use the async methods")
        return fetch_rows(self._engine, self._statement(refs), self.timeout_seconds)

    async def arows(self, refs: Sequence[ChunkRef]) -> Rows:
        if not self.vectorstore.async_mode:
            return await afetch_rows(self._engine, self._statement(refs), self.timeout_seconds)
        return await await_rows(self._rows(refs), self.timeout_seconds)

    async def _rows(self, refs: Sequence[ChunkRef]) -> Rows:
        # It happens once: a fetch that is given up must not leave it half done.
        await asyncio.shield(self.vectorstore.__apost_init__())
        return await execute_async(cast(AsyncEngine, self.vectorstore._async_engine), self._statement(refs))

    def _engine(self) -> Engine:
        return cast(Engine, self.vectorstore._engine)

    def _statement(self, refs: Sequence[ChunkRef]) -> BoundStatement:
        # Of a filter there are as many tables as values: they are part of its clauses.
        cache_key = (self.vectorstore.EmbeddingStore, self.keys, repr(self.filter))
        statement, parameters = cached_table(cache_key, self._chunk_table).statement_for(refs)
        return statement, {**parameters, "collection": self.vectorstore.collection_name}

    def _chunk_table(self) -> ChunkTable:
        chunks, collections = self.vectorstore.EmbeddingStore, self.vectorstore.CollectionStore
        collection_id = select(collections.uuid).where(collections.name == bindparam("collection"))
        rows = select(chunks.id, chunks.document, chunks.cmetadata).where(
            chunks.collection_id == collection_id.scalar_subquery()
        )
        return ChunkTable(
            id=chunks.id,
            document_id=json_text(chunks.cmetadata, (self.keys.lookup_id or self.keys.document_id)[0]),
            index=json_text(chunks.cmetadata, self.keys.index[0]),
            rows=rows.where(self.vectorstore._create_filter_clause(self.filter)) if self.filter else rows,
            fallback_columns=(
                func.coalesce(*(json_text(chunks.cmetadata, key) for key in self.keys.lookup_keys)),
                func.coalesce(*(json_text(chunks.cmetadata, key) for key in self.keys.index)),
            ),
            text_of=partial(json_text, chunks.cmetadata),
            start=func.coalesce(*(json_text(chunks.cmetadata, name) for name in self.keys.start)),
        )
