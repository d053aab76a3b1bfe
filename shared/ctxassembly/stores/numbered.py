"""Numbering of chunks already stored in a table, in SQL: document id and index of each, and the index to find them by.

Only an order that the rows themselves prove is used: by page, then row, line and offset. Documents whose rows leave it
open are reported, not numbered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Numeric,
    Table,
    Text,
    and_,
    case,
    cast,
    distinct,
    func,
    literal,
    literal_column,
    null,
    or_,
    quoted_name,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by
from sqlalchemy.schema import CreateIndex

from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import json_text

MOST_NAMED = 100
"""Most documents named of those that could not be ordered."""
_ROWS = ("row", "seq_num", "row_idx_start")
"""Keys of the row in LangChain's CSVLoader and JSONLoader and in Haystack, beside `keys.row_number`."""
_NUMBER = r"^[0-9]{1,15}(\.0+)?$"
_LONGEST_NAME = 63
_STORED_AT = "ctxassembly_stored_at"


@dataclass(frozen=True, slots=True)
class StoredNumbers:
    """The result of numbering a table."""

    chunks: int
    """Chunks that were given a document id or an index."""
    documents: int
    """Documents whose chunks all have an index of their own now, whoever gave it."""
    unordered: tuple[str, ...]
    """Documents whose chunks don't prove their order, or contradict each other; at most 100 are named."""
    unordered_documents: int
    """Number of all such documents."""
    nameless: int
    """Chunks with neither a document nor a source."""

    def __str__(self) -> str:
        said = [f"{self.chunks:,} chunks were numbered; {self.documents:,} documents have neighbours now"]
        if self.unordered_documents:
            said.append(
                f"{self.unordered_documents:,} documents could not be ordered, since their chunks have the same page "
                f"and no offset, or stand twice ({', '.join(map(repr, self.unordered[:3]))}): store them anew as "
                "number_chunks(documents), or say trust_insertion_order=True if the table was filled once and in order"
            )
        if self.nameless:
            said.append(f"{self.nameless:,} chunks name neither a document nor a source")
        return "; ".join(said)


@dataclass(frozen=True)
class StoredChunks:
    """A table of chunks, and the condition on its rows."""

    table: Table
    id: str
    json: str | None
    """Name of the column with the metadata, JSON or JSONB; None if there is none."""
    columns: frozenset[str]
    """Columns named after the key of the metadata that each holds."""
    keys: MetadataKeys
    condition: ColumnElement[bool] | None = None

    def text(self, key: str, of: Any = None) -> ColumnElement[Any]:
        """The value under `key` as text, in the table or in the query `of` it; NULL if there is none."""
        home = self.table if of is None else of
        if key in self.columns:
            return cast(home.c[key], Text)
        return json_text(home.c[self.json], key) if self.json else cast(null(), Text)

    def home(self, keys: Sequence[str]) -> str:
        """The key to write: the first with a column of its own, else the first.

        Raises:
            ConfigError: the table has neither that column nor JSON metadata.
        """
        found = next((key for key in keys if key in self.columns), keys[0])
        if found not in self.columns and (self.json is None or "." in found):
            raise ConfigError(
                "vectorstore", f"one whose table has a column {found!r} or JSON metadata", self.table.name
            )
        return found


def table_of(name: str, schema: str | None, columns: Iterable[str], json: str | None, json_type: Any = JSON) -> Table:
    """A table whose names are quoted, and so taken literally."""
    kept: list[Column[Any]] = [Column(quoted_name(column, quote=True)) for column in columns if column != json]
    kept += [Column(quoted_name(json, quote=True), json_type)] if json else []
    within = None if schema is None else quoted_name(schema, quote=True)
    return Table(quoted_name(name, quote=True), MetaData(), *kept, schema=within)


def number(connection: Connection, stored: StoredChunks, *, trust_insertion_order: bool = False) -> StoredNumbers:
    """Give the rows of `stored` a document id and an index, and the table an index on both, in the open transaction.

    A document whose chunks all have an index stays as it is, so a second run changes nothing.
    """
    keys = stored.keys
    document, index = stored.home(keys.document_id), stored.home(keys.index)
    rows = _rows(stored)
    documents = _documents(rows, trust=trust_insertion_order)
    chunks = connection.execute(_update(stored, rows, documents, document, index)).rowcount
    connection.execute(_create_index(stored, document, index))
    return _told(connection, rows, documents, chunks)


def _rows(stored: StoredChunks) -> Any:
    """The place of each row as its metadata have it."""
    keys, home = stored.keys, stored.table
    read = [home.c[stored.id], literal_column("ctid").label(_STORED_AT)]
    read += [home.c[name] for name in sorted(stored.columns - {stored.id})]
    # Parsed once: in a column of type JSON, each look at a key would parse the text again.
    read += [_parsed(home.c[stored.json]).label(stored.json)] if stored.json else []
    found = select(*read) if stored.condition is None else select(*read).where(stored.condition)
    row = found.cte("parsed").prefix_with("MATERIALIZED")

    def first(names: Iterable[str]) -> ColumnElement[Any]:
        return func.coalesce(*(stored.text(name, row) for name in names), null())

    def number(names: Iterable[str]) -> ColumnElement[Any]:
        """The first value under `names` that is a whole number from 0."""
        texts = [stored.text(name, row) for name in names]
        return func.coalesce(*(case((text.regexp_match(_NUMBER), cast(text, Numeric))) for text in texts), null())

    return select(
        row.c[stored.id].label("id"),
        first(keys.documents).label("document"),
        first(keys.document_id).label("named"),
        number(keys.index).label("index"),
        number(reversed(keys.page)).label("page"),  # the label last, since labels may begin anew
        number((*keys.row_number, *_ROWS, *keys.start_line)).label("row"),
        number(keys.start).label("start"),
        row.c[_STORED_AT].label("stored_at"),
    ).cte("rows")


def _parsed(json: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(cast(type_coerce(json, Text), JSONB), cast(literal("{}"), JSONB))


def _documents(rows: Any, *, trust: bool) -> Any:
    """A row for each document: `numbered` if all its chunks have an index, `sorted` if their order is certain."""
    each = rows.c
    count = func.count()
    page, row, start = (func.coalesce(column, -1) for column in (each.page, each.row, each.start))
    sorted_out = and_(
        *(func.count(column).in_((0, count)) for column in (each.page, each.row)),
        or_(
            func.count(distinct(tuple_(page, row))) == count,
            and_(func.count(each.start) == count, func.count(distinct(tuple_(page, row, start))) == count),
        ),
    )
    return (
        select(
            each.document,
            and_(func.count(each.index) == count, func.count(distinct(each.index)) == count).label("numbered"),
            or_(sorted_out, literal(trust)).label("sorted"),
        )
        .where(each.document.is_not(None))
        .group_by(each.document)
        .cte("documents")
    )


def _update(stored: StoredChunks, rows: Any, documents: Any, document: str, index: str) -> Any:
    each, of = rows.c, documents.c
    place = func.row_number().over(
        partition_by=each.document, order_by=(each.page, each.row, each.start, each.stored_at)
    )
    planned = (
        select(
            each.id,
            each.document,
            case((of.numbered, cast(each.index, BigInteger)), else_=place - 1).label("index"),
        )
        .join_from(rows, documents, of.document == each.document)
        .where(or_(of.numbered, of.sorted))
        .where(or_(each.named.is_(None), ~of.numbered))
        .cte("planned")
    )
    home = stored.table
    values: dict[Any, Any] = {}
    patch: list[Any] = []
    for name, value in ((document, planned.c.document), (index, planned.c.index)):
        if name in stored.columns:
            values[home.c[name]] = value
        else:
            patch += [cast(literal(name), Text), value]
    if patch and stored.json:
        json = home.c[stored.json]
        values[json] = cast(_parsed(json).op("||")(func.jsonb_build_object(*patch)), json.type)
    return update(home).values(values).where(home.c[stored.id] == planned.c.id)


def _create_index(stored: StoredChunks, document: str, index: str) -> CreateIndex:
    """The index on document and place, written as the statements of `ctxassembly.stores.postgres` compare them."""
    home, name = stored.table, f"{stored.table.name}_document_place"
    if len(name.encode()) > _LONGEST_NAME:
        name = f"document_place_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    on = [home.c[key] if key in stored.columns else stored.text(key) for key in (document, index)]
    return CreateIndex(Index(quoted_name(name, quote=True), *on, _table=home), if_not_exists=True)


def _told(connection: Connection, rows: Any, documents: Any, chunks: int) -> StoredNumbers:
    known = or_(documents.c.numbered, documents.c.sorted)
    names = func.array_agg(aggregate_order_by(documents.c.document, documents.c.document)).filter(~known)
    nameless = select(func.count()).select_from(rows).where(rows.c.document.is_(None)).scalar_subquery()
    counted = select(func.count().filter(known), names, nameless).select_from(documents)
    numbered, left, without = connection.execute(counted).one()
    return StoredNumbers(chunks, numbered, tuple(left or ())[:MOST_NAMED], len(left or ()), without)
