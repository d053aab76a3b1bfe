"""A filter as an SQL condition in which every key and every value is bound.

A row without the key passes no condition but `{"$exists": False}`, as in SQL; True is not 1. Nothing is ignored: what
can't be read is an error, since filters keep tenants apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Date,
    DateTime,
    Text,
    Time,
    and_,
    any_,
    bindparam,
    case,
    cast,
    func,
    not_,
    or_,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from ctxassembly.data.filters import Comparison, FilterGroup, parse_filter
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.llamaindex_filters import build_llamaindex_condition
from ctxassembly.stores.postgres.table import IndexedTable
from ctxassembly.wording.unicode import is_storable

Condition = ColumnElement[bool]

_TEXT_TYPES = frozenset({"text", "character varying", "character", "name"})
_INTEGER_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
"""Column types that compare with a value of their own type by themselves, so that an index on them serves."""
_DATE_TYPES: Mapping[str, type] = {
    "date": date,
    "timestamp without time zone": datetime,
    "time without time zone": time,
}

_LIST_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(_INTEGER_BITS, BigInteger),
    "date": Date,
    "timestamp without time zone": DateTime,
    "time without time zone": Time,
}
"""The types of lists that columns compare with; a list of texts for any other. A list is one parameter."""


def build_condition(table: IndexedTable, *filters: Any) -> Condition | None:
    """Return the condition that rows of `table` pass all `filters`; None if they exclude nothing.

    A mapping has metadata keys (dotted paths too), each with a value or with operators ($eq $ne $gt $gte $lt $lte $in
    $nin $exists $between $like $ilike), or $and, $or and $not. A table of LlamaIndex's takes its MetadataFilters, too.

    Raises:
        ConfigError: a filter has another form.
    """
    conditions = [_translate_filter(table, given) for given in filters if given is not None]
    restricting = [condition for condition in conditions if condition is not None]
    return and_(*restricting) if restricting else None


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
        return and_(*map(not_, members))
    return (or_ if condition.operator == "$or" else and_)(*members)


class _KeyCheck:
    """One operator on the value under one key."""

    def __init__(self, table: IndexedTable, condition: Comparison, *, negated: bool) -> None:
        self.table, self.key = table, condition.key
        if not is_storable(self.key):
            raise ConfigError("filter", "made of keys without NUL", self.key)
        self.parameter = f"filter[{self.key!r}][{condition.operator!r}]"
        self.can_use_gin = "." not in self.key and table.is_jsonb and self.key not in table.columns and not negated
        """True if an index on the metadata as a whole may serve."""
        self.type = table.columns.get(self.key)
        self.column: Any = table.c[self.key] if self.type else None

    @property
    def json(self) -> ColumnElement[Any]:
        """The value there, as JSONB."""
        if self.column is not None:
            return func.to_jsonb(self.column, type_=JSONB)
        return _get_path(self.table, self.key)

    @property
    def text(self) -> ColumnElement[Any]:
        """The value there, as a text if it is one."""
        if self.type in _TEXT_TYPES:
            return cast(self.column, Text)
        return self.json.op("#>>", return_type=Text())(cast(bindparam(None, "{}", Text), ARRAY(Text)))

    def is_column_type(self, value: Any) -> bool:
        """Return True if the column can be compared with `value` directly, using its index."""
        if self.type in _INTEGER_BITS:
            return type(value) is int and abs(value) < 2 ** _INTEGER_BITS[self.type]
        return type(value) is str if self.type in _TEXT_TYPES else type(value) is _DATE_TYPES.get(self.type or "")

    def bind_json(self, value: Any) -> ColumnElement[Any]:
        """Bind a value as JSONB."""
        return cast(bindparam(None, self.as_json(value), Text), JSONB)

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
        if "\\u0000" in written or not is_storable(written):
            raise ConfigError(self.parameter, "a value without NUL and halves of surrogate pairs", value)
        return written


def _get_path(table: IndexedTable, key: str) -> ColumnElement[Any]:
    """Return the value under the literal key, or else along the path that the key spells."""
    paths = [[key]]
    steps = key.split(".")
    paths += [[*steps[:at], ".".join(steps[at:])] for at in range(1, len(steps))]
    found = [table.json(*path) for path in paths]
    column = table.columns.get(steps[0]) if len(steps) > 1 else None
    if column in ("jsonb", "json"):
        inner: ColumnElement[Any] = func.to_jsonb(table.c[steps[0]], type_=JSONB)
        for step in steps[1:]:
            inner = inner.op("->", return_type=JSONB())(bindparam(None, step, Text))
        found.insert(0, inner)
    return func.coalesce(*found, type_=JSONB()) if len(found) > 1 else found[0]


def _equal(check: _KeyCheck, operand: Any) -> Condition:
    if check.is_column_type(operand):
        return _bind_storable(check, operand, lambda value: check.column == value)
    same = check.json == check.bind_json(operand)
    if check.can_use_gin and not isinstance(operand, (list, tuple)):
        # Says the same once more, in the form that a GIN index on the metadata serves. It is false where the key is
        # missing, not NULL, so under NOT it would let such a row pass.
        whole = json.dumps({check.key: None})[: -len("null}")] + check.as_json(operand) + "}"
        return and_(check.table.json().contains(cast(bindparam(None, whole, Text), JSONB)), same)
    return same


def _unequal(check: _KeyCheck, operand: Any) -> Condition:
    if check.is_column_type(operand):
        return _bind_storable(check, operand, lambda value: check.column != value)
    return check.json != check.bind_json(operand)


def _compare_by(name: str) -> Callable[[_KeyCheck, Any], Condition]:
    def compare(check: _KeyCheck, operand: Any) -> Condition:
        if check.is_column_type(operand) and not isinstance(operand, str):
            compared: Condition = check.column.op(name, is_comparison=True)(operand)
            return compared
        if isinstance(operand, str):
            # By code points, as Python compares, whatever the database's own order is.
            is_text = func.jsonb_typeof(check.json) == "string"
            value = _bind_storable(check, operand, lambda value: bindparam(None, value, Text))
            return and_(is_text, check.text.collate("C").op(name, is_comparison=True)(value))
        if not isinstance(operand, (int, float, Decimal)):
            raise ConfigError(check.parameter, "a number or a string", operand)
        is_number = func.jsonb_typeof(check.json) == "number"
        return and_(is_number, check.json.op(name, is_comparison=True)(check.bind_json(operand)))

    return compare


def _in_list(check: _KeyCheck, operand: Any) -> Condition:
    values = list(operand)
    if values and all(map(check.is_column_type, values)):
        kind = ARRAY(_LIST_TYPES.get(check.type or "", Text))
        return _bind_storable(
            check, values, lambda listed: check.column == any_(cast(bindparam(None, listed, kind), kind))
        )
    return _null_if_missing(check, lambda found: found == any_(_json_array(check, values)))


def _not_in_list(check: _KeyCheck, operand: Any) -> Condition:
    return _null_if_missing(check, lambda found: not_(found == any_(_json_array(check, list(operand)))))


def _null_if_missing(check: _KeyCheck, test: Callable[[Any], Condition]) -> Condition:
    """Apply the test to the value; the result is NULL if there is no value, even compared with an empty list."""
    found = check.json
    return case((found.is_not(None), test(found)))


def _exists(check: _KeyCheck, operand: Any) -> Condition:
    found = check.json if check.column is None else check.column
    return found.is_not(None) if operand else found.is_(None)


def _between(check: _KeyCheck, operand: Any) -> Condition:
    return and_(_compare_by(">=")(check, operand[0]), _compare_by("<=")(check, operand[1]))


def _like(name: str) -> Callable[[_KeyCheck, Any], Condition]:
    def compare(check: _KeyCheck, operand: Any) -> Condition:
        is_text = func.jsonb_typeof(check.json) == "string"
        pattern = _bind_storable(check, operand, lambda value: bindparam(None, value, Text))
        return and_(is_text, check.text.op(name, is_comparison=True)(pattern))

    return compare


def _json_array(check: _KeyCheck, values: list[Any]) -> ColumnElement[Any]:
    written = [check.as_json(value) for value in values]
    return cast(bindparam(None, written, ARRAY(Text)), ARRAY(JSONB))


def _bind_storable(check: _KeyCheck, value: Any, build: Callable[[Any], ColumnElement[Any]]) -> ColumnElement[Any]:
    """Return `build(value)` after checking that PostgreSQL can store the value."""
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, str) and not is_storable(member):
            raise ConfigError(check.parameter, "a value without NUL and halves of surrogate pairs", member)
    return build(value)


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
