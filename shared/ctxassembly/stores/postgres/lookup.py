"""Chunks of all documents from a Postgres table, fetched in one statement with every value bound.

The statement needs an index on document and place to be fast, whether they are columns or keys of JSON metadata:

    CREATE INDEX ON chunks (document_id, chunk_index)
    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))

Where neighbors are asked for by offset, all chunks of the document are read, and those around it kept: the chunks of
large documents should be numbered.

Documents are also found by their titles, if a text mentions these. The first chunk of each document is stored with the
title, as `stored_title` returns it. A search sends how every phrase of the texts begins, finds these in an index, and
keeps the titles that the texts have in full: its time depends on the texts and on the titles that begin alike, and not
on the size of the table. Without that index nothing is found, and no table is read from end to end.

How each kind of table keeps a chunk is at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import JSON, ColumnElement, Table, Text, case, cast, func, literal, null, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.expression import CompoundSelect

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.enrichment import with_notes
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_positive
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.ingest import with_extras
from ctxassembly.stores.memory import MemoryStore
from ctxassembly.stores.numbering import NO_DOCUMENT
from ctxassembly.stores.postgres.connection import BoundStatement
from ctxassembly.stores.postgres.table import (
    EXTRAS,
    LABELS,
    SUMMARY,
    TITLE,
    IndexedTable,
    any_key,
    quoted_name,
    text_array,
    text_literal,
    title_beginning,
    title_index_name,
    title_part,
)
from ctxassembly.text.titles import comparable, document_title, title_beginnings
from ctxassembly.wording.unicode import is_storable

MAX_CACHED_TABLES = 256
"""Most tables remembered: one for each vector store and shape of filter. For PGVector, for each value of a filter."""


@dataclass(frozen=True, kw_only=True)
class PostgresStore:
    """The settings that stores of neighbors over Postgres share, in either framework."""

    filter: Any = None
    """In the form that the vector store's own search takes."""
    timeout_seconds: float = 10.0
    """When a late statement is canceled, with a TimeoutError. A sync store waits for its engine's connection, and for a
    server that doesn't react, as long as the vector store itself does."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        check_positive("timeout_seconds", self.timeout_seconds)

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own, else None: the caller's filter is unknown."""
        return True if self.filter else None


@dataclass(frozen=True)
class ChunkTable:
    """The columns in which a table keeps chunks, without the embedding. Documents and indexes are compared as text.

    A statement is made once for each combination of requests (by place, by id, whole documents, by offset); only bound
    values change. So SQLAlchemy compiles it once, and the server prepares it if the driver asks it to.
    """

    id: sa.ColumnElement[Any]
    document_id: sa.ColumnElement[Any]
    index: sa.ColumnElement[Any]
    rows: sa.Select[Any]
    """The columns to read, and the conditions on all chunks: the collection, the caller's filter."""
    title: sa.ColumnElement[Any]
    """The stored title of the document that begins with the chunk."""
    has_integer_index: bool = False
    """True if indexes are a column of integers."""
    fallback_columns: tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]] | None = None
    """Document and index of rows that keep them under other names. No index of the table serves these, so they are read
    only for documents that the first names don't have."""
    needs_documents: bool = False
    """True if rows are only looked for in the documents in the parameter `among`, since no index serves ids."""
    _statements: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def statement_for(self, refs: Sequence[ChunkRef]) -> BoundStatement:
        """Return the statement for `refs` and its bound values. `refs` is not empty and passed `keep_storable`."""
        ids = [ref.chunk_id for ref in refs if ref.chunk_id is not None]
        documents = [
            ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None and ref.named_in is None
        ]
        positions = dict.fromkeys((ref.document_id, ref.index) for ref in refs if ref.index is not None)
        bound: dict[str, Any] = {
            **({"ids": ids} if ids else {}),
            **({"documents": documents} if documents else {}),
            **({"among": [*{ref.document_id: None for ref in refs}, NO_DOCUMENT]} if self.needs_documents else {}),
        }
        if positions:
            # JSON keeps a number as it was written: 7 or 7.0.
            spelled = [(name, form) for name, index in positions for form in (f"{index}", f"{index}.0")]
            places = [*positions] if self.has_integer_index else spelled
            bound |= zip(POSITION_PARAMETERS, map(list, zip(*places, strict=True)), strict=True)
        naming = bind_titles(refs)
        bound |= naming
        kinds = (bool(positions), bool(ids), bool(documents), bool(naming))
        if kinds not in self._statements:
            self._statements[kinds] = self._statement(*kinds)
        return self._statements[kinds], bound

    def _statement(
        self, has_positions: bool, has_ids: bool, has_documents: bool, has_titles: bool
    ) -> sa.Select[Any] | CompoundSelect[Any]:
        rows = self._rows_among
        parts: list[sa.Select[Any]] = []
        if has_positions:
            kind = sa.BigInteger if self.has_integer_index else sa.Text
            arrays = (text_array(POSITION_PARAMETERS[0]), sa.cast(sa.bindparam(POSITION_PARAMETERS[1]), ARRAY(kind)))
            requested = sa.func.unnest(*arrays).table_valued(*POSITION_PARAMETERS).render_derived(name="asked")
            parts.append(self._select_positions(requested, self.document_id, self.index))
            if self.fallback_columns:
                unmatched = self._select_unmatched(requested, self.index).cte("places_left")
                parts.append(self._select_positions(unmatched, *self.fallback_columns).where(_has_rows(unmatched)))
        if has_ids:
            parts.append(rows.where(self.id == any_key("ids")))
        if has_documents:
            parts.append(rows.where(self.document_id == sa.any_(text_array("documents"))))
            if self.fallback_columns:
                asked = sa.func.unnest(text_array("documents")).table_valued(POSITION_PARAMETERS[0])
                of_others = self._select_unmatched(asked.render_derived(name="asked"), self.document_id)
                unmatched = of_others.cte("documents_left")
                has_fallback_document = self.fallback_columns[0].in_(sa.select(unmatched.c[POSITION_PARAMETERS[0]]))
                parts.append(rows.where(has_fallback_document, _has_rows(unmatched)))
        if has_titles:
            document_id = self.fallback_columns[0] if self.fallback_columns else self.document_id
            parts.append(select_mentioned(self.rows, self.title, document_id))
        # A union, since Postgres uses no index for an OR of different columns.
        return sa.union_all(*parts) if len(parts) > 1 else parts[0]

    @property
    def _rows_among(self) -> sa.Select[Any]:
        """The rows in which all but titles is looked for."""
        return self.rows.where(self.document_id == sa.any_(text_array("among"))) if self.needs_documents else self.rows

    def _select_positions(
        self, requested: Any, document_id: sa.ColumnElement[Any], index: sa.ColumnElement[Any]
    ) -> sa.Select[Any]:
        """Return the rows at the places in the table `requested`."""
        wanted = sa.select(*(requested.c[name] for name in POSITION_PARAMETERS))
        return self._rows_among.where(sa.tuple_(document_id, index).in_(wanted))

    def _select_unmatched(self, requested: Any, present: sa.ColumnElement[Any]) -> sa.Select[Any]:
        """Return the rows of `requested` whose document is in no row that has a value in `present`."""
        is_same = self.document_id == requested.c[POSITION_PARAMETERS[0]]
        matching = self._rows_among.with_only_columns(sa.literal(1)).where(is_same, present.is_not(None))
        return sa.select(requested).where(~matching.exists())


def _has_rows(table: Any) -> sa.ColumnElement[bool]:
    """Return a condition that the table has rows. With a count, Postgres evaluates it first and can skip the rest."""
    return sa.select(sa.func.count()).select_from(table).scalar_subquery() > 0


POSITION_PARAMETERS = ("in_document", "at_index")
"""Names of the parameters for places, arrays of equal length."""


def keep_requested(chunks: list[Chunk], refs: Sequence[ChunkRef]) -> list[Chunk]:
    """Return `chunks` without what no reference by offset asks for in a document that was read whole."""
    whole = {ref.document_id for ref in refs if ref.around_offset}
    if not whole:
        return chunks
    read = [chunk for chunk in chunks if chunk.lookup_id in whole]
    return [*(chunk for chunk in chunks if chunk.lookup_id not in whole), *MemoryStore(read).fetch(refs)]


def keep_storable(refs: Sequence[ChunkRef]) -> list[ChunkRef]:
    """Return the `refs` whose values Postgres can hold. A single other one would fail the whole statement."""
    return [
        ref
        for ref in refs
        if is_storable(f"{ref.document_id}{ref.chunk_id or ''}") and (ref.index is None or abs(ref.index) < 2**63)
    ]


_cached_tables: dict[Hashable, ChunkTable] = {}


def cached_table(key: Hashable, make: Callable[[], ChunkTable]) -> ChunkTable:
    """Return the cached table for `key` with its statements, or make one. `MAX_CACHED_TABLES` are kept."""
    table = _cached_tables.pop(key, None) or make()
    _cached_tables[key] = table  # moved to the end: the one used longest ago goes first
    while len(_cached_tables) > MAX_CACHED_TABLES:
        _cached_tables.pop(next(iter(_cached_tables)), None)
    return table


def json_text(column: sa.ColumnElement[Any], key: str) -> sa.ColumnElement[str]:
    """Return the text under `key`, which may be a dotted path, in a JSON column.

    Keys are written as literals, quoted by the dialect: Postgres uses an index on the expression only then.
    """
    *parents, last = key.split(".")
    for step in parents:
        column = column.op("->")(sa.literal(step, literal_execute=True))
    return sa.type_coerce(column, sa.Text).op("->>", return_type=sa.Text())(sa.literal(last, literal_execute=True))


MAX_BEGINNINGS = 20_000
"""The most phrases that a statement looks up, from the best hit on: ten times as many as five usual hits have."""
MAX_DOCUMENTS = 64
"""The most documents that a statement returns, by the place of their mention. An assembly adds fewer."""


def stored_title(chunk: Chunk, keys: MetadataKeys) -> str | None:
    """Return what is stored of the title of the document that begins with `chunk`; None if it has none.

    It is the first of its `title_beginnings`, by which it is looked up, and the title.

    >>> stored_title(Chunk("a", "a", "# The planet Mercury", 0), MetadataKeys())
    'the planet| the planet mercury '
    """
    title = document_title(chunk, keys)
    return f"{next(title_beginnings(title))}|{title}" if title else None


def bind_titles(refs: Sequence[ChunkRef]) -> dict[str, Any]:
    """Return the values to bind for the `refs` that ask for documents by their titles; empty if none does."""
    naming = [(ref.document_id, comparable(ref.named_in)) for ref in refs if ref.named_in is not None]
    if not naming:
        return {}
    found = dict.fromkeys(beginning for _, text in naming for beginning in title_beginnings(text))
    return {
        "naming_document": [document for document, _ in naming],
        "naming_text": [text for _, text in naming],
        # One text, and no array: drivers in Python take longer to write an array than the server to search for it.
        "beginnings": ",".join(islice(found, MAX_BEGINNINGS)),
    }


def select_mentioned(
    rows: sa.Select[Any], stored: sa.ColumnElement[Any], document_id: sa.ColumnElement[Any]
) -> sa.Select[Any]:
    """Return the statement for the first chunks of documents that the texts mention, other than each text's own.

    `rows` selects from the table alone; `stored` is the stored title there.
    """
    table: Any = rows.get_final_froms()[0]
    given = sa.func.unnest(text_array("naming_document"), text_array("naming_text"))
    naming = given.table_valued("document", "text", with_ordinality="place").render_derived(name="naming")
    at = sa.func.strpos(naming.c.text, title_part(stored, 2))
    is_another = naming.c.document.is_distinct_from(document_id)
    place = sa.select(sa.func.min(naming.c.place * sa.literal_column("1000000000") + at)).where(at > 0, is_another)
    # In a subquery, whose result the planner doesn't know: it takes the index, whatever the number of phrases.
    phrases = sa.func.string_to_array(sa.bindparam("beginnings", type_=sa.Text), sa.literal_column("','"))
    in_text = sa.any_(sa.cast(sa.select(phrases).scalar_subquery(), ARRAY(sa.Text)))
    schema = "" if table.schema is None else f"{quoted_name(table.schema)}."
    index = text_literal(schema + quoted_name(title_index_name(table.name)))
    # Evaluated once, before the table is read.
    exists = f"EXISTS (SELECT FROM pg_catalog.pg_index WHERE indexrelid = to_regclass({index}) AND indisvalid)"
    found = (
        rows.add_columns(place.correlate(table).scalar_subquery().label("title_place"))
        .where(sa.literal_column(exists), title_beginning(stored).op("=", is_comparison=True)(in_text))
        .subquery("mentioned")
    )
    *columns, title_place = found.c
    return sa.select(*columns).where(title_place.is_not(None)).order_by(title_place).limit(MAX_DOCUMENTS)


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
        title=c[TITLE],
        has_integer_index=True,
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
