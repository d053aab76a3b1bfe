"""Numbers for the chunks of a table, written in place: document id and index of each, and a database index on both.

The rule is the one of `ctxassembly.stores.numbering`. The numbering is one UPDATE that the database computes. With the
numbers it records the short overlaps of chunks that are numbered, as `number_chunks` does, and then the title of each
document. For these the texts are read, some at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, aggregate_order_by
from sqlalchemy.schema import CreateIndex

from ctxassembly.assembly.adjacency.short_overlaps import find_short_overlaps
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import FILE_PATH_KEY, INTEGER_PATTERN, MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.numbering import (
    MAX_NAMED_DOCUMENTS,
    ROW_KEYS,
    NumberingReport,
)
from ctxassembly.stores.postgres.chunk_lookup import json_text
from ctxassembly.stores.postgres.table import TITLE, derived_name
from ctxassembly.stores.postgres.titles import stored_title, title_beginning, title_index_name

ROWS_AT_A_TIME = 500
"""Rows of which the texts are in memory together."""


class NumberableTable(Protocol):
    """A table of chunks whose rows can be numbered: a statement that reads their places, and the values to write."""

    @property
    def table(self) -> sa.Table:
        """The table with the rows."""

    @property
    def id(self) -> str:
        """The name of the column by which an update finds a row."""

    @property
    def keys(self) -> MetadataKeys:
        """The keys of the metadata."""

    def rows(self) -> sa.Select[Any]:
        """Return a statement with one row for each chunk.

        It has the columns

        - `id`, the `document`, and `named`: the document id that it has already
        - its place, as `distinguishing_keys` reads it
        - `stored_at`, which sorts earlier rows first
        - `link`, the id by which links refer to it, and `following`, the link to the next one; NULL without links
        """

    def text_and_metadata(self, rows: Any) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
        """Return the texts of `rows` of the table, under another name, and their metadata as JSONB."""

    def new_values(self, updates: Any) -> Mapping[Any, Any]:
        """Return the new values by column, given a table `updates`.

        It has the `document`, the `index` and the `overlap` to record, or NULL, for each `id`.
        """

    def lookup_columns(self) -> Sequence[sa.ColumnElement[Any]]:
        """Return the expressions by which neighbors are looked up, for the index of the table: document and place."""

    @property
    def json_column(self) -> str | None:
        """The name of the column of metadata, JSON or JSONB, for the titles of documents; None if there is none."""


def distinguishing_keys(
    get_text: Callable[[str], sa.ColumnElement[Any]], keys: MetadataKeys
) -> list[sa.ColumnElement[Any]]:
    """Return the columns that position a row: index, page, row, offset, file. `get_text` returns a key's value."""

    def integer_column(names: Iterable[str]) -> sa.ColumnElement[Any]:
        """Return the first value under `names` that is a whole number from 0."""
        return sa.func.coalesce(*(integer_expr(get_text(name)) for name in names), sa.null())

    return [
        integer_column(keys.index).label("index"),
        integer_column(reversed(keys.page)).label("page"),  # the printed label last: labels may restart within a file
        integer_column((*keys.row_number, *ROW_KEYS, *keys.start_line)).label("row"),
        integer_column(keys.start).label("start"),
        get_text(FILE_PATH_KEY).label("file"),
    ]


def integer_expr(text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return the integer from 0 that a text holds; NULL if it is not one."""
    return sa.case((text.regexp_match(INTEGER_PATTERN), sa.cast(text, sa.Numeric)))


def as_jsonb(json: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a column of JSON or JSONB as JSONB; an empty object if it is NULL or null."""
    known = sa.func.nullif(sa.cast(sa.type_coerce(json, sa.Text), JSONB), sa.cast(sa.literal("null"), JSONB))
    return sa.func.coalesce(known, sa.cast(sa.literal("{}"), JSONB), type_=JSONB())


def overlap_json(updates: Any) -> sa.ColumnElement[Any]:
    """Return the metadata that record the overlap in `updates`, as JSONB; an empty object if there is none."""
    recorded = sa.func.jsonb_build_object(_text(MetadataKeys.overlap[0]), updates.c.overlap)
    return sa.func.jsonb_strip_nulls(recorded, type_=JSONB())


def number_rows(
    connection: sa.Connection,
    chunk_table: NumberableTable,
    *,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Number the rows of `chunk_table` by document and index, and create its indexes, in the open transaction.

    A document whose chunks have an index each stays as it is, so a second call changes nothing.
    `trust_insertion_order` puts chunks in the order in which they were stored if nothing else shows their order.
    `dry_run` rolls the transaction back in the end.
    """
    rows = _order_rows(chunk_table.rows().cte("rows"))
    documents = _document_facts(rows, trusts_insertion_order=trust_insertion_order)
    planned = _plan_updates(rows, documents)
    updates = _with_overlaps(planned, _find_overlaps(connection, planned, chunk_table))
    table = chunk_table.table
    statement = (
        sa.update(table).values(dict(chunk_table.new_values(updates))).where(table.c[chunk_table.id] == updates.c.id)
    )
    chunks = connection.execute(statement).rowcount
    name = sa.quoted_name(derived_name(table.name, "document_place"), quote=True)
    index = sa.Index(name, *chunk_table.lookup_columns(), _table=table)
    connection.execute(CreateIndex(index, if_not_exists=True))
    json = chunk_table.json_column
    if json and connection.scalar(sa.text("SHOW server_encoding")) == "UTF8":
        _write_titles(connection, rows, chunk_table, table.c[json])
    report = _make_report(connection, rows, documents, chunks)
    if dry_run:
        connection.rollback()
    return report


def _order_rows(rows: Any) -> Any:
    """Return the rows with their `place` in the order of their document, and with the link of the `next` row there."""
    row = rows.c
    order = {"partition_by": row.document, "order_by": (row.page, row.row, row.start, row.stored_at)}
    return sa.select(
        rows,
        (sa.func.row_number().over(**order) - 1).label("place"),
        sa.func.lead(row.link).over(**order).label("next"),
    ).cte("in_order")


def _document_facts(rows: Any, *, trusts_insertion_order: bool) -> Any:
    """Compute for each document if its chunks are `numbered` already, can be `sorted`, or are `linked`."""
    chunk = rows.c
    count = sa.func.count()
    page, row, start = (sa.func.coalesce(column, -1) for column in (chunk.page, chunk.row, chunk.start))
    # Either all chunks have a page or none has, and so with rows: one without has no place among the others. Then
    # page and row, or page, row and offset, have to be different for all chunks.
    are_distinct = sa.and_(
        *(sa.func.count(column).in_((0, count)) for column in (chunk.page, chunk.row)),
        sa.or_(
            sa.func.count(sa.distinct(sa.tuple_(page, row))) == count,
            sa.and_(
                sa.func.count(chunk.start) == count, sa.func.count(sa.distinct(sa.tuple_(page, row, start))) == count
            ),
        ),
    )
    # Links that skip a chunk mean that text is missing, or that this is another order than theirs.
    agree = sa.func.bool_and(sa.or_(chunk.following.is_(None), chunk.following.is_not_distinct_from(chunk.next)))
    return (
        sa.select(
            chunk.document,
            sa.and_(sa.func.count(chunk.index) == count, sa.func.count(sa.distinct(chunk.index)) == count).label(
                "numbered"
            ),
            sa.and_(
                sa.or_(are_distinct, sa.literal(trusts_insertion_order)),
                agree,
                sa.func.count(sa.distinct(chunk.file)) <= 1,
            ).label("sorted"),
            sa.and_(sa.func.count(chunk.following) == count - 1, sa.func.count(sa.distinct(chunk.named)) == 1).label(
                "linked"
            ),
        )
        .where(chunk.document.is_not(None))
        .group_by(chunk.document)
        .cte("documents")
    )


def _plan_updates(rows: Any, documents: Any) -> Any:
    """Return the `id`, `document` and `index` of each row that has to change.

    They come with `start`, and `before` and `before_start` of the row with the index before, if there is one.
    """
    row, document = rows.c, documents.c
    placed = (
        sa.select(
            row.id,
            row.document,
            sa.case((document.numbered, sa.cast(row.index, sa.BigInteger)), else_=row.place).label("index"),
            row.start,
            sa.or_(row.named.is_distinct_from(row.document), ~document.numbered).label("changes"),
        )
        .join_from(rows, documents, document.document == row.document)
        .where(sa.or_(document.numbered, document.sorted))
        .cte("placed")
    )
    place = placed.c
    order: dict[str, Any] = {"partition_by": place.document, "order_by": place.index}
    follows = sa.func.lag(place.index).over(**order) == place.index - 1
    with_before = sa.select(
        placed,
        sa.case((follows, sa.func.lag(place.id).over(**order))).label("before"),
        sa.case((follows, sa.func.lag(place.start).over(**order))).label("before_start"),
    ).subquery()
    return sa.select(with_before).where(with_before.c.changes).cte("planned")


def _find_overlaps(connection: sa.Connection, planned: Any, chunk_table: NumberableTable) -> dict[str, int]:
    """Return the overlap with the row before that is to be recorded for rows of `planned`, by id as text."""
    before, row = chunk_table.table.alias("row_before"), chunk_table.table.alias("row")
    statement = (
        sa.select(
            sa.cast(planned.c.id, sa.Text),
            *(planned.c.before_start, *chunk_table.text_and_metadata(before)),
            *(planned.c.start, *chunk_table.text_and_metadata(row)),
        )
        .join_from(planned, row, row.c[chunk_table.id] == planned.c.id)
        .join(before, before.c[chunk_table.id] == planned.c.before)
        .execution_options(yield_per=ROWS_AT_A_TIME)
    )
    pairs = ((key, _chunk(*each[:3]), _chunk(*each[3:])) for key, *each in connection.execute(statement))
    return find_short_overlaps(pairs, chunk_table.keys)


def _chunk(start: Any, text: str, metadata: Any, index: Any = None) -> Chunk:
    index, start = (None if number is None else int(number) for number in (index, start))
    return Chunk("", "", text, index, start, metadata=metadata)


def _with_overlaps(planned: Any, overlaps: Mapping[str, int]) -> Any:
    """Return the rows of `planned` with their `overlap`; NULL if they aren't in `overlaps`."""
    found = _table_of(overlaps, sa.Integer)
    return (
        sa.select(
            planned.c.id, planned.c.document, planned.c.index, sa.cast(found.c.value, sa.Integer).label("overlap")
        )
        .outerjoin_from(planned, found, found.c.id == sa.cast(planned.c.id, sa.Text))
        .cte("updates")
    )


def _table_of(values: Mapping[str, Any], kind: Any) -> Any:
    """Return `values` as a table with the columns `id` and `value`."""
    arrays = (sa.literal([*values], ARRAY(sa.Text)), sa.literal([*values.values()], ARRAY(kind)))
    return sa.func.unnest(*arrays).table_valued("id", "value").render_derived(name="found")


def _write_titles(
    connection: sa.Connection, rows: Any, chunk_table: NumberableTable, json: sa.ColumnElement[Any]
) -> None:
    """Store the title of each document in the metadata of its first chunk alone, and create the index of titles."""
    table, row = chunk_table.table, rows.c
    order = (row.document, row.index, row.page, row.row, row.start, row.stored_at)
    firsts = (
        sa.select(row.id, row.index, row.start)
        .where(row.document.is_not(None))
        .distinct(row.document)
        .order_by(*order)
        .subquery("firsts")
    )
    statement = (
        sa.select(sa.cast(firsts.c.id, sa.Text), firsts.c.index, firsts.c.start, *chunk_table.text_and_metadata(table))
        .join_from(firsts, table, table.c[chunk_table.id] == firsts.c.id)
        .execution_options(yield_per=ROWS_AT_A_TIME)
    )
    titles = {
        key: stored_title(_chunk(start, text, metadata, index), chunk_table.keys)
        for key, index, start, text, metadata in connection.execute(statement)
    }
    found = _table_of(titles, sa.Text)
    titled = sa.select(row.id, found.c.value).outerjoin_from(rows, found, found.c.id == sa.cast(row.id, sa.Text)).cte()
    recorded = sa.func.jsonb_strip_nulls(sa.func.jsonb_build_object(_text(TITLE), titled.c.value), type_=JSONB())
    titled_json = as_jsonb(json).op("-")(_text(TITLE)).op("||")(recorded)
    connection.execute(
        sa.update(table)
        .values({json: sa.cast(titled_json, json.type)})
        .where(table.c[chunk_table.id] == titled.c.id, json_text(json, TITLE).is_distinct_from(titled.c.value))
    )
    name = sa.quoted_name(title_index_name(table.name), quote=True)
    index = sa.Index(name, title_beginning(json_text(json, TITLE)), _table=table)
    connection.execute(CreateIndex(index, if_not_exists=True))


def _make_report(connection: sa.Connection, rows: Any, documents: Any, chunks: int) -> NumberingReport:
    is_ordered = sa.or_(documents.c.numbered, documents.c.sorted, documents.c.linked)
    names = sa.func.array_agg(aggregate_order_by(documents.c.document, documents.c.document)).filter(~is_ordered)
    nameless = sa.select(sa.func.count()).select_from(rows).where(rows.c.document.is_(None)).scalar_subquery()
    statement = sa.select(sa.func.count().filter(is_ordered), names, nameless).select_from(documents)
    numbered, unordered, nameless_count = connection.execute(statement).one()
    return NumberingReport(
        chunks, numbered, tuple(unordered or ())[:MAX_NAMED_DOCUMENTS], len(unordered or ()), nameless_count
    )


def _text(value: str) -> sa.ColumnElement[Any]:
    return sa.cast(sa.literal(value), sa.Text)


_STORED_AT = "ctxassembly_stored_at"
"""The name under which a statement reads `ctid`, the place of a row in the table's file."""


@dataclass(frozen=True)
class StoredChunks:
    """A table of chunks, and the condition for the rows that count."""

    table: sa.Table
    id: str
    json_column: str | None
    """The column of metadata, JSON or JSONB."""
    columns: frozenset[str]
    """The columns that hold one key of the metadata each, under its name."""
    content: str
    keys: MetadataKeys
    condition: sa.ColumnElement[bool] | None = None

    def text(self, key: str, source: Any = None) -> sa.ColumnElement[Any]:
        """Return the value under `key` as text, in the table or in the rows `source`; NULL if there is none."""
        columns_source = self.table if source is None else source
        if key in self.columns:
            return sa.cast(columns_source.c[key], sa.Text)
        return json_text(columns_source.c[self.json_column], key) if self.json_column else sa.cast(sa.null(), sa.Text)

    def rows(self) -> sa.Select[Any]:
        """Return the statement that reads the positions of rows, as `NumberableTable.rows` describes it."""
        keys, table = self.keys, self.table
        read = [table.c[self.id], sa.literal_column("ctid").label(_STORED_AT)]
        read += [table.c[name] for name in sorted(self.columns - {self.id})]
        # Parsed once, and materialized: with JSON kept as text, each look at a key would parse it again.
        read += [as_jsonb(table.c[self.json_column]).label(self.json_column)] if self.json_column else []
        found = sa.select(*read) if self.condition is None else sa.select(*read).where(self.condition)
        row = found.cte("parsed").prefix_with("MATERIALIZED")

        def first(names: Iterable[str]) -> sa.ColumnElement[Any]:
            return sa.func.coalesce(*(self.text(name, row) for name in names), sa.null())

        return sa.select(
            row.c[self.id].label("id"),
            first(keys.document_keys).label("document"),
            first(keys.document_id).label("named"),
            *distinguishing_keys(lambda key: self.text(key, row), keys),
            row.c[_STORED_AT].label("stored_at"),
            sa.cast(sa.null(), sa.Text).label("link"),
            sa.cast(sa.null(), sa.Text).label("following"),
        )

    def text_and_metadata(self, rows: Any) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
        """Return the texts and the metadata of `rows`, as `NumberableTable.text_and_metadata` describes it."""
        columns = [part for name in sorted(self.columns) for part in (_text(name), rows.c[name])]
        metadata = sa.func.jsonb_build_object(*columns, type_=JSONB())
        json = as_jsonb(rows.c[self.json_column]).op("||")(metadata) if self.json_column else metadata
        return rows.c[self.content], json

    def new_values(self, updates: Any) -> Mapping[Any, Any]:
        """Return the new particulars, for columns of their own if they exist, else for the JSON metadata."""
        table, keys = self.table, self.keys
        values: dict[Any, Any] = {}
        json_patch: list[Any] = []
        for names, value in ((keys.document_id, updates.c.document), (keys.index, updates.c.index)):
            name = self.key_to_write(names)
            if name in self.columns:
                values[table.c[name]] = value
            else:
                json_patch += [_text(name), value]
        if keys.overlap[0] in self.columns:
            values[table.c[keys.overlap[0]]] = updates.c.overlap
        elif self.json_column:
            json = table.c[self.json_column]
            patch = sa.func.jsonb_build_object(*json_patch, type_=JSONB()).op("||")(overlap_json(updates))
            values[json] = sa.cast(as_jsonb(json).op("||")(patch), json.type)
        return values

    def lookup_columns(self) -> Sequence[sa.ColumnElement[Any]]:
        """Return document and index as the statements of `ctxassembly.stores.postgres.chunk_lookup` compare them."""
        names = (self.key_to_write(self.keys.document_id), self.key_to_write(self.keys.index))
        return [self.table.c[name] if name in self.columns else self.text(name) for name in names]

    def key_to_write(self, keys: Sequence[str]) -> str:
        """Return the key to write: the first of `keys` with a column of its own, else the first one.

        Raises:
            ConfigError: the table has no place for it.
        """
        found = next((key for key in keys if key in self.columns), keys[0])
        if found not in self.columns and (self.json_column is None or "." in found):
            raise ConfigError(
                "vectorstore", f"one whose table has a column {found!r} or JSON metadata", self.table.name
            )
        return found


def build_table(
    name: str, schema: str | None, columns: Iterable[str], json: str | None, json_type: Any = sa.JSON
) -> sa.Table:
    """Return a table with quoted names, so that capitals and odd signs in them stay."""
    quoted_columns: list[sa.Column[Any]] = [
        sa.Column(sa.quoted_name(column, quote=True)) for column in columns if column != json
    ]
    quoted_columns += [sa.Column(sa.quoted_name(json, quote=True), json_type)] if json else []
    quoted_schema = None if schema is None else sa.quoted_name(schema, quote=True)
    return sa.Table(sa.quoted_name(name, quote=True), sa.MetaData(), *quoted_columns, schema=quoted_schema)
