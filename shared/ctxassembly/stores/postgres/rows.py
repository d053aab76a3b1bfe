"""How each kind of table keeps a chunk: its document and place, for statements that fetch neighbors, and its row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import JSON, ColumnElement, Table, Text, case, cast, func, literal, null, select

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import with_notes
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.ingest import with_extras
from ctxassembly.stores.numbering import NO_DOCUMENT
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, json_text
from ctxassembly.stores.postgres.table import EXTRAS, LABELS, SUMMARY, TITLE, IndexedTable

CHUNK_COLUMNS = (
    *("id", "document_id", "content", "chunk_index", "start_index", "prev_id", "next_id", "metadata"),
    EXTRAS,
)
"""The columns of a table of our own that make a chunk: the first in the order of its fields, and its extras."""


def columns_for(table: IndexedTable) -> Sequence[ColumnElement[Any]]:
    """Return the columns that a chunk is read from, plus the notes on its document if the table has notes."""
    notes = [table.c[name] for name in _note_names(table)]
    if table.is_own:
        return [*(table.c[name] for name in CHUNK_COLUMNS), *notes]
    metadata = table.json() if table.metadata is None else table.c[table.metadata]
    return [table.c[table.id], table.c[table.content], metadata, *(table.c[name] for name in table.columns), *notes]


def chunk_from_row(row: Sequence[Any], table: IndexedTable, keys: MetadataKeys) -> Chunk:
    """Return the chunk in a row of `columns_for`."""
    names = _note_names(table)
    length = len(row) - len(names)
    row, notes = row[:length], dict(zip(names, row[length:], strict=True))
    if table.is_own:
        *values, extras = row
        chunk = with_extras(Chunk(*values), extras)
    else:
        id_, text, metadata, *more = row
        metadata = {**(metadata or {}), **dict(zip(table.columns, more, strict=True))}
        to_chunk = llamaindex_chunk if table.dialect == "llamaindex" else langchain_chunk
        chunk = to_chunk(id_, text, metadata, keys)
    return with_notes(chunk, notes.get(SUMMARY), json.loads(notes.get(LABELS) or "{}")) if notes else chunk


def _note_names(table: IndexedTable) -> list[str]:
    """Return the columns of the notes on a chunk's document."""
    return [SUMMARY, LABELS] if table.has_notes else []


def neighbor_table(table: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """Return the table from which neighbors are fetched; `columns_for` selects its rows."""
    if table.is_own:
        chunk_table = _own_chunk_table(table, condition)
    elif table.dialect == "llamaindex":
        chunk_table = llamaindex_chunk_table(table.sql_table, keys, condition)
    else:
        chunk_table = langchain_chunk_table(table, keys, condition)
    return replace(chunk_table, rows=chunk_table.rows.add_columns(*(table.c[name] for name in _note_names(table))))


def _own_chunk_table(table: IndexedTable, condition: ColumnElement[bool] | None) -> ChunkTable:
    c = table.c
    rows = select(*(c[name] for name in CHUNK_COLUMNS))
    return ChunkTable(
        id=c.id,
        document_id=c.document_id,
        index=c.chunk_index,
        rows=rows if condition is None else rows.where(condition),
        title=c[TITLE] if table.has_titles else cast(null(), Text),
        has_integer_index=True,
        text_of=lambda key: json_text(c.metadata, key),
        start=cast(c.start_index, Text),
    )


def langchain_table(store: Any) -> IndexedTable:
    """Return the table of an `AsyncPGVectorStore` of langchain-postgres, as it was configured."""
    return IndexedTable(
        name=store.table_name,
        schema=store.schema_name,
        key=store.id_column,
        id=store.id_column,
        content=store.content_column,
        embedding=store.embedding_column,
        metadata=store.metadata_json_column or None,
        columns=dict.fromkeys(store.metadata_columns, ""),
        is_jsonb=False,
    )


def langchain_chunk_table(table: IndexedTable, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """Return a langchain-postgres `PGVectorStore` table: rows of id, text, metadata and the metadata columns.

    Each key of the metadata is read from its own column, else from the JSON. The embedding, which is the most of a row,
    is never read.
    """
    c, names = table.c, tuple(table.columns)
    metadata = cast(null(), JSON) if table.metadata is None else c[table.metadata]
    rows = select(c[table.id], c[table.content], metadata, *(c[name] for name in names)).select_from(table.sql_table)
    document, index = (
        next((name for name in wanted if name in names), wanted[0])
        for wanted in (keys.lookup_id or keys.document_id, keys.index)
    )

    def text_of(name: str) -> ColumnElement[Any]:
        if name in names:
            return cast(c[name], Text)
        return cast(null(), Text) if table.metadata is None else json_text(metadata, name)

    def first(names: Sequence[str]) -> ColumnElement[Any]:
        return func.coalesce(*map(text_of, names))

    has_both_columns = document in names and index in names  # the table was made for these two
    return ChunkTable(
        id=c[table.id],
        document_id=c[document] if document in names else json_text(metadata, document),
        index=c[index] if index in names else json_text(metadata, index),
        rows=rows if condition is None else rows.where(condition),
        title=json_text(metadata, TITLE),
        has_integer_index=index in names,
        fallback_columns=None
        if has_both_columns
        else (first(keys.lookup_keys), c[index] if index in names else first(keys.index)),
        text_of=text_of,
        start=first(keys.start),
    )


def llamaindex_chunk_table(table: Table, keys: MetadataKeys, condition: ColumnElement[bool] | None) -> ChunkTable:
    """Return a table of LlamaIndex's `PGVectorStore`: rows of id, text and metadata.

    It has an index on `ref_doc_id`, and none on `node_id`: rows are narrowed to the documents that are asked about.
    """
    node_id, text, metadata = (table.c[name] for name in ("node_id", "text", "metadata_"))
    source = json_text(metadata, (*keys.lookup_id, "ref_doc_id")[0])
    # Over the document that the metadata name, it writes the SOURCE; the node itself has them as they were.
    node_metadata = cast(metadata.op("->>")(literal("_node_content", Text)), JSON).op("->")(literal("metadata", Text))
    named_document = func.coalesce(*(json_text(node_metadata, key) for key in keys.document_keys))
    rows = select(node_id.label("id"), text.label("text"), metadata.label("metadata"))
    indexes = [json_text(metadata, key) for key in keys.index]
    return ChunkTable(
        id=node_id,
        document_id=source,
        index=indexes[0],
        fallback_columns=(case((source == NO_DOCUMENT, named_document), else_=source), func.coalesce(*indexes, null())),
        needs_documents=True,
        rows=rows if condition is None else rows.where(condition),
        title=json_text(metadata, TITLE),
    )
