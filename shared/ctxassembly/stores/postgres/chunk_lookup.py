"""Chunks of all documents from a Postgres table, fetched in one statement with every value bound.

The statement needs an index on document and place to be fast, whether they are columns or keys of JSON metadata:

    CREATE INDEX ON chunks (document_id, chunk_index)
    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))

The database finds neighbors by offset, so that no document is read whole: the statement numbers the rows of the
requested documents by page and offset, finds the rows at the requested offsets, and returns the ids of adjacent rows.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, SupportsIndex

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Numeric,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    case,
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

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.postgres.deadline import BoundStatement
from ctxassembly.wording.unicode import is_storable

INTEGER_PATTERN = r"^[0-9]{1,15}(\.0+)?$"
"""A whole number in JSON, which keeps it as it was written: 7 or 7.0."""


class OffsetScope(NamedTuple):
    """The metadata that name the part of a document in which an offset counts."""

    page_key: str | None
    """The key of the page's number; None if pages don't follow each other."""
    section_keys: tuple[str, ...]
    """Without `page_key`, the keys whose values all chunks of the page or section share."""


def bind_offsets(refs: Sequence[ChunkRef]) -> tuple[tuple[OffsetScope, ...], dict[str, Any]]:
    """Return the forms in which `refs` ask for neighbors by offset, and the values to bind; both empty if none does."""
    rows: dict[OffsetScope, list[list[Any]]] = defaultdict(list)
    per_side = 0
    for ref in refs:
        if ref.around_offset is None:
            continue
        start, ref_per_side, part, page, _ = ref.around_offset
        section_values = dict(part)
        names = () if page is not None else tuple(section_values)
        per_side = max(per_side, ref_per_side)
        scope_values = (
            [int(float(section_values[page]))] if page is not None else [str(section_values[name]) for name in names]
        )
        rows[OffsetScope(page, names)].append([ref.document_id, start, *scope_values])
    bound: dict[str, Any] = {"beside": per_side} if rows else {}
    for at, (form, asked) in enumerate(rows.items()):
        bound |= zip(_parameter_names(at, form), map(list, zip(*asked, strict=True)), strict=True)
    return tuple(rows), bound


@dataclass(frozen=True)
class OffsetQuery:
    """The columns of a table that place its chunks by offset, all as text."""

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    start: ColumnElement[Any]
    text_of: Callable[[str], ColumnElement[Any]]
    rows: Select[Any]
    cte_name: str = "spots"
    """Name of the numbered rows in the statement."""

    def documents_parameter(self, scope_index: int, scope: OffsetScope) -> str:
        """Return the parameter with the documents of the form at index `scope_index`."""
        return _parameter_names(scope_index, scope)[0]

    def neighbor_ids(self, scope_index: int, scope: OffsetScope) -> Select[Any]:
        """Return a statement for the ids of the rows around those that the parameters of a form name.

        The named rows are among them. The form is the one at index `scope_index`.
        """
        start, page = (
            _integer_expr(self.start),
            None if scope.page_key is None else _integer_expr(self.text_of(scope.page_key)),
        )
        # Rows with the same values in `partition_columns` are numbered together, in the order of `order_columns`: page,
        # then offset.
        partition_columns = {
            "document": self.document_id,
            **{f"part_{n}": self.text_of(name) for n, name in enumerate(scope.section_keys)},
        }
        order_columns = {"start": start} | ({} if page is None else {"page": page})
        row_number = func.row_number().over(
            partition_by=list(partition_columns.values()), order_by=[*reversed(order_columns.values())]
        )
        numbered = (
            self.rows.with_only_columns(
                self.id.label("id"),
                *(column.label(name) for name, column in {**partition_columns, **order_columns}.items()),
                row_number.label("place"),
            )
            .where(
                self.document_id == any_(cast(bindparam(self.documents_parameter(scope_index, scope)), ARRAY(Text))),
                start.is_not(None),
            )
            .cte(f"{self.cte_name}_{scope_index}")
        )
        # `requested_row` is a row at an offset asked for, `near_row` a row near it.
        requested_row, near_row = (numbered.alias(f"{self.cte_name}_{scope_index}_{which}") for which in ("one", "two"))
        requested = _requested_offsets(scope_index, scope)
        per_side = bindparam("beside", type_=BigInteger)
        is_requested = and_(
            *(requested_row.c[name] == requested.c[name] for name in (*partition_columns, *order_columns))
        )
        is_near = near_row.c.place.between(requested_row.c.place - per_side, requested_row.c.place + per_side)
        is_neighbor = and_(*(near_row.c[name] == requested_row.c[name] for name in partition_columns), is_near)
        return (
            select(near_row.c.id)
            .select_from(requested.join(requested_row, is_requested).join(near_row, is_neighbor))
            .distinct()
        )


def _parameter_names(scope_index: int, scope: OffsetScope) -> list[str]:
    """Return the parameters of the form at `scope_index`, arrays in the order in which `bind_offsets` fills them."""
    return [f"beside_{scope_index}_{name}" for name in ("document", "start", *_scope_columns(scope))]


def _scope_columns(scope: OffsetScope) -> list[str]:
    """Return the names of the parameters after document and offset: the page, or one for each key of the part."""
    return [f"part_{n}" for n in range(len(scope.section_keys))] if scope.page_key is None else ["page"]


def _requested_offsets(scope_index: int, scope: OffsetScope) -> Any:
    """Return the table `requested`, with a row for each requested offset."""
    names = ["document", "start", *_scope_columns(scope)]
    arrays = [
        cast(bindparam(parameter), ARRAY(BigInteger if name in ("start", "page") else Text))
        for parameter, name in zip(_parameter_names(scope_index, scope), names, strict=True)
    ]
    return func.unnest(*arrays).table_valued(*names).render_derived(name=f"asked_{scope_index}")


def _integer_expr(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return the integer that a text holds, else NULL: a plain cast of other text would fail the statement."""
    return case((text.regexp_match(INTEGER_PATTERN), cast(cast(text, Numeric), BigInteger)))


MAX_CACHED_TABLES = 256
"""Most tables remembered: one for each vector store and shape of filter. For PGVector, for each value of a filter."""


@dataclass(frozen=True, kw_only=True)
class PostgresStore:
    """The settings that stores of neighbors over Postgres share, in either framework."""

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
        """True with a filter of its own, else None: the caller's filter is unknown."""
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
    has_integer_index: bool = False
    """True if indexes are a column of integers: then consecutive ones are asked for as one range."""
    fallback_columns: tuple[ColumnElement[Any], ColumnElement[Any]] | None = None
    """Document and index of rows that keep them under other names. No index of the table serves these, so they are read
    only for documents that the first names don't have."""
    text_of: Callable[[str], ColumnElement[Any]] | None = None
    """A function from a key of the metadata to its value as text. Needed to ask by offset."""
    start: ColumnElement[Any] | None = None
    """The offset as text. Needed to ask by offset, too."""
    _statements: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def statement_for(self, refs: Sequence[ChunkRef]) -> BoundStatement:
        """Return the statement for `refs` and its bound values. `refs` is not empty and passed `keep_storable`."""
        ids = [ref.chunk_id for ref in refs if ref.chunk_id is not None]
        documents = [
            ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None and ref.around_offset is None
        ]
        positions = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
        bound: dict[str, Any] = {}
        if positions:
            parameters = _merge_ranges(positions) if self.has_integer_index else _spell_positions(positions)
            bound |= zip(
                RANGE_PARAMETERS if self.has_integer_index else POSITION_PARAMETERS,
                map(list, zip(*parameters, strict=True)),
                strict=True,
            )
        if ids:
            bound["ids"] = ids
        if documents:
            bound["documents"] = documents
        scopes, values = bind_offsets(refs)
        bound |= values
        kinds = (bool(positions), bool(ids), bool(documents), scopes)
        if kinds not in self._statements:
            self._statements[kinds] = self._statement(*kinds)
        return self._statements[kinds], bound

    def _statement(
        self, has_positions: bool, has_ids: bool, has_documents: bool, scopes: tuple[OffsetScope, ...]
    ) -> Select[Any] | CompoundSelect[Any]:
        parts = [
            self.rows.where(self.id.in_(ids))
            for at, form in enumerate(scopes)
            for ids in self._neighbor_selects(at, form)
        ]
        if has_positions:
            names, of = (RANGE_PARAMETERS, BigInteger) if self.has_integer_index else (POSITION_PARAMETERS, Text)
            parts.append(self._select_positions(_unnest_parameters(names, of), self.document_id, self.index))
            if self.fallback_columns:
                unmatched = self._select_unmatched(_unnest_parameters(names, of), self.index).cte("places_left")
                parts.append(self._select_positions(unmatched, *self.fallback_columns).where(_has_rows(unmatched)))
        if has_ids:
            # Bound with the type of the column, which may be uuid.
            parts.append(self.rows.where(self.id == func.any(bindparam("ids", type_=NULLTYPE))))
        if has_documents:
            parts.append(self.rows.where(self.document_id == any_(text_array("documents"))))
            if self.fallback_columns:
                unmatched = self._unmatched_documents("documents")
                has_fallback_document = self.fallback_columns[0].in_(select(unmatched.c[POSITION_PARAMETERS[0]]))
                parts.append(self.rows.where(has_fallback_document, _has_rows(unmatched)))
        # A union, since Postgres uses no index for an OR of different columns.
        return union_all(*parts) if len(parts) > 1 else parts[0]

    def _neighbor_selects(self, scope_index: int, scope: OffsetScope) -> Iterator[Select[Any]]:
        """Statements for the ids of the chunks next to the offsets of the form at index `scope_index`."""
        if self.text_of is None or self.start is None:
            return
        query = OffsetQuery(self.id, self.document_id, self.start, self.text_of, self.rows)
        yield query.neighbor_ids(scope_index, scope)
        if self.fallback_columns:
            unmatched = self._unmatched_documents(query.documents_parameter(scope_index, scope))
            unnamed = self.rows.where(self.document_id.is_(None), _has_rows(unmatched))
            yield replace(query, document_id=self.fallback_columns[0], rows=unnamed, cte_name="others").neighbor_ids(
                scope_index, scope
            )

    def _unmatched_documents(self, parameter: str) -> Any:
        """Return the documents in `parameter` that no row has under the first name."""
        asked = func.unnest(text_array(parameter)).table_valued(POSITION_PARAMETERS[0]).render_derived(name="asked")
        return self._select_unmatched(asked, self.document_id).cte(f"{parameter}_left")

    def _select_positions(
        self, requested: Any, document_id: ColumnElement[Any], index: ColumnElement[Any]
    ) -> Select[Any]:
        """Return the rows at the places in the table `requested`."""
        if not self.has_integer_index:
            return self.rows.where(
                tuple_(document_id, index).in_(select(*(requested.c[name] for name in POSITION_PARAMETERS)))
            )
        document, low, high = (requested.c[name] for name in RANGE_PARAMETERS)
        return self.rows.where(document_id == document, index.between(low, high))

    def _select_unmatched(self, requested: Any, present: ColumnElement[Any]) -> Select[Any]:
        """Return the rows of `requested` whose document is in no row that has a value in `present`."""
        matching = self.rows.with_only_columns(literal(1)).where(
            self.document_id == requested.c[POSITION_PARAMETERS[0]], present.is_not(None)
        )
        return select(requested).where(~matching.exists())


def _has_rows(table: Any) -> ColumnElement[bool]:
    """Return a condition that the table has rows. With a count, Postgres evaluates it first and can skip the rest."""
    return select(func.count()).select_from(table).scalar_subquery() > 0


POSITION_PARAMETERS = ("in_document", "at_index")
RANGE_PARAMETERS = ("in_document", "from_index", "to_index")
"""Names of the parameters for places, arrays of equal length."""


def _unnest_parameters(names: Sequence[str], of: type[Text | BigInteger]) -> Any:
    """Return the table `requested` with a row for each place; its first column is text."""
    arrays = [text_array(names[0]), *(cast(bindparam(name), ARRAY(of)) for name in names[1:])]
    return func.unnest(*arrays).table_valued(*names).render_derived(name="asked")


def _spell_positions(positions: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """Return the places in each spelling of the index, since JSON keeps a number as it was written: 7 or 7.0."""
    return [(document, form) for document, index in dict.fromkeys(positions) for form in (f"{index}", f"{index}.0")]


def _merge_ranges(positions: Sequence[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Return the places as ranges (document, first index, last index), merged where they touch."""
    found: list[tuple[str, int, int]] = []
    for document, index in sorted(set(positions)):
        if found and found[-1][0] == document and found[-1][2] == index - 1:
            found[-1] = (document, found[-1][1], index)
        else:
            found.append((document, index, index))
    return found


_REF_TYPES: Sequence[tuple[str, Any, str]] = (
    ("document_id", str, "a text"),
    ("index", (SupportsIndex, type(None)), "an integer or None"),
    ("chunk_id", (str, type(None)), "a text or None"),
)


def keep_storable(refs: Sequence[ChunkRef]) -> list[ChunkRef]:
    """Return the `refs` whose values Postgres can hold. A single other one would fail the whole statement.

    Raises:
        InputError: a value has another type.
    """
    for ref in refs:
        if not isinstance(ref, ChunkRef):
            raise InputError(f"refs must be of ChunkRef, got {safe_repr(ref)}")
        for name, kinds, allowed in _REF_TYPES:
            if not isinstance(given := getattr(ref, name), kinds):
                raise InputError(f"{name} of a reference must be {allowed}, got {safe_repr(given)}")
    return [
        ref
        for ref in refs
        if all(map(is_storable, (ref.document_id, ref.chunk_id or "")))
        and (ref.index is None or abs(ref.index) < 2**63)
    ]


def text_array(name: str) -> ColumnElement[Any]:
    """Return the parameter `cte_name`, an array of text."""
    return cast(bindparam(name), ARRAY(Text))


_cached_tables: dict[Hashable, ChunkTable] = {}


def cached_table(key: Hashable, make: Callable[[], ChunkTable]) -> ChunkTable:
    """Return the cached table for `key` with its statements, or make one. `MAX_CACHED_TABLES` are kept."""
    table = _cached_tables.pop(key, None) or make()
    _cached_tables[key] = table  # moved to the end: the one used longest ago goes first
    while len(_cached_tables) > MAX_CACHED_TABLES:
        _cached_tables.pop(next(iter(_cached_tables)), None)
    return table


def json_text(column: ColumnElement[Any], key: str) -> ColumnElement[str]:
    """Return the text under `key`, which may be a dotted path, in a JSON column.

    Keys are written as literals, quoted by the dialect: Postgres uses an index on the expression only then.
    """
    *parents, last = key.split(".")
    for step in parents:
        column = column.op("->")(literal(step, literal_execute=True))
    return type_coerce(column, Text).op("->>", return_type=Text())(literal(last, literal_execute=True))
