"""Document and place in each kind of table, for statements that fetch neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    ColumnElement,
    FromClause,
    TableClause,
    Text,
    any_,
    case,
    cast,
    func,
    literal,
    null,
    quoted_name,
    select,
)
from sqlalchemy import column as sql_column
from sqlalchemy import table as sql_table

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, json_text, texts
from ctxassembly.stores.postgres.table import IndexedTable

NO_DOCUMENT = "None"
"""LlamaIndex's `ref_doc_id` of a node without a SOURCE."""
OWN = ("id", "document_id", "content", "chunk_index", "start_index", "prev_id", "next_id", "metadata")
"""The columns of a table of our own that make a chunk."""


def of_own(home: IndexedTable, condition: ColumnElement[bool] | None) -> ChunkTable:
    """A table that the index made."""
    c = home.c
    rows = select(*(c[name] for name in OWN))
    return ChunkTable(
        id=c.id,
        document_id=c.document_id,
        index=c.chunk_index,
        rows=rows if condition is None else rows.where(condition),
        ordered=True,
        named=lambda key: json_text(c.metadata, key),
        start=cast(c.start_index, Text),
    )


class Columns(NamedTuple):
    """The columns of a table of langchain-postgres' `PGVectorStore`, as it was told them."""

    id: str
    content: str
    json: str | None
    """The column of metadata that have no column of their own."""
    own: tuple[str, ...]
    """Columns of one metadata key each."""


def langchain_table(schema: str, name: str, columns: Columns) -> TableClause:
    """A table of langchain-postgres' `PGVectorStore`. Names are quoted: one may have capitals, or be a word of SQL."""
    named = (columns.id, columns.content, *columns.own)
    texts_and_keys: list[Any] = [sql_column(quoted_name(column, quote=True)) for column in named]
    metadata = [] if columns.json is None else [sql_column(quoted_name(columns.json, quote=True), JSON)]
    return sql_table(quoted_name(name, quote=True), *texts_and_keys, *metadata, schema=quoted_name(schema, quote=True))


def of_langchain(
    table: FromClause, columns: Columns, keys: MetadataKeys, condition: ColumnElement[bool] | None
) -> ChunkTable:
    """A table of langchain-postgres' `PGVectorStore`: rows of id, text, metadata and the values of its own columns.

    Each key of the metadata is read from its own column, else from the JSON. The embedding, which is the most of a row,
    is never read.
    """
    document, index = _first(keys.lookup_id or keys.document_id, columns.own), _first(keys.index, columns.own)
    own: dict[str, Any] = {name: table.c[name] for name in (columns.id, columns.content, *columns.own)}
    metadata = cast(null(), JSON) if columns.json is None else table.c[columns.json]
    read = (own[columns.id], own[columns.content], metadata, *(own[name] for name in columns.own))
    rows = select(*read).select_from(table)
    ordered = index in own

    def named(name: str) -> ColumnElement[Any]:
        if name in columns.own:
            return cast(own[name], Text)
        return cast(null(), Text) if columns.json is None else json_text(metadata, name)

    def first(names: Sequence[str]) -> ColumnElement[Any]:
        return func.coalesce(*map(named, names))

    together = document in columns.own and ordered  # then the table was made for these two
    return ChunkTable(
        id=own[columns.id],
        document_id=own[document] if document in own else json_text(metadata, document),
        index=own[index] if ordered else json_text(metadata, index),
        rows=rows if condition is None else rows.where(condition),
        ordered=ordered,
        otherwise=None if together else (first(keys.looked_up), own[index] if ordered else first(keys.index)),
        named=named,
        start=first(keys.start),
    )


def of_llamaindex(
    node_id: ColumnElement[Any],
    text: ColumnElement[Any],
    metadata: ColumnElement[Any],
    keys: MetadataKeys,
    condition: ColumnElement[bool] | None,
) -> ChunkTable:
    """A table of LlamaIndex's `PGVectorStore`: rows of id, text and metadata.

    It has an index on `ref_doc_id`, and none on `node_id`: rows are narrowed to the documents in the parameter `among`.
    """
    source = json_text(metadata, (*keys.lookup_id, "ref_doc_id")[0])
    # Over the document that the metadata name, it writes the SOURCE; the node itself has them as they were.
    own = cast(metadata.op("->>")(literal("_node_content", Text)), JSON).op("->")(literal("metadata", Text))
    named = func.coalesce(*(json_text(own, key) for key in keys.documents))
    rows = select(node_id.label("id"), text.label("text"), metadata.label("metadata")).where(
        source == any_(texts("among"))
    )
    indexes = [json_text(metadata, key) for key in keys.index]
    return ChunkTable(
        id=node_id,
        document_id=source,
        index=indexes[0],
        otherwise=(case((source == NO_DOCUMENT, named), else_=source), func.coalesce(*indexes, null())),
        rows=rows if condition is None else rows.where(condition),
    )


def _first(names: Sequence[str], columns: Sequence[str]) -> str:
    return next((name for name in names if name in columns), names[0])
