"""LlamaIndex's MetadataFilters as an SQL condition in which every key and value is bound.

It lets through what PGVectorStore's own condition lets through, or less: a row without the key never passes, and where
that condition would fail (text in a place where a number is asked for) the row doesn't pass either. The filters are
read by their attributes, so LlamaIndex isn't imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlalchemy import ColumnElement, Numeric, Text, all_, and_, any_, case, cast, func, literal, not_, or_
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from ctxassembly.data.filters import check_size
from ctxassembly.errors import ConfigError
from ctxassembly.wording.unicode import is_storable

Metadata = ColumnElement[Any]

_NUMERIC_PATTERN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""Texts that PostgreSQL takes as `numeric`; a cast of anything else would fail the whole statement."""


def build_llamaindex_condition(filters: Any, metadata: Metadata) -> ColumnElement[bool] | None:
    """Return the condition of `filters` on the JSON column `metadata`; None if they are empty.

    An empty group is ignored, so that it neither opens an OR nor closes an AND.

    Raises:
        ConfigError: they are too large, or an operator, a condition or a value's type has no translation.
    """
    if filters is None:
        return None
    check_size(filters)
    return _translate_group(filters, metadata)


def _translate_group(filters: Any, metadata: Metadata) -> ColumnElement[bool] | None:
    if not isinstance(getattr(filters, "filters", None), (list, tuple)):
        raise ConfigError("filter", "MetadataFilters or a mapping of metadata keys to values or operators", filters)
    translated = [
        _translate_group(part, metadata) if hasattr(part, "filters") else _translate_filter(part, metadata)
        for part in filters.filters
    ]
    clauses = [clause for clause in translated if clause is not None]
    combine = _COMBINERS.get(_enum_value(getattr(filters, "condition", None)))
    if combine is None:
        raise ConfigError("filter.condition", "AND, OR or NOT", filters.condition)
    return combine(clauses) if clauses else None


def metadata_text(metadata: Metadata, key: str) -> ColumnElement[Any]:
    """Return the value under `key` as text; SQL's NULL if there is none."""
    return metadata.op("->>", return_type=Text())(literal(key, Text))


def _enum_value(name: Any) -> str:
    """Return the name of an operator or a condition."""
    return str(getattr(name, "value", name)).lower()


def _translate_filter(condition: Any, metadata: Metadata) -> ColumnElement[bool]:
    key: Any
    key, value, operator = (getattr(condition, name, None) for name in ("key", "value", "operator"))
    _check_filter(key, value)
    name, text = _enum_value(operator), metadata_text(metadata, key)
    if name == "is_empty":
        return text.is_(None)
    if name in _LIST_OPERATORS and isinstance(value, list):
        return _LIST_OPERATORS[name](text, cast(metadata, JSONB)[key], [str(member) for member in value])
    if name in _TEXT_OPERATORS and isinstance(value, str):
        return _TEXT_OPERATORS[name](text, cast(metadata, JSONB)[key], value)
    if name in _VALUE_OPERATORS and not (value is None or isinstance(value, list)):
        return _compare_value(name, text, value)
    wanted = next(
        (wanted for of, wanted in _EXPECTED_VALUES if name in of),
        f"one of {', '.join(_OPERATOR_NAMES)} for a PGVectorStore",
    )
    operator_name = str(getattr(operator, "name", operator))
    raise ConfigError(
        f"filter on {key!r}", wanted.format(operator_name), value if name in _KNOWN_OPERATORS else operator_name
    )


def _check_filter(key: Any, value: Any) -> None:
    if not isinstance(key, str) or not is_storable(key):
        raise ConfigError("filter", "made of keys without NUL", key)
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, str) and not is_storable(member):
            raise ConfigError(f"filter on {key!r}", "values without NUL and halves of surrogate pairs", member)


def _compare_value(name: str, text: Any, value: Any) -> ColumnElement[bool]:
    compare = _VALUE_OPERATORS[name]
    # PGVectorStore compares as numbers whatever reads as one. Two texts that are equal are so either way, and
    # "007" is not "7" to whoever asks for a tenant by name.
    number = _as_decimal(value)
    if number is None or (name == "==" and isinstance(value, str)):
        return compare(text, literal(str(value), Text))
    return compare(case((text.regexp_match(_NUMERIC_PATTERN), cast(text, Numeric))), literal(number, Numeric))


def _as_decimal(value: str | float) -> Decimal | None:
    """Return the number that `value` represents; None if it is not numeric."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_COMBINERS: Mapping[str, Callable[[list[ColumnElement[bool]]], ColumnElement[bool]]] = {
    "and": lambda clauses: and_(*clauses),
    "none": lambda clauses: and_(*clauses),
    "or": lambda clauses: or_(*clauses),
    "not": lambda clauses: not_(or_(*clauses)),
}

_VALUE_OPERATORS: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "==": lambda found, value: found == value,
    "!=": lambda found, value: found != value,
    ">": lambda found, value: found > value,
    ">=": lambda found, value: found >= value,
    "<": lambda found, value: found < value,
    "<=": lambda found, value: found <= value,
}

_LIST_OPERATORS: Mapping[str, Callable[[Any, Any, list[str]], ColumnElement[bool]]] = {
    # An empty list compares with nothing: a missing value has to give NULL, or it would pass under NOT.
    "in": lambda text, _, values: text == any_(literal(values, ARRAY(Text))) if values else text != text,  # noqa: PLR0124
    "nin": lambda text, _, values: text != all_(literal(values, ARRAY(Text))) if values else text == text,  # noqa: PLR0124
    "any": lambda _, found, values: found.has_any(literal(values, ARRAY(Text))),
    "all": lambda _, found, values: found.has_all(literal(values, ARRAY(Text))),
}
"""Comparisons of a row's value, as text and as JSON, with a list."""


def _has_text(text: Any, found: Any, value: str, like: str) -> ColumnElement[bool]:
    """Return the condition that the text contains `value`, literally and as PGVectorStore's pattern."""
    pattern = literal(f"%{value}%", Text)
    wanted = literal(value, Text)
    at = func.strpos(text, wanted) if like == "LIKE" else func.strpos(func.lower(text), func.lower(wanted))
    return and_(func.jsonb_typeof(found) == "string", at > 0, text.op(like)(pattern))


_TEXT_OPERATORS: Mapping[str, Callable[[Any, Any, str], ColumnElement[bool]]] = {
    # A list that has it; a text that does is for TEXT_MATCH.
    "contains": lambda _, found, value: found.contains(func.jsonb_build_array(literal(value, Text))),
    "text_match": lambda text, found, value: _has_text(text, found, value, "LIKE"),
    "text_match_insensitive": lambda text, found, value: _has_text(text, found, value, "ILIKE"),
}
"""Searches of a row's value for a text."""
_OPERATOR_NAMES = (
    *("EQ", "NE", "GT", "GTE", "LT", "LTE", "IN", "NIN", "ANY", "ALL"),
    *("CONTAINS", "TEXT_MATCH", "TEXT_MATCH_INSENSITIVE", "IS_EMPTY"),
)
_KNOWN_OPERATORS = frozenset({*_VALUE_OPERATORS, *_LIST_OPERATORS, *_TEXT_OPERATORS})
_EXPECTED_VALUES = (
    (_LIST_OPERATORS, "a list for {}"),
    (_TEXT_OPERATORS, "a string for {}"),
    (_VALUE_OPERATORS, "a string or a number for {}"),
)
"""The value that an operator compares with."""
