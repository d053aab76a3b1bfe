"""Neighbors from LlamaIndex's PGVectorStore by one statement with bound values, and its nodes numbered in place."""

# ruff: noqa: SLF001  PGVectorStore's table and engines have no public names

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from llama_index.core.schema import BaseNode, NodeRelationship, ObjectType, TextNode
from llama_index.core.vector_stores.types import MetadataFilters
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import ColumnElement, Engine, Row, Select, Table, Text, case, func, literal, null, or_, select, true
from sqlalchemy import cast as as_type
from sqlalchemy.dialects.postgresql import JSONB

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.concurrency import submit
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.field_docs import guess_names
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.framework_rows import CONTENT_KEY, DOCUMENT_KEYS, EXCLUDED_KEYS
from ctxassembly.stores.numbering import NO_DOCUMENT, NumberingReport
from ctxassembly.stores.postgres.chunk_lookup import (
    ChunkTable,
    PostgresStore,
    cached_table,
    json_text,
    keep_storable,
)
from ctxassembly.stores.postgres.connection import BoundStatement, await_rows, execute_async, fetch_rows
from ctxassembly.stores.postgres.filters import build_llamaindex_condition
from ctxassembly.stores.postgres.numbering import (
    as_jsonb,
    build_table,
    distinguishing_keys,
    integer_expr,
    number_rows,
    overlap_json,
)
from ctxassembly.stores.postgres.rows import llamaindex_chunk_table
from llamaindex_ctxassembly.convert.nodes import to_chunk
from llamaindex_ctxassembly.stores.filters import normalize_filters


@guess_names
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
    remedies: ClassVar[Mapping[Problem, str]] = {
        "place": "call number_stored_chunks(vector_store) once, and store new nodes as number_chunks(nodes)",
        "answer": "call number_stored_chunks(vector_store) once, which gives each node its SOURCE",
    }
    """Lines to write if neighbors can't be found."""

    vector_store: Any = field(kw_only=False)
    """A `llama_index.vector_stores.postgres.PGVectorStore`."""
    filter: MetadataFilters | None = None
    """The retriever's filter."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._chunk_table()  # a filter without a translation is an error now

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
    if "." in keys.index[0]:
        raise ConfigError("keys.index", "a key without a dot first, to write the index under", keys.index)
    # An index on the table of their ORM would be created with every table of theirs.
    orm_table = cast(Table, vector_store._table_class.__table__)
    json = orm_table.c["metadata_"].type
    stored = StoredNodes(
        build_table(orm_table.name, orm_table.schema, ("id", "node_id", "text"), "metadata_", json), keys
    )
    vector_store._initialize()
    with cast(Engine, vector_store._engine).begin() as connection:
        return number_rows(connection, chunk_table=stored, **options)


@dataclass(frozen=True)
class StoredNodes:
    """A table of nodes as PGVectorStore makes it; rows that other tools wrote have metadata and no node in them."""

    table: Table
    keys: MetadataKeys
    id: str = "id"
    json_column: str = "metadata_"

    def rows(self) -> Select[Any]:
        """Return one row for each stored node: its document, all that determines its position, and the next node."""
        keys, columns = self.keys, self.table.c
        metadata = as_jsonb(columns["metadata_"])
        parsed_rows = (
            select(
                columns["id"], columns["node_id"], metadata.label("metadata"), _node_content(metadata).label("content")
            )
            .cte("parsed")
            .prefix_with("MATERIALIZED")
        )
        row = parsed_rows.c
        own = _node_metadata(row.metadata, row.content)

        def text(key: str) -> ColumnElement[Any]:
            return json_text(own, key)

        def first(names: Iterable[str]) -> ColumnElement[Any]:
            return func.coalesce(*(func.nullif(text(name), NO_DOCUMENT) for name in names), null())

        source = func.nullif(json_text(row.metadata, "ref_doc_id"), NO_DOCUMENT)
        file_source = case((first(keys.page).is_not(None), first(keys.source)))
        index, page, line, start, file = distinguishing_keys(text, keys)
        # Offsets of what was cut from a larger node count in that one, and begin again in the next.
        has_parent = _related_id(row.content, NodeRelationship.PARENT).is_not(None)
        offset = func.coalesce(integer_expr(json_text(row.content, "start_char_idx")), start.element)
        return select(
            row.id,
            func.coalesce(first(keys.document_id), file_source, source, first(keys.source)).label("document"),
            source.label("named"),
            index,
            page,
            line,
            case((~has_parent, offset)).label("start"),
            file,
            row.id.label("stored_at"),
            row.node_id.label("link"),
            _related_id(row.content, NodeRelationship.NEXT).label("following"),
        )

    def text_and_metadata(self, rows: Any) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
        """Return the texts of `rows`, and the metadata of the nodes in them."""
        metadata = as_jsonb(rows.c["metadata_"])
        return rows.c["text"], _node_metadata(metadata, _node_content(metadata))

    def new_values(self, updates: Any) -> Mapping[Any, Any]:
        """Return the row's metadata with document, index and overlap, and the node in it with its SOURCE and these."""
        column, index = self.table.c["metadata_"], self.keys.index[0]
        metadata = as_jsonb(column)
        content = _node_content(metadata)
        own, related = content.op("->")(_text_literal("metadata")), content.op("->")(_text_literal("relationships"))
        source = _text_literal(str(NodeRelationship.SOURCE.value))
        is_linked = _related_id(content, NodeRelationship.SOURCE) == updates.c.document
        source_info = _json_object(
            node_id=updates.c.document, node_type=ObjectType.DOCUMENT.value, class_name="RelatedNodeInfo"
        )
        overlap, (overlap_key,) = overlap_json(updates), self.keys.overlap
        is_listed = or_(updates.c.overlap.is_(None), _has_key(own, overlap_key))
        node = content.op("||", return_type=JSONB())(
            _json_object(
                metadata=_with_key(own, index, updates.c.index).op("||", return_type=JSONB())(overlap),
                relationships=_with_key(
                    related, source, case((is_linked, related.op("->")(source)), else_=source_info)
                ),
                **{
                    name: _append_key(
                        _append_key(_json_list(content, name), index, unless=_has_key(own, index)),
                        overlap_key,
                        unless=is_listed,
                    )
                    for name in EXCLUDED_KEYS
                },
            )
        )
        row = metadata.op("||", return_type=JSONB())(
            _json_object(**dict.fromkeys(DOCUMENT_KEYS, updates.c.document), **{index: updates.c.index})
        ).op("||", return_type=JSONB())(overlap)
        # A row of another tool has no node inside.
        new_metadata = case((content.is_(None), row), else_=_with_key(row, CONTENT_KEY, as_type(node, Text)))
        return {column: as_type(new_metadata, column.type)}

    def lookup_columns(self) -> Sequence[ColumnElement[Any]]:
        """Return the columns of the index: the SOURCE, and the index of the chunk."""
        metadata = self.table.c["metadata_"]
        return [json_text(metadata, "ref_doc_id"), json_text(metadata, self.keys.index[0])]


def _text_literal(name: str) -> ColumnElement[Any]:
    return as_type(literal(name), Text)


def _node_content(metadata: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the node that the metadata holds as text."""
    return as_type(json_text(metadata, CONTENT_KEY), JSONB)


def _node_metadata(metadata: ColumnElement[Any], content: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the metadata of the node, else of the row."""
    return func.coalesce(content.op("->")(_text_literal("metadata")), metadata, type_=JSONB())


def _related_id(content: ColumnElement[Any], kind: NodeRelationship) -> ColumnElement[Any]:
    """Return the id of the one node in that relationship; NULL if there is none, or a list of them."""
    related = content.op("->")(_text_literal("relationships")).op("->")(_text_literal(str(kind.value)))
    return related.op("->>", return_type=Text())(_text_literal("node_id"))


def _json_object(**values: Any) -> ColumnElement[Any]:
    pairs = (
        (_text_literal(name), _text_literal(value) if isinstance(value, str) else value)
        for name, value in values.items()
    )
    return func.jsonb_build_object(*(part for pair in pairs for part in pair), type_=JSONB())


def _with_key(json: ColumnElement[Any], key: Any, value: Any) -> ColumnElement[Any]:
    """Return `json` with `value` under `key`."""
    name = _text_literal(key) if isinstance(key, str) else key
    return func.coalesce(json, as_type(literal("{}"), JSONB)).op("||", return_type=JSONB())(
        func.jsonb_build_object(name, value, type_=JSONB())
    )


def _has_key(json: ColumnElement[Any], key: str) -> ColumnElement[bool]:
    return json.op("?", is_comparison=True)(_text_literal(key))


def _json_list(content: ColumnElement[Any], name: str) -> ColumnElement[Any]:
    return func.coalesce(content.op("->")(_text_literal(name)), as_type(literal("[]"), JSONB))


def _append_key(keys: ColumnElement[Any], key: str, *, unless: ColumnElement[bool]) -> ColumnElement[Any]:
    """Return the list `keys` with `key` after what is in it, unless a condition holds."""
    longer = keys.op("||", return_type=JSONB())(func.to_jsonb(_text_literal(key), type_=JSONB()))
    return case((unless, keys), else_=longer)
