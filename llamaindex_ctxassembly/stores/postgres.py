"""Neighbors from LlamaIndex's PGVectorStore, by one statement of our own with bound values."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from sqlalchemy import ColumnElement, Engine, Row, true

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.concurrency import submit
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, PostgresStore, cached_table, keep_storable
from ctxassembly.stores.postgres.connection import BoundStatement, await_rows, execute_async, fetch_rows
from ctxassembly.stores.postgres.filters import build_llamaindex_condition
from ctxassembly.stores.postgres.rows import llamaindex_chunk_table
from llamaindex_ctxassembly.convert.nodes import to_chunk
from llamaindex_ctxassembly.stores.filters import normalize_filters


def where(filters: MetadataFilters | None, metadata: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that `filters` are on the JSON column `metadata`; true if they have no condition.

    Raises:
        ConfigError: an operator, a condition or a value's type has no translation.
    """
    condition = build_llamaindex_condition(normalize_filters(filters), metadata)
    return true() if condition is None else condition


# PGVectorStore's table and sessions have no public names.
# ruff: noqa: SLF001


REMEDIES: Mapping[Problem, str] = {
    "place": "call number_stored_chunks(vector_store) once, and store new nodes as number_chunks(nodes)",
    "answer": "call number_stored_chunks(vector_store) once, which gives each node its SOURCE",
}


@dataclass(frozen=True, kw_only=True)
class PGVectorNeighbors(PostgresStore):
    """A store of neighbors over LlamaIndex's PGVectorStore: one statement a fetch, sync or async.

        tenant = MetadataFilters(filters=[MetadataFilter(key="tenant", value="north")])
        assembler = ContextAssemblyPostprocessor(store=PGVectorNeighbors(vector_store, filter=tenant))
        engine = index.as_query_engine(filters=tenant, node_postprocessors=[assembler])

    Rows are found by the index on `ref_doc_id` that PGVectorStore makes itself: a chunk named by its id is looked for
    among the chunks of its document, since `node_id` has no index. PGVectorStore's own `get_nodes` writes filter values
    into its SQL; here every value is bound, and a row that `filter` excludes is never read. What a
    `customize_query_fn` adds to similarity queries is not applied: say it in `filter`.

    With `keys.lookup_id` documents are found by that key of the metadata instead; an index on it is yours to make.

    Raises:
        ConfigError: `filter` has an operator, a condition or a value that is not translated.
    """

    vector_store: Any = field(kw_only=False)
    """A `llama_index.vector_stores.postgres.PGVectorStore`."""
    filter: MetadataFilters | None = None
    """The retriever's filter."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._chunk_table()  # a filter without a translation is an error now

    @property
    def remedies(self) -> Mapping[Problem, str]:
        """Lines to write if neighbors can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        refs = keep_storable(refs)
        return self._to_chunks(fetch_rows(self._engine, self._statement(refs), self.timeout_seconds)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        refs = keep_storable(refs)
        return self._to_chunks(await await_rows(self._rows(refs), self.timeout_seconds)) if refs else []

    async def _rows(self, refs: Sequence[ChunkRef]) -> list[Row[Any]]:
        if not self.vector_store._is_initialized:
            await asyncio.wrap_future(submit(self._engine))
        return await execute_async(self.vector_store._async_engine, self._statement(refs))

    def _engine(self) -> Engine:
        self.vector_store._initialize()
        return cast(Engine, self.vector_store._engine)

    def _statement(self, refs: Sequence[ChunkRef]) -> BoundStatement:
        cache_key = (self.vector_store._table_class, self.keys, repr(self.filter))
        return cached_table(cache_key, self._chunk_table).statement_for(refs)

    def _chunk_table(self) -> ChunkTable:
        """Return the table of chunks, narrowed to the documents that are asked about."""
        table = self.vector_store._table_class
        condition = where(self.filter, table.metadata_)
        return llamaindex_chunk_table(table.node_id, table.text, table.metadata_, self.keys, condition)

    def _to_chunks(self, rows: Iterable[Row[Any]]) -> list[Chunk]:
        return [to_chunk(_row_node(row), self.keys) for row in rows]


def _row_node(row: Row[Any]) -> BaseNode:
    """Return the node in a row; rows that LlamaIndex itself didn't write have no `_node_content`."""
    if "_node_content" in row.metadata:
        return metadata_dict_to_node(row.metadata, row.text)
    return TextNode(id_=row.id, text=row.text, metadata=row.metadata)
