"""Neighbors from LlamaIndex's PGVectorStore by one statement with bound values, and its nodes numbered in place."""

# ruff: noqa: SLF001  PGVectorStore's table and engines have no public names

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import Engine, Row, Table, true

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.framework_rows import LLAMAINDEX
from ctxassembly.stores.numbering import NumberingReport
from ctxassembly.stores.postgres.connection import BoundStatement, await_rows, execute_async, fetch_rows
from ctxassembly.stores.postgres.filters import build_llamaindex_condition
from ctxassembly.stores.postgres.ingest import TableRecords, number_rows
from ctxassembly.stores.postgres.lookup import (
    ChunkTable,
    PostgresStore,
    cached_table,
    keep_storable,
    llamaindex_chunk_table,
)
from ctxassembly.stores.postgres.table import build_table
from llamaindex_ctxassembly.filters import normalize_filters
from llamaindex_ctxassembly.nodes import to_chunk


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

    Documents that a hit mentions are found by their titles once `number_stored_chunks` has stored these.

    With `keys.lookup_id` documents are found by that key of the metadata instead; an index on it is yours to make.

    Raises:
        ConfigError: `filter` has an operator, a condition or a value that is not translated.
    """

    finds_titles: ClassVar[bool] = True
    remedies = dict.fromkeys(("place", "answer"), "number_stored_chunks(vector_store)")
    """Lines to write if neighbors can't be found."""

    vector_store: Any = field(kw_only=False)
    """A `llama_index.vector_stores.postgres.PGVectorStore`."""
    filter: MetadataFilters | None = None
    """The retriever's filter."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.vector_store, "_table_class"):
            hint = ": write PGVectorNeighbors(index.vector_store)" if hasattr(self.vector_store, "vector_store") else ""
            raise ConfigError("vector_store", "a PGVectorStore", self.vector_store, hint)
        self._chunk_table()  # a filter without a translation is an error now

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        refs = keep_storable(refs)
        return self._to_chunks(fetch_rows(self._engine(), self._statement(refs), self.timeout_seconds)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        refs = keep_storable(refs)
        return self._to_chunks(await await_rows(self._rows(refs), self.timeout_seconds)) if refs else []

    async def _rows(self, refs: Sequence[ChunkRef]) -> list[Row[Any]]:
        if not self.vector_store._is_initialized:
            await asyncio.to_thread(self._engine)
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
        condition = build_llamaindex_condition(normalize_filters(self.filter), table.metadata_)
        is_visible = true() if condition is None else condition
        return llamaindex_chunk_table(cast(Table, table.__table__), self.keys, is_visible)

    def _to_chunks(self, rows: Iterable[Row[Any]]) -> list[Chunk]:
        return [to_chunk(_row_node(row), self.keys) for row in rows]


def _row_node(row: Row[Any]) -> BaseNode:
    """Return the node in a row; rows that LlamaIndex itself didn't write have no `_node_content`."""
    if "_node_content" in row.metadata:
        return metadata_dict_to_node(row.metadata, row.text)
    return TextNode(id_=row.id, text=row.text, metadata=row.metadata)


def number_table(vector_store: PGVectorStore, keys: MetadataKeys, **options: bool) -> NumberingReport:
    """Number the nodes of a PGVectorStore, as `number_stored_chunks` describes it; the table gets indexes.

    Raises:
        ConfigError: an index under a dotted key.
    """
    # An index on the table of their ORM would be created with every table of theirs.
    orm_table = cast(Table, vector_store._table_class.__table__)
    columns = {"id": None, "text": None, "metadata_": orm_table.c["metadata_"].type}
    table = build_table(orm_table.name, orm_table.schema, columns)
    vector_store._initialize()
    with cast(Engine, vector_store._engine).begin() as connection:
        records = TableRecords(connection, table, "id", "text", "metadata_", stored_at=table.c.id)
        return number_rows(records, LLAMAINDEX, keys, document_key="ref_doc_id", **options)
