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
    """Return the columns that a chunk is read from, plus the summary of its document if the table has notes."""
    notes = [table.c[SUMMARY]] if table.has_notes else []
    if table.is_own:
        return [*(table.c[name] for name in neighbors.CHUNK_COLUMNS), *notes]
    metadata = table.json() if table.metadata is None else table.c[table.metadata]
    return [table.c[table.id], table.c[table.content], metadata, *(table.c[name] for name in table.columns), *notes]


def chunk_from_row(row: Sequence[Any], table: IndexedTable, keys: MetadataKeys, chunk_of: ToChunk | None) -> Chunk:
    """Return the chunk in a row of `columns_for`; `chunk_of` reads rows of a framework's table if it is given."""
    row, summary = (row[:-1], row[-1]) if table.has_notes else (row, None)
    if table.is_own:
        id_, document_id, text, index, start, prev_id, next_id, metadata = row
        chunk = Chunk(id_, document_id, text, index, start, prev_id, next_id, metadata)
    else:
        id_, text, metadata, *more = row
        metadata = {**(metadata or {}), **dict(zip(table.columns, more, strict=True))}
        if chunk_of is not None:
            chunk = chunk_of(id_, text, metadata)
        else:
            to_chunk = migrate.llamaindex_chunk if table.dialect == "llamaindex" else migrate.langchain_chunk
            chunk = to_chunk(id_, text, metadata, keys)
    return with_summary(chunk, summary) if table.has_notes else chunk


def neighbor_table(table: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """Return the table from which neighbors are fetched; `columns_for` selects its rows."""
    if table.is_own:
        chunk_table = neighbors.own_chunk_table(table, condition)
    elif table.dialect == "llamaindex":
        id_, content, metadata = (table.c[name] for name in (table.id, table.content, table.metadata))
        chunk_table = neighbors.llamaindex_chunk_table(id_, content, metadata, keys, condition)
    else:
        named = neighbors.LangChainColumns(table.id, table.content, table.metadata, tuple(table.columns))
        chunk_table = neighbors.langchain_chunk_table(table.sql_table, named, keys, condition)
    return replace(chunk_table, rows=chunk_table.rows.add_columns(table.c[SUMMARY])) if table.has_notes else chunk_table


def neighbors_statement(chunk_table: ChunkTable, refs: Sequence[ChunkRef], table: IndexedTable) -> BoundStatement:
    """Return the statement that fetches `refs` from `chunk_table`, the neighbor table of `table`."""
    statement, bound = chunk_table.statement_for(refs)
    if table.dialect == "llamaindex":
        documents = [*(ref.document_id for ref in refs), neighbors.NO_DOCUMENT]
        bound = {**bound, "among": list(dict.fromkeys(documents))}
    return statement, bound
