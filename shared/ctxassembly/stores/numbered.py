"""A table of stored chunks numbered in place: document and index of each, in SQL, and the index that finds them by it.

Only an order that the rows themselves prove is used: page, then row, line and offset. What they leave open is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Index,
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

MOST_NAMED = 100
"""Documents that are named as those that could not be ordered."""
PATH = "file_path"
"""Where LlamaIndex's readers say which of two files of one name it is."""
_ROWS = ("row", "seq_num", "row_idx_start")
"""What LangChain's CSVLoader and JSONLoader and Haystack call the row, beside `keys.row_number`."""
_NUMBER = r"^[0-9]{1,15}(\.0+)?$"
_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class StoredNumbers:
    """What became of a table's chunks."""

    chunks: int
    """Those that were given a document id or an index."""
    documents: int
    """Those whose chunks all have an index of their own now, whoever gave it, or are linked to each other."""
    unordered: tuple[str, ...]
    """Documents whose chunks say nothing of their order, or contradict each other; at most 100 are named."""
    unordered_documents: int
    nameless: int
    """Chunks that name neither a document nor a source."""

    def __str__(self) -> str:
        said = [f"{self.chunks:,} chunks were numbered; {self.documents:,} documents have neighbours now"]
        if self.unordered_documents:
            names = ", ".join(map(repr, self.unordered[:3]))
            said.append(
                f"{self.unordered_documents:,} documents could not be ordered, since their chunks have the same page "
                f"and no offset, stand twice, or contradict their links ({names}): store them anew as number_chunks("
                "...) gives them, or say trust_insertion_order=True if the table was filled once and in order"
            )
        if self.nameless:
            said.append(f"{self.nameless:,} chunks name neither a document nor a source")
        return "; ".join(said)


class Stored(Protocol):
    """A table of chunks: what its rows say of their place, and how a place is written into them."""

    @property
    def table(self) -> Table:
        """Where the rows are."""

    @property
    def id(self) -> str:
        """The column that updates find a row by."""

    def rows(self) -> Select[Any]:
        """Of each row `id`, `document`, and the document that it is `named` by already; its place as `told` reads it.

        Also `stored_at`, by which rows that came earlier sort first, and where rows are linked to each other the id
        that links mean a row by, `link`, and the link to the one `following` it.
        """

    def written(self, planned: Any) -> Mapping[Any, Any]:
        """New values by column: `planned` has `document` and `index` for each `id`."""

    def found_by(self) -> Sequence[ColumnElement[Any]]:
        """What neighbours are looked up by: the document, and the place."""


def told(text: Callable[[str], ColumnElement[Any]], keys: MetadataKeys) -> list[ColumnElement[Any]]:
    """What metadata tell of the place of a row: index, page, row, offset and file; `text` is what is under a key."""

    def number(names: Iterable[str]) -> ColumnElement[Any]:
        """The first of the values that is a whole number from 0."""
        return func.coalesce(*(whole_number(text(name)) for name in names), null())

    return [
        number(keys.index).label("index"),
        number(reversed(keys.page)).label("page"),  # the label last: labels begin anew
        number((*keys.row_number, *_ROWS, *keys.start_line)).label("row"),
        number(keys.start).label("start"),
        text(PATH).label("file"),
    ]


def whole_number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The number that a text is; NULL if it is not a whole one from 0."""
    return case((text.regexp_match(_NUMBER), cast(text, Numeric)))


def parsed(json: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column of JSON or JSONB as JSONB; an empty object if it is NULL."""
    return func.coalesce(cast(type_coerce(json, Text), JSONB), cast(literal("{}"), JSONB))


def number(connection: Connection, stored: Stored, *, trust_insertion_order: bool = False) -> StoredNumbers:
    """Give the rows of `stored` a document id and an index, and the table its index; all in the transaction that is on.

    Documents whose chunks have an index each stay as they are, so that a second run changes nothing.
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
    """The rows with their place among those of their document, and the link that the next one there is meant by."""
    each = rows.c
    order = {"partition_by": each.document, "order_by": (each.page, each.row, each.start, each.stored_at)}
    return select(
        rows, (func.row_number().over(**order) - 1).label("place"), func.lead(each.link).over(**order).label("next")
    ).cte("in_order")


def _documents(rows: Any, *, trust: bool) -> Any:
    """For each document whether its chunks are numbered, whether their order is certain, and if links tell it."""
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
    # A gap in the links is one in the text: chunks that were deleted, or another order.
    agree = func.bool_and(or_(each.following.is_(None), each.following.is_not_distinct_from(each.next)))
    return (
        select(
            each.document,
            and_(func.count(each.index) == count, func.count(distinct(each.index)) == count).label("numbered"),
            and_(or_(sorted_out, literal(trust)), agree, func.count(distinct(each.file)) <= 1).label("sorted"),
            and_(func.count(each.following) == count - 1, func.count(distinct(each.named)) == 1).label("linked"),
        )
        .where(each.document.is_not(None))
        .group_by(each.document)
        .cte("documents")
    )


def _planned(rows: Any, documents: Any) -> Any:
    each, of = rows.c, documents.c
    return (
        select(
            each.id,
            each.document,
            case((of.numbered, cast(each.index, BigInteger)), else_=each.place).label("index"),
        )
        .join_from(rows, documents, of.document == each.document)
        .where(or_(of.numbered, of.sorted))
        .where(or_(each.named.is_distinct_from(each.document), ~of.numbered))
        .cte("planned")
    )


def _create_index(stored: Stored) -> CreateIndex:
    home, name = stored.table, f"{stored.table.name}_document_place"
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
