"""MetadataFilters as an SQL condition in which every key and value is bound.

It lets through what PGVectorStore's own condition lets through, or less: a row without the key never passes, and where
that condition would fail (text in a place where a number is asked for) the row doesn't pass either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from sqlalchemy import ColumnElement, Numeric, Text, all_, and_, any_, case, cast, func, literal, or_, true
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.stores.filters import conditions

Metadata = ColumnElement[Any]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""Texts that PostgreSQL takes as `numeric`; a cast of anything else would fail the whole statement."""


def where(filters: MetadataFilters | None, metadata: Metadata) -> ColumnElement[bool]:
    """The SQL condition for `filters` on the JSON column `metadata`; true if they hold no condition.

    Raises:
        ConfigError: an operator, a condition or a value's type has no translation.
    """
    kept = conditions(filters)
    return true() if kept is None else _group(kept, metadata)


def text_at(metadata: Metadata, key: str) -> ColumnElement[Any]:
    """The value under `key` as text; SQL's NULL if there is none."""
    return metadata.op("->>")(literal(key, Text))


def _group(filters: MetadataFilters, metadata: Metadata) -> ColumnElement[bool]:
    clauses = [
        _group(inner, metadata) if isinstance(inner, MetadataFilters) else _clause(inner, metadata)
        for inner in filters.filters
    ]
    if filters.condition is FilterCondition.OR:
        return or_(*clauses)
    if filters.condition in (FilterCondition.AND, None):
        return and_(*clauses)
    raise ConfigError("filter.condition", "AND or OR for a PGVectorStore", filters.condition)


def _clause(condition: MetadataFilter, metadata: Metadata) -> ColumnElement[bool]:
    operator, value = condition.operator, condition.value
    text = text_at(metadata, condition.key)
    if operator is FilterOperator.IS_EMPTY:
        return text.is_(None)
    if operator in _OF_MANY and isinstance(value, list):
        return _OF_MANY[operator](text, cast(metadata, JSONB)[condition.key], [str(member) for member in value])
    if operator in _OF_TEXT:
        if not isinstance(value, str):
            raise ConfigError(f"filter on {condition.key!r}", f"a string for {operator.name}", value)
        return _OF_TEXT[operator](text, cast(metadata, JSONB)[condition.key], value)
    if operator not in _OF_ONE:
        known = ", ".join(known.name for known in (*_OF_ONE, *_OF_MANY, *_OF_TEXT, FilterOperator.IS_EMPTY))
        raise ConfigError(f"filter on {condition.key!r}", f"one of {known} for a PGVectorStore", operator.name)
    if value is None or isinstance(value, list):
        raise ConfigError(f"filter on {condition.key!r}", f"a string or a number for {operator.name}", value)
    compare = _OF_ONE[operator]
    # PGVectorStore compares as numbers whatever reads as one. Two texts that are equal are so either way, and
    # "007" is not "7" to whoever asks for a tenant by name.
    number = _number(value)
    if number is None or (operator is FilterOperator.EQ and isinstance(value, str)):
        return compare(text, literal(str(value), Text))
    return compare(case((text.regexp_match(_NUMBER), cast(text, Numeric))), literal(number, Numeric))


def _number(value: str | float) -> Decimal | None:
    """The number that `value` reads as; None if it is none, or not a finite one."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_OF_ONE: Mapping[FilterOperator, Callable[[Any, Any], ColumnElement[bool]]] = {
    FilterOperator.EQ: lambda found, value: found == value,
    FilterOperator.NE: lambda found, value: found != value,
    FilterOperator.GT: lambda found, value: found > value,
    FilterOperator.GTE: lambda found, value: found >= value,
    FilterOperator.LT: lambda found, value: found < value,
    FilterOperator.LTE: lambda found, value: found <= value,
}

_OF_MANY: Mapping[FilterOperator, Callable[[Any, Any, list[str]], ColumnElement[bool]]] = {
    FilterOperator.IN: lambda text, _, values: text == any_(literal(values, ARRAY(Text))),
    # NULL would pass where there is nothing to differ from.
    FilterOperator.NIN: lambda text, _, values: and_(text.is_not(None), text != all_(literal(values, ARRAY(Text)))),
    FilterOperator.ANY: lambda _, found, values: found.has_any(literal(values, ARRAY(Text))),
    FilterOperator.ALL: lambda _, found, values: found.has_all(literal(values, ARRAY(Text))),
}
"""Comparisons of a row's value, given as text and as JSON, with a list."""


def _has_text(text: Any, found: Any, value: str, like: str) -> ColumnElement[bool]:
    """True in SQL if a text holds `value` both as it is and as a pattern, which PGVectorStore makes of it."""
    pattern = literal(f"%{value}%", Text)
    sought = literal(value, Text)
    at = func.strpos(text, sought) if like == "LIKE" else func.strpos(func.lower(text), func.lower(sought))
    return and_(func.jsonb_typeof(found) == "string", at > 0, text.op(like)(pattern))


_OF_TEXT: Mapping[FilterOperator, Callable[[Any, Any, str], ColumnElement[bool]]] = {
    # Of a list alone: a text is searched by TEXT_MATCH.
    FilterOperator.CONTAINS: lambda _, found, value: found.contains(func.jsonb_build_array(literal(value, Text))),
    FilterOperator.TEXT_MATCH: lambda text, found, value: _has_text(text, found, value, "LIKE"),
    FilterOperator.TEXT_MATCH_INSENSITIVE: lambda text, found, value: _has_text(text, found, value, "ILIKE"),
}
"""Searches for a text in a row's value, given as text and as JSON."""
