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

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
"""Texts that PostgreSQL takes as `numeric`; a cast of anything else would fail the whole statement."""


def where(filters: Any, metadata: Metadata) -> ColumnElement[bool] | None:
    """The condition that `filters` are on the JSON column `metadata`; None if no condition stands in them.

    A group in which no condition stands says nothing, so that it neither opens an OR nor closes an AND.

    Raises:
        ConfigError: they are too large, or an operator, a condition or a value's type has no translation.
    """
    if filters is None:
        return None
    check_size(filters)
    return _where(filters, metadata)


def _where(filters: Any, metadata: Metadata) -> ColumnElement[bool] | None:
    if not isinstance(getattr(filters, "filters", None), (list, tuple)):
        raise ConfigError("filter", "MetadataFilters or a mapping of metadata keys to values or operators", filters)
    made = [_where(part, metadata) if hasattr(part, "filters") else _clause(part, metadata) for part in filters.filters]
    clauses = [clause for clause in made if clause is not None]
    combine = _CONDITIONS.get(_word(getattr(filters, "condition", None)))
    if combine is None:
        raise ConfigError("filter.condition", "AND, OR or NOT", filters.condition)
    return combine(clauses) if clauses else None


def text_at(metadata: Metadata, key: str) -> ColumnElement[Any]:
    """The value under `key` as text; SQL's NULL if there is none."""
    return metadata.op("->>", return_type=Text())(literal(key, Text))


def _word(name: Any) -> str:
    """The name of an operator or a condition."""
    return str(getattr(name, "value", name)).lower()


def _clause(condition: Any, metadata: Metadata) -> ColumnElement[bool]:
    key: Any
    key, value, operator = (getattr(condition, name, None) for name in ("key", "value", "operator"))
    _check(key, value)
    name, text = _word(operator), text_at(metadata, key)
    if name == "is_empty":
        return text.is_(None)
    if name in _OF_MANY and isinstance(value, list):
        return _OF_MANY[name](text, cast(metadata, JSONB)[key], [str(member) for member in value])
    if name in _OF_TEXT and isinstance(value, str):
        return _OF_TEXT[name](text, cast(metadata, JSONB)[key], value)
    if name in _OF_ONE and not (value is None or isinstance(value, list)):
        return _compared(name, text, value)
    wanted = next((wanted for of, wanted in _WANTED if name in of), f"one of {', '.join(_NAMES)} for a PGVectorStore")
    named = str(getattr(operator, "name", operator))
    raise ConfigError(f"filter on {key!r}", wanted.format(named), value if name in _KNOWN else named)


def _check(key: Any, value: Any) -> None:
    if not isinstance(key, str) or not is_storable(key):
        raise ConfigError("filter", "made of keys without NUL", key)
    for member in value if isinstance(value, list) else [value]:
        if isinstance(member, str) and not is_storable(member):
            raise ConfigError(f"filter on {key!r}", "values without NUL and halves of surrogate pairs", member)


def _compared(name: str, text: Any, value: Any) -> ColumnElement[bool]:
    compare = _OF_ONE[name]
    # PGVectorStore compares as numbers whatever reads as one. Two texts that are equal are so either way, and
    # "007" is not "7" to whoever asks for a tenant by name.
    number = _number(value)
    if number is None or (name == "==" and isinstance(value, str)):
        return compare(text, literal(str(value), Text))
    return compare(case((text.regexp_match(_NUMBER), cast(text, Numeric))), literal(number, Numeric))


def _number(value: str | float) -> Decimal | None:
    """The number that `value` reads as; None if it is none."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_CONDITIONS: Mapping[str, Callable[[list[ColumnElement[bool]]], ColumnElement[bool]]] = {
    "and": lambda clauses: and_(*clauses),
    "none": lambda clauses: and_(*clauses),
    "or": lambda clauses: or_(*clauses),
    "not": lambda clauses: not_(or_(*clauses)),
}

_OF_ONE: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "==": lambda found, value: found == value,
    "!=": lambda found, value: found != value,
    ">": lambda found, value: found > value,
    ">=": lambda found, value: found >= value,
    "<": lambda found, value: found < value,
    "<=": lambda found, value: found <= value,
}

_OF_MANY: Mapping[str, Callable[[Any, Any, list[str]], ColumnElement[bool]]] = {
    # An empty list compares with nothing: NULL has to come of where nothing stands, or it would pass under NOT.
    "in": lambda text, _, values: text == any_(literal(values, ARRAY(Text))) if values else text != text,  # noqa: PLR0124
    "nin": lambda text, _, values: text != all_(literal(values, ARRAY(Text))) if values else text == text,  # noqa: PLR0124
    "any": lambda _, found, values: found.has_any(literal(values, ARRAY(Text))),
    "all": lambda _, found, values: found.has_all(literal(values, ARRAY(Text))),
}
"""Comparisons of a row's value, as text and as JSON, with a list."""


def _has_text(text: Any, found: Any, value: str, like: str) -> ColumnElement[bool]:
    """True in SQL if the text there has `value`: as it is, and as the pattern that PGVectorStore makes of it."""
    pattern = literal(f"%{value}%", Text)
    sought = literal(value, Text)
    at = func.strpos(text, sought) if like == "LIKE" else func.strpos(func.lower(text), func.lower(sought))
    return and_(func.jsonb_typeof(found) == "string", at > 0, text.op(like)(pattern))


_OF_TEXT: Mapping[str, Callable[[Any, Any, str], ColumnElement[bool]]] = {
    # A list that has it; a text that does is for TEXT_MATCH.
    "contains": lambda _, found, value: found.contains(func.jsonb_build_array(literal(value, Text))),
    "text_match": lambda text, found, value: _has_text(text, found, value, "LIKE"),
    "text_match_insensitive": lambda text, found, value: _has_text(text, found, value, "ILIKE"),
}
"""Searches of a row's value for a text."""
_NAMES = (
    *("EQ", "NE", "GT", "GTE", "LT", "LTE", "IN", "NIN", "ANY", "ALL"),
    *("CONTAINS", "TEXT_MATCH", "TEXT_MATCH_INSENSITIVE", "IS_EMPTY"),
)
_KNOWN = frozenset({*_OF_ONE, *_OF_MANY, *_OF_TEXT})
_WANTED = ((_OF_MANY, "a list for {}"), (_OF_TEXT, "a string for {}"), (_OF_ONE, "a string or a number for {}"))
"""The value that an operator compares with."""
