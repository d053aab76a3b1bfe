"""Chunks of all documents from a Postgres table, fetched in one statement with every value bound.

The statement needs an index on document and place to be fast, whether they are columns or keys of JSON metadata:

    CREATE INDEX ON chunks (document_id, chunk_index)
    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, SupportsIndex

from sqlalchemy import BigInteger, ColumnElement, Numeric, Select, Text, and_, any_, bindparam, case, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError, missing_extra
from ctxassembly.safe_repr import shown
from ctxassembly.stores.postgres.deadline import Asked
from ctxassembly.wording.unicode import is_storable

# Neighbours by offset from a Postgres table, found by the database, so that no document is read whole.
#
# The statement numbers the rows of the documents in question by page and offset, finds the rows at the offsets asked
# for, and returns the ids of the rows next to them.


_NUMBER = r"^[0-9]{1,15}(\.0+)?$"
"""A whole number in JSON, which keeps it as it was written: 7 or 7.0."""


class Form(NamedTuple):
    """The metadata that name the part of a document in which an offset counts."""

    page: str | None
    """The key of the page's number; None if pages don't follow each other."""
    names: tuple[str, ...]
    """Without `page`, the keys whose values all chunks of the page or section share."""


def asked_beside(refs: Sequence[ChunkRef]) -> tuple[tuple[Form, ...], dict[str, Any]]:
    """The forms in which `refs` ask for neighbours by offset, and the values to bind; both empty if none does."""
    rows: dict[Form, list[list[Any]]] = defaultdict(list)
    each_side = 0
    for ref in refs:
        if ref.beside is None:
            continue
        start, wanted, part, page, _ = ref.beside
        named = dict(part)
        names = () if page is not None else tuple(named)
        each_side = max(each_side, wanted)
        place = [int(float(named[page]))] if page is not None else [str(named[name]) for name in names]
        rows[Form(page, names)].append([ref.document_id, start, *place])
    bound: dict[str, Any] = {"beside": each_side} if rows else {}
    for at, (form, asked) in enumerate(rows.items()):
        bound |= zip(_parameters(at, form), map(list, zip(*asked, strict=True)), strict=True)
    return tuple(rows), bound


@dataclass(frozen=True)
class Spots:
    """The columns of a table that place its chunks by offset, all as text."""

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    start: ColumnElement[Any]
    named: Callable[[str], ColumnElement[Any]]
    rows: Select[Any]
    name: str = "spots"
    """Name of the numbered rows in the statement."""

    def documents(self, at: int, form: Form) -> str:
        """The parameter with the documents of the form at index `at`."""
        return _parameters(at, form)[0]

    def beside(self, at: int, form: Form) -> Select[Any]:
        """A statement for the ids of the rows within `beside` rows of those that the parameters of a form name.

        The named rows are among them. The form is the one at index `at`.
        """
        start, page = _number(self.start), None if form.page is None else _number(self.named(form.page))
        # Rows with the same values in `shared` are numbered together, in the order of `own`: page, then offset.
        shared = {"document": self.document_id, **{f"part_{n}": self.named(name) for n, name in enumerate(form.names)}}
        own = {"start": start} | ({} if page is None else {"page": page})
        place = func.row_number().over(partition_by=list(shared.values()), order_by=[*reversed(own.values())])
        numbered = (
            self.rows.with_only_columns(
                self.id.label("id"),
                *(column.label(name) for name, column in {**shared, **own}.items()),
                place.label("place"),
            )
            .where(self.document_id == any_(cast(bindparam(self.documents(at, form)), ARRAY(Text))), start.is_not(None))
            .cte(f"{self.name}_{at}")
        )
        # `one` is a row at an offset asked for, `two` a row near it.
        one, two = (numbered.alias(f"{self.name}_{at}_{which}") for which in ("one", "two"))
        asked = _asked(at, form)
        reach = bindparam("beside", type_=BigInteger)
        named = and_(*(one.c[name] == asked.c[name] for name in (*shared, *own)))
        near = two.c.place.between(one.c.place - reach, one.c.place + reach)
        same = and_(*(two.c[name] == one.c[name] for name in shared), near)
        return select(two.c.id).select_from(asked.join(one, named).join(two, same)).distinct()


def _parameters(at: int, form: Form) -> list[str]:
    """The parameters of the form at index `at`, arrays in the order in which `asked_beside` fills them."""
    return [f"beside_{at}_{name}" for name in ("document", "start", *_last(form))]


def _last(form: Form) -> list[str]:
    """The names of the parameters after document and offset: the page, or one for each key of the part."""
    return [f"part_{n}" for n in range(len(form.names))] if form.page is None else ["page"]


def _asked(at: int, form: Form) -> Any:
    """The table `asked`, with a row for each offset asked for."""
    names = ["document", "start", *_last(form)]
    arrays = [
        cast(bindparam(parameter), ARRAY(BigInteger if name in ("start", "page") else Text))
        for parameter, name in zip(_parameters(at, form), names, strict=True)
    ]
    return func.unnest(*arrays).table_valued(*names).render_derived(name=f"asked_{at}")


def _number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The whole number that a text is; NULL if it is none. Postgres would raise at a cast, and lose the statement."""
    return case((text.regexp_match(_NUMBER), cast(cast(text, Numeric), BigInteger)))


try:
    from sqlalchemy import (
        BigInteger,
        ColumnElement,
        Select,
        Text,
        any_,
        bindparam,
        cast,
        func,
        literal,
        select,
        tuple_,
        type_coerce,
        union_all,
    )
    from sqlalchemy.dialects.postgresql import ARRAY
    from sqlalchemy.sql.expression import CompoundSelect
    from sqlalchemy.sql.sqltypes import NULLTYPE

except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("sqlalchemy",)) from error

MOST_TABLES = 256
"""Most tables remembered: one for each vector store and shape of filter. For PGVector, for each value of a filter."""


@dataclass(frozen=True, kw_only=True)
class PostgresStore:
    """The settings that stores of neighbours over Postgres share, in either framework."""

    filter: Any = None
    """In the form that the vector store's own search takes."""
    timeout_seconds: float = 10.0
    """For all of a fetch, the wait for a connection included. A late one raises TimeoutError, whatever the server does;
    it is cancelled there too, and its connection dropped."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not 0 < self.timeout_seconds < math.inf:
            raise ConfigError("timeout_seconds", "a finite number above 0", self.timeout_seconds)

    @property
    def holds_filter(self) -> bool | None:
        """True with a filter of its own, else None: nobody knows how the caller filters."""
        return True if self.filter else None


@dataclass(frozen=True)
class ChunkTable:
    """The columns in which a table keeps chunks, without the embedding. Documents and indexes are compared as text.

    A statement is made once for each combination of requests (by place, by id, whole documents, by offset); only bound
    values change. So SQLAlchemy compiles it once, and the server prepares it if the driver asks it to.
    """

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    index: ColumnElement[Any]
    rows: Select[Any]
    """The columns to read, and the conditions on all chunks: the collection, the caller's filter."""
    ordered: bool = False
    """True if indexes are a column of integers: then consecutive ones are asked for as one range."""
    otherwise: tuple[ColumnElement[Any], ColumnElement[Any]] | None = None
    """Document and index of rows that keep them under other names. No index of the table serves these, so they are read
    only for documents that the first names don't have."""
    named: Callable[[str], ColumnElement[Any]] | None = None
    """A function from a key of the metadata to its value as text. Needed to ask by offset."""
    start: ColumnElement[Any] | None = None
    """The offset as text. Needed to ask by offset, too."""
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def asked(self, refs: Sequence[ChunkRef]) -> Asked:
        """The statement for `refs` and its bound values. There is at least one ref, and all are `storable`."""
        ids = [ref.chunk_id for ref in refs if ref.chunk_id is not None]
        documents = [
            ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None and ref.beside is None
        ]
        places = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
        bound: dict[str, Any] = {}
        if places:
            asked = _ranges(places) if self.ordered else _spelled(places)
            bound |= zip(RANGES if self.ordered else PLACES, map(list, zip(*asked, strict=True)), strict=True)
        if ids:
            bound["ids"] = ids
        if documents:
            bound["documents"] = documents
        forms, values = asked_beside(refs)
        bound |= values
        kinds = (bool(places), bool(ids), bool(documents), forms)
        if kinds not in self._made:
            self._made[kinds] = self._statement(*kinds)
        return self._made[kinds], bound

    def _statement(
        self, places: bool, ids: bool, documents: bool, forms: tuple[Form, ...]
    ) -> Select[Any] | CompoundSelect[Any]:
        parts = [self.rows.where(self.id.in_(ids)) for at, form in enumerate(forms) for ids in self._beside(at, form)]
        if places:
            names, of = (RANGES, BigInteger) if self.ordered else (PLACES, Text)
            parts.append(self._placed(_unnested(names, of), self.document_id, self.index))
            if self.otherwise:
                left = self._left(_unnested(names, of), self.index).cte("places_left")
                parts.append(self._placed(left, *self.otherwise).where(_any_of(left)))
        if ids:
            # Bound with the type of the column, which may be uuid.
            parts.append(self.rows.where(self.id == func.any(bindparam("ids", type_=NULLTYPE))))
        if documents:
            parts.append(self.rows.where(self.document_id == any_(texts("documents"))))
            if self.otherwise:
                left = self._documents_left("documents")
                named = self.otherwise[0].in_(select(left.c[PLACES[0]]))
                parts.append(self.rows.where(named, _any_of(left)))
        # A union, since Postgres uses no index for an OR of different columns.
        return union_all(*parts) if len(parts) > 1 else parts[0]

    def _beside(self, at: int, form: Form) -> Iterator[Select[Any]]:
        """Statements for the ids of the chunks next to the offsets of the form at index `at`."""
        if self.named is None or self.start is None:
            return
        spots = Spots(self.id, self.document_id, self.start, self.named, self.rows)
        yield spots.beside(at, form)
        if self.otherwise:
            left = self._documents_left(spots.documents(at, form))
            unnamed = self.rows.where(self.document_id.is_(None), _any_of(left))
            yield replace(spots, document_id=self.otherwise[0], rows=unnamed, name="others").beside(at, form)

    def _documents_left(self, parameter: str) -> Any:
        """The documents in `parameter` that no row has under the first name."""
        asked = func.unnest(texts(parameter)).table_valued(PLACES[0]).render_derived(name="asked")
        return self._left(asked, self.document_id).cte(f"{parameter}_left")

    def _placed(self, asked: Any, document_id: ColumnElement[Any], index: ColumnElement[Any]) -> Select[Any]:
        """The rows at the places in the table `asked`."""
        if not self.ordered:
            return self.rows.where(tuple_(document_id, index).in_(select(*(asked.c[name] for name in PLACES))))
        document, low, high = (asked.c[name] for name in RANGES)
        return self.rows.where(document_id == document, index.between(low, high))

    def _left(self, asked: Any, present: ColumnElement[Any]) -> Select[Any]:
        """The rows of `asked` whose document no row has under the first name together with a value in `present`."""
        there = self.rows.with_only_columns(literal(1)).where(
            self.document_id == asked.c[PLACES[0]], present.is_not(None)
        )
        return select(asked).where(~there.exists())


def _any_of(table: Any) -> ColumnElement[bool]:
    """True if the table has rows. A count lets Postgres decide first, and skip the part that depends on it."""
    return select(func.count()).select_from(table).scalar_subquery() > 0


PLACES = ("in_document", "at_index")
RANGES = ("in_document", "from_index", "to_index")
"""Names of the parameters for places, arrays of equal length."""


def _unnested(names: Sequence[str], of: type[Text | BigInteger]) -> Any:
    """The table `asked` with a row for each place; its first column is text."""
    arrays = [texts(names[0]), *(cast(bindparam(name), ARRAY(of)) for name in names[1:])]
    return func.unnest(*arrays).table_valued(*names).render_derived(name="asked")


def _spelled(places: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """The places in each spelling of the index, since JSON keeps a number as it was written: 7 or 7.0."""
    return [(document, form) for document, index in dict.fromkeys(places) for form in (f"{index}", f"{index}.0")]


def _ranges(places: Sequence[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """The places as ranges (document, first index, last index), merged where they touch."""
    found: list[tuple[str, int, int]] = []
    for document, index in sorted(set(places)):
        if found and found[-1][0] == document and found[-1][2] == index - 1:
            found[-1] = (document, found[-1][1], index)
        else:
            found.append((document, index, index))
    return found


_TYPES: Sequence[tuple[str, Any, str]] = (
    ("document_id", str, "a text"),
    ("index", (SupportsIndex, type(None)), "an integer or None"),
    ("chunk_id", (str, type(None)), "a text or None"),
)


def storable(refs: Sequence[ChunkRef]) -> list[ChunkRef]:
    """Those of `refs` whose values Postgres can hold. A single other one would fail the whole statement.

    Raises:
        InputError: a value has another type.
    """
    for ref in refs:
        if not isinstance(ref, ChunkRef):
            raise InputError(f"refs must be of ChunkRef, got {shown(ref)}")
        for name, kinds, allowed in _TYPES:
            if not isinstance(given := getattr(ref, name), kinds):
                raise InputError(f"{name} of a reference must be {allowed}, got {shown(given)}")
    return [
        ref
        for ref in refs
        if all(map(is_storable, (ref.document_id, ref.chunk_id or "")))
        and (ref.index is None or abs(ref.index) < 2**63)
    ]


def texts(name: str) -> ColumnElement[Any]:
    """The parameter `name`, an array of texts."""
    return cast(bindparam(name), ARRAY(Text))


_tables: dict[Hashable, ChunkTable] = {}


def remembered(key: Hashable, make: Callable[[], ChunkTable]) -> ChunkTable:
    """The table made for `key` before, with its statements, or a new one from `make`. `MOST_TABLES` are kept."""
    table = _tables.pop(key, None) or make()
    _tables[key] = table  # moved to the end: the one used longest ago goes first
    while len(_tables) > MOST_TABLES:
        _tables.pop(next(iter(_tables)), None)
    return table


def json_text(column: ColumnElement[Any], key: str) -> ColumnElement[str]:
    """The text under `key`, which may be a dotted path, in a JSON column.

    Keys are written as literals, quoted by the dialect: Postgres uses an index on the expression only then.
    """
    *above, last = key.split(".")
    for step in above:
        column = column.op("->")(literal(step, literal_execute=True))
    return type_coerce(column, Text).op("->>", return_type=Text())(literal(last, literal_execute=True))
