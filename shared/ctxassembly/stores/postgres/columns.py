"""Document and place in each kind of table, for statements that fetch neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    FromClause,
    Text,
    any_,
    case,
    cast,
    func,
    literal,
    null,
    select,
)

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, json_text, text_array
from ctxassembly.stores.postgres.table import IndexedTable

NO_DOCUMENT = "None"
"""LlamaIndex's `ref_doc_id` of a node without a SOURCE."""
CHUNK_COLUMNS = ("id", "document_id", "content", "chunk_index", "start_index", "prev_id", "next_id", "metadata")
"""The columns of a table of our own that make a chunk."""


def own_chunk_table(table: IndexedTable, condition: ColumnElement[bool] | None) -> ChunkTable:
    """Return a table that the index made."""
    c = table.c
    rows = select(*(c[name] for name in CHUNK_COLUMNS))
    return ChunkTable(
        id=c.id,
        document_id=c.document_id,
        index=c.chunk_index,
        rows=rows if condition is None else rows.where(condition),
        has_integer_index=True,
        text_of=lambda key: json_text(c.metadata, key),
        start=cast(c.start_index, Text),
    )


class LangChainColumns(NamedTuple):
    """The columns of a table of langchain-postgres' `PGVectorStore`, as it was configured."""

    id: str
    content: str
    json_column: str | None
    """The column of metadata that have no column of their own."""
    key_columns: tuple[str, ...]
    """Columns of one metadata key each."""


def langchain_chunk_table(
    table: FromClause, columns: LangChainColumns, keys: MetadataKeys, condition: ColumnElement[bool] | None
) -> ChunkTable:
    """Return a langchain-postgres `PGVectorStore` table: rows of id, text, metadata and the metadata columns.

    Each key of the metadata is read from its own column, else from the JSON. The embedding, which is the most of a row,
    is never read.
    """
    document, index = (
        _first_present(keys.lookup_id or keys.document_id, columns.key_columns),
        _first_present(keys.index, columns.key_columns),
    )
    columns_by_name: dict[str, Any] = {
        name: table.c[name] for name in (columns.id, columns.content, *columns.key_columns)
    }
    metadata = cast(null(), JSON) if columns.json_column is None else table.c[columns.json_column]
    selected = (
        columns_by_name[columns.id],
        columns_by_name[columns.content],
        metadata,
        *(columns_by_name[name] for name in columns.key_columns),
    )
    rows = select(*selected).select_from(table)
    has_integer_index = index in columns_by_name

    def text_of(name: str) -> ColumnElement[Any]:
        if name in columns.key_columns:
            return cast(columns_by_name[name], Text)
        return cast(null(), Text) if columns.json_column is None else json_text(metadata, name)

    def first(names: Sequence[str]) -> ColumnElement[Any]:
        return func.coalesce(*map(text_of, names))

    has_both_columns = document in columns.key_columns and has_integer_index  # then the table was made for these two
    return ChunkTable(
        id=columns_by_name[columns.id],
        document_id=columns_by_name[document] if document in columns_by_name else json_text(metadata, document),
        index=columns_by_name[index] if has_integer_index else json_text(metadata, index),
        rows=rows if condition is None else rows.where(condition),
        has_integer_index=has_integer_index,
        fallback_columns=None
        if has_both_columns
        else (first(keys.lookup_keys), columns_by_name[index] if has_integer_index else first(keys.index)),
        text_of=text_of,
        start=first(keys.start),
    )


def llamaindex_chunk_table(
    node_id: ColumnElement[Any],
    text: ColumnElement[Any],
    metadata: ColumnElement[Any],
    keys: MetadataKeys,
    condition: ColumnElement[bool] | None,
) -> ChunkTable:
    """Return a table of LlamaIndex's `PGVectorStore`: rows of id, text and metadata.

    It has an index on `ref_doc_id`, and none on `node_id`: rows are narrowed to the documents in the parameter `among`.
    """
    source = json_text(metadata, (*keys.lookup_id, "ref_doc_id")[0])
    # Over the document that the metadata name, it writes the SOURCE; the node itself has them as they were.
    node_metadata = cast(metadata.op("->>")(literal("_node_content", Text)), JSON).op("->")(literal("metadata", Text))
    named_document = func.coalesce(*(json_text(node_metadata, key) for key in keys.document_keys))
    rows = select(node_id.label("id"), text.label("text"), metadata.label("metadata")).where(
        source == any_(text_array("among"))
    )
    indexes = [json_text(metadata, key) for key in keys.index]
    return ChunkTable(
        id=node_id,
        document_id=source,
        index=indexes[0],
        fallback_columns=(case((source == NO_DOCUMENT, named_document), else_=source), func.coalesce(*indexes, null())),
        rows=rows if condition is None else rows.where(condition),
    )


def _first_present(names: Sequence[str], columns: Sequence[str]) -> str:
    return next((name for name in names if name in columns), names[0])
