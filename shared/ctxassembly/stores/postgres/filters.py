"""A filter as an SQL condition in which every key and every value is bound.

A row without the key passes no condition but `{"$exists": False}`, as in SQL; True is not 1. Nothing is ignored: what
can't be read is an error, since filters keep tenants apart. `index.py` adds the condition to each of its statements.

A table of LlamaIndex's takes its MetadataFilters, too. Their condition lets through what PGVectorStore's own lets
through, or less: a row without the key never passes, and where that condition would fail (text in a place where a
number is asked for) the row doesn't pass either. They are read by their attributes, so LlamaIndex isn't imported.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from ctxassembly.data.filters import Comparison, FilterGroup, check_size, parse_filter
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.table import IndexedTable
from ctxassembly.wording.unicode import is_storable, is_storable_json

Condition = sa.ColumnElement[bool]

_TEXT_TYPES = frozenset({"text", "character varying", "character", "name"})
_INTEGER_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
"""Column types that compare with a value of their own type by themselves, so that an index on them serves."""
_DATE_TYPES: Mapping[str, tuple[type, Any]] = {
    "date": (date, sa.Date),
    "timestamp without time zone": (datetime, sa.DateTime),
    "time without time zone": (time, sa.Time),
}
"""The same for points in time, with their types in Python and in SQLAlchemy."""


def build_condition(table: IndexedTable, *filters: Any) -> Condition | None:
    """Return the condition that rows of `table` pass all `filters`; None if they exclude nothing.

    A mapping has metadata keys (dotted paths too), each with a value or with operators ($eq $ne $gt $gte $lt $lte $in
    $nin $exists $between $like $ilike), or $and, $or and $not. A table of LlamaIndex's takes its MetadataFilters, too.

    Raises:
        ConfigError: a filter has another form.
    """
    conditions = [_translate_filter(table, given) for given in filters if given is not None]
    restricting = [condition for condition in conditions if condition is not None]
    return sa.and_(*restricting) if restricting else None


def _translate_filter(table: IndexedTable, filter_: Any) -> Condition | None:
    if table.dialect == "llamaindex" and not isinstance(filter_, Mapping):
        return build_llamaindex_condition(filter_, table.json())
    group = parse_filter(filter_)
    return _translate_condition(table, group, negated=False) if group.members else None


def _translate_condition(table: IndexedTable, condition: Comparison | FilterGroup, *, negated: bool) -> Condition:
    if isinstance(condition, Comparison):
        check = _KeyCheck(table, condition, negated=negated)
        return _CONDITION_BUILDERS[condition.operator](check, condition.operand)
    negated = negated or condition.operator == "$not"
    members = [_translate_condition(table, member, negated=negated) for member in condition.members]
    if condition.operator == "$not":
        return sa.and_(*map(sa.not_, members))
    return (sa.or_ if condition.operator == "$or" else sa.and_)(*members)


class _KeyCheck:
    """One operator on the value under one key."""

    def __init__(self, table: IndexedTable, condition: Comparison, *, negated: bool) -> None:
        self.table, self.key = table, condition.key
        if not is_storable(self.key):
            raise ConfigError("filter", "made of keys without NUL", self.key)
        self.parameter = f"filter[{self.key!r}][{condition.operator!r}]"
        self.can_use_gin = "." not in self.key and table.is_jsonb and self.key not in table.columns and not negated
        """True if an index on the metadata as a whole may serve."""
        self.type = table.columns.get(self.key, "")
        self.column: Any = table.c[self.key] if self.type else None

    @property
    def json(self) -> sa.ColumnElement[Any]:
        """The value there, as JSONB."""
        return _get_path(self.table, self.key) if self.column is None else sa.func.to_jsonb(self.column, type_=JSONB)

    @property
    def text(self) -> sa.ColumnElement[Any]:
        """The value there, as a text if it is one."""
        if self.type in _TEXT_TYPES:
            return sa.cast(self.column, sa.Text)
        return self.json.op("#>>", return_type=sa.Text())(sa.cast(sa.bindparam(None, "{}", sa.Text), ARRAY(sa.Text)))

    def is_column_type(self, value: Any) -> bool:
        """Return True if the column can be compared with `value` directly, using its index."""
        if self.type in _INTEGER_BITS:
            return type(value) is int and abs(value) < 2 ** _INTEGER_BITS[self.type]
        return type(value) is (str if self.type in _TEXT_TYPES else _DATE_TYPES.get(self.type, (None,))[0])

    def checked(self, value: Any) -> Any:
        """Return `value`, which PostgreSQL can store if it is a text."""
        if isinstance(value, str) and not is_storable(value):
            raise ConfigError(self.parameter, "a value without NUL and halves of surrogate pairs", value)
        return value

    def bind_text(self, value: str) -> sa.ColumnElement[Any]:
        """Bind a text."""
        return sa.bindparam(None, self.checked(value), sa.Text)

    def bind_json(self, value: Any) -> sa.ColumnElement[Any]:
        """Bind a value as JSONB."""
        return sa.cast(sa.bindparam(None, self.as_json(value), sa.Text), JSONB)

    def bind_json_list(self, values: Any) -> sa.ColumnElement[Any]:
        """Bind a list of values as an array of JSONB."""
        return sa.cast(sa.bindparam(None, list(map(self.as_json, values)), ARRAY(sa.Text)), ARRAY(JSONB))

    def as_json(self, value: Any) -> str:
        """Return a value as JSON text."""
        if isinstance(value, Decimal):
            value = int(value) if value == value.to_integral_value() else float(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(self.parameter, "a finite number", value)
        if value is None or not isinstance(value, (str, int, float, bool, list, tuple)):
            raise ConfigError(self.parameter, "a string, a number or a boolean", value)
        try:
            written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(self.parameter, "a value that JSON can hold", value) from error
        if not is_storable_json(written):
            raise ConfigError(self.parameter, "a value without NUL and halves of surrogate pairs", value)
        return written


def _get_path(table: IndexedTable, key: str) -> sa.ColumnElement[Any]:
    """Return the value under the literal key, or else along the path that the key spells."""
    paths = [[key]]
    steps = key.split(".")
    paths += [[*steps[:at], ".".join(steps[at:])] for at in range(1, len(steps))]
    found = [table.json(*path) for path in paths]
    column = table.columns.get(steps[0]) if len(steps) > 1 else None
    if column in ("jsonb", "json"):
        inner: sa.ColumnElement[Any] = sa.func.to_jsonb(table.c[steps[0]], type_=JSONB)
        for step in steps[1:]:
            inner = inner.op("->", return_type=JSONB())(sa.bindparam(None, step, sa.Text))
        found.insert(0, inner)
    return sa.func.coalesce(*found, type_=JSONB()) if len(found) > 1 else found[0]


def _equal(check: _KeyCheck, operand: Any) -> Any:
    if check.is_column_type(operand):
        return check.column == check.checked(operand)
    same = check.json == check.bind_json(operand)
    if check.can_use_gin and not isinstance(operand, (list, tuple)):
        # Says the same once more, in the form that a GIN index on the metadata serves. It is false where the key is
        # missing, not NULL, so under NOT it would let such a row pass.
        whole = json.dumps({check.key: None})[: -len("null}")] + check.as_json(operand) + "}"
        return sa.and_(check.table.json().contains(sa.cast(sa.bindparam(None, whole, sa.Text), JSONB)), same)
    return same


def _unequal(check: _KeyCheck, operand: Any) -> Any:
    if check.is_column_type(operand):
        return check.column != check.checked(operand)
    return check.json != check.bind_json(operand)


def _compare_by(name: str) -> Callable[[_KeyCheck, Any], Condition]:
    def compare(check: _KeyCheck, operand: Any) -> Any:
        if isinstance(operand, str):
            # By code points, as Python compares, whatever the database's own order is.
            is_text = sa.func.jsonb_typeof(check.json) == "string"
            return sa.and_(is_text, check.text.collate("C").op(name, is_comparison=True)(check.bind_text(operand)))
        if check.is_column_type(operand):
            return check.column.op(name, is_comparison=True)(operand)
        if not isinstance(operand, (int, float, Decimal)):
            raise ConfigError(check.parameter, "a number or a string", operand)
        is_number = sa.func.jsonb_typeof(check.json) == "number"
        return sa.and_(is_number, check.json.op(name, is_comparison=True)(check.bind_json(operand)))

    return compare


def _in_list(check: _KeyCheck, operand: Any) -> Any:
    values = list(operand)
    if values and all(map(check.is_column_type, values)):
        integer_or_text = sa.BigInteger if check.type in _INTEGER_BITS else sa.Text
        kind = ARRAY(_DATE_TYPES.get(check.type, (None, integer_or_text))[1])
        return check.column == sa.any_(sa.cast(sa.bindparam(None, list(map(check.checked, values)), kind), kind))
    return _null_if_missing(check, lambda found: found == sa.any_(check.bind_json_list(values)))


def _not_in_list(check: _KeyCheck, operand: Any) -> Condition:
    return _null_if_missing(check, lambda found: sa.not_(found == sa.any_(check.bind_json_list(operand))))


def _null_if_missing(check: _KeyCheck, test: Callable[[Any], Condition]) -> Condition:
    """Apply the test to the value; the result is NULL if there is no value, even compared with an empty list."""
    found = check.json
    return sa.case((found.is_not(None), test(found)))


def _exists(check: _KeyCheck, operand: Any) -> Condition:
    found = check.json if check.column is None else check.column
    return found.is_not(None) if operand else found.is_(None)


def _between(check: _KeyCheck, operand: Any) -> Condition:
    return sa.and_(_compare_by(">=")(check, operand[0]), _compare_by("<=")(check, operand[1]))


def _like(name: str) -> Callable[[_KeyCheck, Any], Condition]:
    def compare(check: _KeyCheck, operand: Any) -> Condition:
        is_text = sa.func.jsonb_typeof(check.json) == "string"
        return sa.and_(is_text, check.text.op(name, is_comparison=True)(check.bind_text(operand)))

    return compare


_CONDITION_BUILDERS: Mapping[str, Callable[[_KeyCheck, Any], Condition]] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$gt": _compare_by(">"),
    "$gte": _compare_by(">="),
    "$lt": _compare_by("<"),
    "$lte": _compare_by("<="),
    "$in": _in_list,
    "$nin": _not_in_list,
    "$exists": _exists,
    "$between": _between,
    "$like": _like("LIKE"),
    "$ilike": _like("ILIKE"),
}

_NUMERIC_PATTERN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""Texts that PostgreSQL takes as `numeric`; a cast of anything else would fail the whole statement."""


def build_llamaindex_condition(filters: Any, metadata: sa.ColumnElement[Any]) -> Condition | None:
    """Return the condition of LlamaIndex's `filters` on the JSON column `metadata`; None if they are empty.

    An empty group is ignored, so that it neither opens an OR nor closes an AND.

    Raises:
        ConfigError: they are too large, or an operator, a condition or a value's type has no translation.
    """
    if filters is None:
        return None
    check_size(filters)
    return _translate_group(filters, metadata)


def _translate_group(filters: Any, metadata: sa.ColumnElement[Any]) -> Condition | None:
    if not isinstance(getattr(filters, "filters", None), (list, tuple)):
        raise ConfigError("filter", "MetadataFilters or a mapping of metadata keys to values or operators", filters)
    translated = [
        _translate_group(part, metadata) if hasattr(part, "filters") else _translate_comparison(part, metadata)
        for part in filters.filters
    ]
    clauses = [clause for clause in translated if clause is not None]
    name = _enum_value(getattr(filters, "condition", None))
    if name not in ("and", "or", "not", "none"):
        raise ConfigError("filter.condition", "AND, OR or NOT", filters.condition)
    if not clauses:
        return None
    joined = (sa.or_ if name in ("or", "not") else sa.and_)(*clauses)
    return sa.not_(joined) if name == "not" else joined


def _enum_value(name: Any) -> str:
    """Return the name of an operator or a condition."""
    return str(getattr(name, "value", name)).lower()


def _translate_comparison(condition: Any, metadata: sa.ColumnElement[Any]) -> Condition:
    key: Any
    key, value, given = (getattr(condition, name, None) for name in ("key", "value", "operator"))
    if not isinstance(key, str) or not is_storable(key):
        raise ConfigError("filter", "made of keys without NUL", key)
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, str) and not is_storable(member):
            raise ConfigError(f"filter on {key!r}", "values without NUL and halves of surrogate pairs", member)
    name, operator_name = _enum_value(given), str(getattr(given, "name", given))
    text = metadata.op("->>", return_type=sa.Text())(sa.literal(key, sa.Text))
    if name == "is_empty":
        return text.is_(None)
    if name not in _LLAMAINDEX_OPERATORS:
        raise ConfigError(f"filter on {key!r}", f"one of {_OPERATOR_NAMES} for a PGVectorStore", operator_name)
    (types, allowed), build = _LLAMAINDEX_OPERATORS[name]
    if value is None or isinstance(value, list) != (types is list) or not isinstance(value, types):
        raise ConfigError(f"filter on {key!r}", f"{allowed} for {operator_name}", value)
    return build(text, sa.cast(metadata, JSONB)[key], value)


def _compare_value(compare: Callable[[Any, Any], Condition]) -> Callable[[Any, Any, Any], Condition]:
    def build(text: Any, _: Any, value: Any) -> Condition:
        # PGVectorStore compares as numbers whatever reads as one. Two texts that are equal are so either way, and
        # "007" is not "7" to whoever asks for a tenant by name.
        number = _as_decimal(value)
        if number is None or (compare is operator.eq and isinstance(value, str)):
            return compare(text, sa.literal(str(value), sa.Text))
        as_number = sa.case((text.regexp_match(_NUMERIC_PATTERN), sa.cast(text, sa.Numeric)))
        return compare(as_number, sa.literal(number, sa.Numeric))

    return build


def _as_decimal(value: Any) -> Decimal | None:
    """Return the number that `value` represents; None if it is not numeric."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _texts(values: list[Any]) -> sa.ColumnElement[Any]:
    return sa.literal(list(map(str, values)), ARRAY(sa.Text))


def _text_match(like: str, normalize: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Condition]:
    """Return the condition that the text contains a value, literally and as PGVectorStore's pattern."""

    def build(text: Any, found: Any, value: Any) -> Condition:
        contains = sa.func.strpos(normalize(text), normalize(sa.literal(value, sa.Text))) > 0
        is_text = sa.func.jsonb_typeof(found) == "string"
        return sa.and_(is_text, contains, text.op(like)(sa.literal(f"%{value}%", sa.Text)))

    return build


_VALUE: tuple[Any, str] = (object, "a string or a number")
_LIST: tuple[Any, str] = (list, "a list")
_STRING: tuple[Any, str] = (str, "a string")
_LLAMAINDEX_OPERATORS: Mapping[str, tuple[tuple[Any, str], Callable[[Any, Any, Any], Condition]]] = {
    "==": (_VALUE, _compare_value(operator.eq)),
    "!=": (_VALUE, _compare_value(operator.ne)),
    ">": (_VALUE, _compare_value(operator.gt)),
    ">=": (_VALUE, _compare_value(operator.ge)),
    "<": (_VALUE, _compare_value(operator.lt)),
    "<=": (_VALUE, _compare_value(operator.le)),
    # An empty list compares with nothing: a missing value has to give NULL, or it would pass under NOT.
    "in": (_LIST, lambda text, _, values: text == sa.any_(_texts(values)) if values else text != text),  # noqa: PLR0124
    "nin": (_LIST, lambda text, _, values: text != sa.all_(_texts(values)) if values else text == text),  # noqa: PLR0124
    "any": (_LIST, lambda _, found, values: found.has_any(_texts(values))),
    "all": (_LIST, lambda _, found, values: found.has_all(_texts(values))),
    # A list that has it; a text that does is for TEXT_MATCH.
    "contains": (
        _STRING,
        lambda _, found, value: found.contains(sa.func.jsonb_build_array(sa.literal(value, sa.Text))),
    ),
    "text_match": (_STRING, _text_match("LIKE", lambda text: text)),
    "text_match_insensitive": (_STRING, _text_match("ILIKE", sa.func.lower)),
}
"""For each operator the value that it compares with, and its condition on a row's value as text and as JSON."""
_OPERATOR_NAMES = "EQ, NE, GT, GTE, LT, LTE, IN, NIN, ANY, ALL, CONTAINS, TEXT_MATCH, TEXT_MATCH_INSENSITIVE, IS_EMPTY"
