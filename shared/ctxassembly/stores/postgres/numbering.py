"""Numbers for the chunks of a table, written in place: document id and index of each, and a database index on both.

A vector store keeps no order of chunks. The order of insertion isn't safe either: chunks are updated, and loaded in
parallel. So only an order that the rows themselves prove is used: page, then row or line, then offset. A document is
numbered if this tells all its chunks apart, and if links between chunks, where there are any, agree. The others are
named in the result.

The numbering is one UPDATE that the database computes: no chunk travels to the client.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    MetaData,
    Numeric,
    Select,
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

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import counted
from ctxassembly.stores.postgres.chunk_lookup import json_text

MOST_NAMED = 100
"""Most documents that a result names as those that could not be ordered."""
PATH = "file_path"
"""The key by which LlamaIndex's readers tell files of one name apart."""
_ROWS = ("row", "seq_num", "row_idx_start")
"""The keys for the row of LangChain's CSVLoader and JSONLoader and of Haystack, besides `keys.row_number`."""
_NUMBER = r"^[0-9]{1,15}(\.0+)?$"
"""A whole number in JSON, which keeps it as it was written: 7 or 7.0."""
_LONGEST_NAME = 63
"""Most bytes of a name in PostgreSQL, which cuts longer ones."""


@dataclass(frozen=True, slots=True)
class StoredNumbers:
    """The result of numbering a table: its counts, and the documents that could not be ordered."""

    chunks: int
    """Chunks that were given a document id or an index."""
    documents: int
    """Documents whose chunks all have an index of their own now, whoever gave it, or are linked to each other."""
    unordered: tuple[str, ...]
    """Documents whose chunks don't tell their order, or contradict each other; at most 100."""
    unordered_documents: int
    """Number of all such documents."""
    nameless: int
    """Chunks that name neither a document nor a source."""

    def __str__(self) -> str:
        numbered = counted(self.chunks, "chunk was", "chunks were")
        joined = counted(self.documents, "document has", "documents have")
        said = [f"{numbered} numbered; {joined} neighbours now"]
        if self.unordered_documents:
            names = ", ".join(map(repr, self.unordered[:3]))
            whose = "its" if self.unordered_documents == 1 else "their"
            said.append(
                f"{counted(self.unordered_documents, 'document')} could not be ordered, since {whose} chunks have the "
                f"same page and no offset, stand twice, or contradict their links ({names}): store them anew as "
                "number_chunks(...) gives them, or say trust_insertion_order=True if the table was filled once and in "
                "order"
            )
        if self.nameless:
            said.append(f"{counted(self.nameless, 'chunk names', 'chunks name')} neither a document nor a source")
        return "; ".join(said)


class Stored(Protocol):
    """A table of chunks whose rows can be numbered: a statement that reads their places, and the values to write."""

    @property
    def table(self) -> Table:
        """The table with the rows."""

    @property
    def id(self) -> str:
        """The name of the column by which an update finds a row."""

    def rows(self) -> Select[Any]:
        """A statement with one row for each chunk.

        It has the columns

        - `id`, the `document`, and `named`: the document id that it has already
        - its place, as `told` reads it
        - `stored_at`, which sorts earlier rows first
        - `link`, the id by which links refer to it, and `following`, the link to the next one; NULL without links
        """

    def written(self, planned: Any) -> Mapping[Any, Any]:
        """The new values by column, given the table `planned` with `document` and `index` for each `id`."""

    def found_by(self) -> Sequence[ColumnElement[Any]]:
        """The expressions by which neighbours are looked up, for the index of the table: document and place."""


def told(text: Callable[[str], ColumnElement[Any]], keys: MetadataKeys) -> list[ColumnElement[Any]]:
    """The columns for the place of a row: index, page, row, offset and file. `text` gives the value under a key."""

    def number(names: Iterable[str]) -> ColumnElement[Any]:
        """The first value under `names` that is a whole number from 0."""
        return func.coalesce(*(whole_number(text(name)) for name in names), null())

    return [
        number(keys.index).label("index"),
        number(reversed(keys.page)).label("page"),  # the printed label last: labels may begin anew in one file
        number((*keys.row_number, *_ROWS, *keys.start_line)).label("row"),
        number(keys.start).label("start"),
        text(PATH).label("file"),
    ]


def whole_number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The whole number that a text is, from 0; NULL if it is none."""
    return case((text.regexp_match(_NUMBER), cast(text, Numeric)))


def parsed(json: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of JSON or JSONB as JSONB; an empty object if it is NULL."""
    return func.coalesce(cast(type_coerce(json, Text), JSONB), cast(literal("{}"), JSONB))


def number(connection: Connection, stored: Stored, *, trust_insertion_order: bool = False) -> StoredNumbers:
    """Number the rows of `stored` by document and index, and create the database index, in the open transaction.

    A document whose chunks have an index each stays as it is, so a second call changes nothing.
    `trust_insertion_order` puts chunks in the order in which they were stored where nothing else tells.
    """
    rows = _in_order(stored.rows().cte("rows"))
    documents = _documents(rows, trust=trust_insertion_order)
    planned = _planned(rows, documents)
    home = stored.table
    changed = update(home).values(dict(stored.written(planned))).where(home.c[stored.id] == planned.c.id)
    chunks = connection.execute(changed).rowcount
    connection.execute(_create_index(stored))
    return _told(connection, rows, documents, chunks)


def _in_order(rows: Any) -> Any:
    """The rows with their `place` in the order of their document, and with the link of the `next` row there."""
    row = rows.c
    order = {"partition_by": row.document, "order_by": (row.page, row.row, row.start, row.stored_at)}
    return select(
        rows, (func.row_number().over(**order) - 1).label("place"), func.lead(row.link).over(**order).label("next")
    ).cte("in_order")


def _documents(rows: Any, *, trust: bool) -> Any:
    """Three facts on each document: its chunks are `numbered` already, their order is `sorted`, links tell it."""
    chunk = rows.c
    count = func.count()
    page, row, start = (func.coalesce(column, -1) for column in (chunk.page, chunk.row, chunk.start))
    # Either all chunks have a page or none has, and so with rows: one without has no place among the others. Then
    # page and row, or page, row and offset, have to tell all chunks apart.
    tells_apart = and_(
        *(func.count(column).in_((0, count)) for column in (chunk.page, chunk.row)),
        or_(
            func.count(distinct(tuple_(page, row))) == count,
            and_(func.count(chunk.start) == count, func.count(distinct(tuple_(page, row, start))) == count),
        ),
    )
    # Links that skip a chunk mean that text is missing, or that this is another order than theirs.
    agree = func.bool_and(or_(chunk.following.is_(None), chunk.following.is_not_distinct_from(chunk.next)))
    return (
        select(
            chunk.document,
            and_(func.count(chunk.index) == count, func.count(distinct(chunk.index)) == count).label("numbered"),
            and_(or_(tells_apart, literal(trust)), agree, func.count(distinct(chunk.file)) <= 1).label("sorted"),
            and_(func.count(chunk.following) == count - 1, func.count(distinct(chunk.named)) == 1).label("linked"),
        )
        .where(chunk.document.is_not(None))
        .group_by(chunk.document)
        .cte("documents")
    )


def _planned(rows: Any, documents: Any) -> Any:
    """The `id`, `document` and `index` of each row that has to change."""
    row, document = rows.c, documents.c
    return (
        select(
            row.id,
            row.document,
            case((document.numbered, cast(row.index, BigInteger)), else_=row.place).label("index"),
        )
        .join_from(rows, documents, document.document == row.document)
        .where(or_(document.numbered, document.sorted))
        .where(or_(row.named.is_distinct_from(row.document), ~document.numbered))
        .cte("planned")
    )


def _create_index(stored: Stored) -> CreateIndex:
    home, name = stored.table, f"{stored.table.name}_document_place"
    # PostgreSQL would cut it, and take the index of another table for this one.
    if len(name.encode()) > _LONGEST_NAME:
        name = f"document_place_{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return CreateIndex(Index(quoted_name(name, quote=True), *stored.found_by(), _table=home), if_not_exists=True)


def _told(connection: Connection, rows: Any, documents: Any, chunks: int) -> StoredNumbers:
    known = or_(documents.c.numbered, documents.c.sorted, documents.c.linked)
    names = func.array_agg(aggregate_order_by(documents.c.document, documents.c.document)).filter(~known)
    nameless = select(func.count()).select_from(rows).where(rows.c.document.is_(None)).scalar_subquery()
    counted = select(func.count().filter(known), names, nameless).select_from(documents)
    numbered, left, without = connection.execute(counted).one()
    return StoredNumbers(chunks, numbered, tuple(left or ())[:MOST_NAMED], len(left or ()), without)


_STORED_AT = "ctxassembly_stored_at"
"""The name under which a statement reads `ctid`, the place of a row in the table's file."""


@dataclass(frozen=True)
class StoredChunks:
    """A table of chunks, and the condition for the rows that count."""

    table: Table
    id: str
    json: str | None
    """The column of metadata, JSON or JSONB."""
    columns: frozenset[str]
    """The columns that hold one key of the metadata each, under its name."""
    keys: MetadataKeys
    condition: ColumnElement[bool] | None = None

    def text(self, key: str, of: Any = None) -> ColumnElement[Any]:
        """The value under `key` as text, in the table or in what was read `of` it; NULL if there is none."""
        home = self.table if of is None else of
        if key in self.columns:
            return cast(home.c[key], Text)
        return json_text(home.c[self.json], key) if self.json else cast(null(), Text)

    def rows(self) -> Select[Any]:
        """A statement for the places of the rows, as `ctxassembly.stores.postgres.numbering.Stored` describes it."""
        keys, home = self.keys, self.table
        read = [home.c[self.id], literal_column("ctid").label(_STORED_AT)]
        read += [home.c[name] for name in sorted(self.columns - {self.id})]
        # Parsed once, and materialised: with JSON kept as text, each look at a key would parse it again.
        read += [parsed(home.c[self.json]).label(self.json)] if self.json else []
        found = select(*read) if self.condition is None else select(*read).where(self.condition)
        row = found.cte("parsed").prefix_with("MATERIALIZED")

        def first(names: Iterable[str]) -> ColumnElement[Any]:
            return func.coalesce(*(self.text(name, row) for name in names), null())

        return select(
            row.c[self.id].label("id"),
            first(keys.documents).label("document"),
            first(keys.document_id).label("named"),
            *told(lambda key: self.text(key, row), keys),
            row.c[_STORED_AT].label("stored_at"),
            cast(null(), Text).label("link"),
            cast(null(), Text).label("following"),
        )

    def written(self, planned: Any) -> Mapping[Any, Any]:
        """The new document id and index: in columns of their own if the table has them, else in the JSON metadata."""
        home, keys = self.table, self.keys
        values: dict[Any, Any] = {}
        patch: list[Any] = []
        for names, value in ((keys.document_id, planned.c.document), (keys.index, planned.c.index)):
            name = self.home(names)
            if name in self.columns:
                values[home.c[name]] = value
            else:
                patch += [cast(literal(name), Text), value]
        if patch and self.json:
            json = home.c[self.json]
            values[json] = cast(parsed(json).op("||")(func.jsonb_build_object(*patch)), json.type)
        return values

    def found_by(self) -> Sequence[ColumnElement[Any]]:
        """Document and place, as the statements of `ctxassembly.stores.postgres.chunk_lookup` compare them."""
        names = (self.home(self.keys.document_id), self.home(self.keys.index))
        return [self.table.c[name] if name in self.columns else self.text(name) for name in names]

    def home(self, keys: Sequence[str]) -> str:
        """The key to write: the first of `keys` with a column of its own, else the first one.

        Raises:
            ConfigError: the table has no place for it.
        """
        found = next((key for key in keys if key in self.columns), keys[0])
        if found not in self.columns and (self.json is None or "." in found):
            raise ConfigError(
                "vectorstore", f"one whose table has a column {found!r} or JSON metadata", self.table.name
            )
        return found


def table_of(name: str, schema: str | None, columns: Iterable[str], json: str | None, json_type: Any = JSON) -> Table:
    """A table with quoted names, so that capitals and odd signs in them stay."""
    kept: list[Column[Any]] = [Column(quoted_name(column, quote=True)) for column in columns if column != json]
    kept += [Column(quoted_name(json, quote=True), json_type)] if json else []
    within = None if schema is None else quoted_name(schema, quote=True)
    return Table(quoted_name(name, quote=True), MetaData(), *kept, schema=within)
