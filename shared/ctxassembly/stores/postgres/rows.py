"""Chunks read from the rows of each kind of table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.enrichment import summarised
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres import columns as neighbours
from ctxassembly.stores.postgres import migrate
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable
from ctxassembly.stores.postgres.deadline import Asked
from ctxassembly.stores.postgres.table import SUMMARY, IndexedTable

ToChunk = Callable[[Any, str, Mapping[str, Any]], Chunk]
"""A function from id, text and metadata of a row to its chunk."""


def columns_of(home: IndexedTable) -> Sequence[ColumnElement[Any]]:
    """The columns that a chunk is read from: those of its table, and the summary of its document if there are notes."""
    notes = [home.c[SUMMARY]] if home.has_notes else []
    if home.is_own:
        return [*(home.c[name] for name in neighbours.OWN), *notes]
    metadata = home.json() if home.metadata is None else home.c[home.metadata]
    return [home.c[home.id], home.c[home.content], metadata, *(home.c[name] for name in home.columns), *notes]


def chunk_in(row: Sequence[Any], home: IndexedTable, keys: MetadataKeys, chunk_of: ToChunk | None) -> Chunk:
    """The chunk in a row of `columns_of`; of a framework's table as `chunk_of` reads it, if that is given."""
    if home.has_notes:
        *row, summary = row
        return summarised(_chunk_in(row, home, keys, chunk_of), summary)
    return _chunk_in(row, home, keys, chunk_of)


def _chunk_in(row: Sequence[Any], home: IndexedTable, keys: MetadataKeys, chunk_of: ToChunk | None) -> Chunk:
    if home.is_own:
        id_, document_id, text, index, start, prev_id, next_id, metadata = row
        return Chunk(id_, document_id, text, index, start, prev_id, next_id, metadata)
    id_, text, metadata, *more = row
    metadata = {**(metadata or {}), **dict(zip(home.columns, more, strict=True))}
    if chunk_of is not None:
        return chunk_of(id_, text, metadata)
    of_store = migrate.llamaindex_chunk if home.dialect == "llamaindex" else migrate.langchain_chunk
    return of_store(id_, text, metadata, keys)


def neighbours_in(home: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """The table as neighbours are fetched from it; its rows are those of `columns_of`."""
    table = _neighbours_in(home, keys, condition)
    return replace(table, rows=table.rows.add_columns(home.c[SUMMARY])) if home.has_notes else table


def _neighbours_in(home: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    if home.is_own:
        return neighbours.of_own(home, condition)
    if home.dialect == "llamaindex":
        metadata = home.c[home.metadata]
        return neighbours.of_llamaindex(home.c[home.id], home.c[home.content], metadata, keys, condition)
    columns = tuple(home.columns)
    named = neighbours.Columns(home.id, home.content, home.metadata, columns)
    return neighbours.of_langchain(home.table, named, keys, condition)


def asked_of(table: ChunkTable, refs: Sequence[ChunkRef], home: IndexedTable) -> Asked:
    """The statement that fetches `refs` from `table`, which is that of `home`."""
    asked, bound = table.asked(refs)
    if home.dialect == "llamaindex":
        documents = [*(ref.document_id for ref in refs), neighbours.NO_DOCUMENT]
        bound = {**bound, "among": list(dict.fromkeys(documents))}
    return asked, bound
