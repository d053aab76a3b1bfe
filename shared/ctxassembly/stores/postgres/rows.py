"""Chunks read from the rows of each kind of table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.enrichment import with_summary
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres import columns as neighbors
from ctxassembly.stores.postgres import migrate
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable
from ctxassembly.stores.postgres.deadline import BoundStatement
from ctxassembly.stores.postgres.table import SUMMARY, IndexedTable

ToChunk = Callable[[Any, str, Mapping[str, Any]], Chunk]
"""A function from id, text and metadata of a row to its chunk."""


def columns_for(table: IndexedTable) -> Sequence[ColumnElement[Any]]:
    """The columns that a chunk is read from: those of its table, and the summary of its document if there are notes."""
    notes = [table.c[SUMMARY]] if table.has_notes else []
    if table.is_own:
        return [*(table.c[name] for name in neighbors.CHUNK_COLUMNS), *notes]
    metadata = table.json() if table.metadata is None else table.c[table.metadata]
    return [table.c[table.id], table.c[table.content], metadata, *(table.c[name] for name in table.columns), *notes]


def chunk_from_row(row: Sequence[Any], table: IndexedTable, keys: MetadataKeys, chunk_of: ToChunk | None) -> Chunk:
    """The chunk in a row of `columns_for`; of a framework's table as `chunk_of` reads it, if that is given."""
    if table.has_notes:
        *row, summary = row
        return with_summary(_chunk_without_summary(row, table, keys, chunk_of), summary)
    return _chunk_without_summary(row, table, keys, chunk_of)


def _chunk_without_summary(
    row: Sequence[Any], table: IndexedTable, keys: MetadataKeys, chunk_of: ToChunk | None
) -> Chunk:
    if table.is_own:
        id_, document_id, text, index, start, prev_id, next_id, metadata = row
        return Chunk(id_, document_id, text, index, start, prev_id, next_id, metadata)
    id_, text, metadata, *more = row
    metadata = {**(metadata or {}), **dict(zip(table.columns, more, strict=True))}
    if chunk_of is not None:
        return chunk_of(id_, text, metadata)
    to_chunk = migrate.llamaindex_chunk if table.dialect == "llamaindex" else migrate.langchain_chunk
    return to_chunk(id_, text, metadata, keys)


def neighbor_table(table: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """The table as neighbors are fetched from it; its rows are those of `columns_for`."""
    chunk_table = _neighbor_table_without_summary(table, keys, condition)
    return replace(chunk_table, rows=chunk_table.rows.add_columns(table.c[SUMMARY])) if table.has_notes else chunk_table


def _neighbor_table_without_summary(
    table: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None
) -> ChunkTable:
    if table.is_own:
        return neighbors.own_chunk_table(table, condition)
    if table.dialect == "llamaindex":
        metadata = table.c[table.metadata]
        return neighbors.llamaindex_chunk_table(table.c[table.id], table.c[table.content], metadata, keys, condition)
    columns = tuple(table.columns)
    named = neighbors.LangChainColumns(table.id, table.content, table.metadata, columns)
    return neighbors.langchain_chunk_table(table.sql_table, named, keys, condition)


def neighbors_statement(chunk_table: ChunkTable, refs: Sequence[ChunkRef], table: IndexedTable) -> BoundStatement:
    """The statement that fetches `refs` from `chunk_table`, which is that of `chunk_table`."""
    statement, bound = chunk_table.statement_for(refs)
    if table.dialect == "llamaindex":
        documents = [*(ref.document_id for ref in refs), neighbors.NO_DOCUMENT]
        bound = {**bound, "among": list(dict.fromkeys(documents))}
    return statement, bound
