"""The mapping form of a metadata filter, read once for all who apply it, in memory or as SQL; and two filters as one.

A filter keeps tenants apart, so nothing in it is ignored: what can't be read is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from ctxassembly.data.filter_size import check_size
from ctxassembly.errors import ConfigError

FORM = "a mapping of metadata keys to values or operators"


class Comparison(NamedTuple):
    """One operator on what stands under one key."""

    key: str
    operator: str
    operand: Any


class Group(NamedTuple):
    """Conditions of which all have to hold ($and), one ($or), or none ($not)."""

    word: Literal["$and", "$or", "$not"]
    members: tuple[Comparison | Group, ...]


def read_filter(condition: Any, forms: str = FORM) -> Group:
    """The conditions in a mapping: metadata keys, each with a value or with `OPERATORS`, or $and, $or and $not.

    >>> read_filter({"tenant": "a", "$not": {"year": {"$lt": 2020}}}).members[0]
    Comparison(key='tenant', operator='$eq', operand='a')

    Raises:
        ConfigError: it is too large, or has another form; the message names `forms`.
    """
    if not isinstance(condition, Mapping):
        raise ConfigError("filter", forms, condition)
    check_size(condition)
    return _read(condition)


def _read(condition: Mapping[Any, Any]) -> Group:
    return Group("$and", tuple(part for key, value in condition.items() for part in _entries(key, value)))


def _entries(key: Any, value: Any) -> Iterator[Comparison | Group]:
    if key in ("$and", "$or", "$not"):
        if key != "$not" and not (isinstance(value, (list, tuple)) and value):
            raise ConfigError(f"filter[{key!r}]", "a non-empty list of mappings", value)
        several = value if isinstance(value, (list, tuple)) and value else [value]
        yield Group(key, tuple(map(_inner, several)))
        return
    if not isinstance(key, str) or not key or key.startswith("$"):
        raise ConfigError("filter", "made of metadata keys, $and, $or and $not", key)
    wanted = value if isinstance(value, Mapping) else {"$eq": value}
    if not wanted:
        raise ConfigError(f"filter[{key!r}]", "a value or operators", value)
    for operator, operand in wanted.items():
        if operator not in OPERATORS:
            raise ConfigError(f"filter[{key!r}]", "a value or operators out of " + " ".join(OPERATORS), operator)
        fits, allowed = OPERATORS[operator]
        if not fits(operand):
            raise ConfigError(f"filter[{key!r}][{operator!r}]", allowed, operand)
        yield Comparison(key, operator, operand)


def _inner(condition: Any) -> Group:
    # An empty one among several would open an $or to everybody.
    if not condition or not isinstance(condition, Mapping):
        raise ConfigError("filter", FORM, condition)
    return _read(condition)


def _is_value(operand: Any) -> bool:
    return operand is not None and not isinstance(operand, Mapping)


def _has_order(operand: Any) -> bool:
    return _is_value(operand) and not isinstance(operand, bool)


def _are_values(operand: Any) -> bool:
    return isinstance(operand, Collection) and not isinstance(operand, (str, Mapping))


def _are_two(operand: Any) -> bool:
    return isinstance(operand, (list, tuple)) and len(operand) == 2 and all(map(_has_order, operand))


def _is_pattern(operand: Any) -> bool:
    return isinstance(operand, str) and (len(operand) - len(operand.rstrip("\\"))) % 2 == 0


_VALUE = (_is_value, "a value")
_ORDERED = (_has_order, "a number, a string or a date")
_VALUES = (_are_values, "a list of values")
_PATTERN = (_is_pattern, "a string that doesn't end in an escape")
OPERATORS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "$eq": _VALUE,
    "$ne": _VALUE,
    "$gt": _ORDERED,
    "$gte": _ORDERED,
    "$lt": _ORDERED,
    "$lte": _ORDERED,
    "$in": _VALUES,
    "$nin": _VALUES,
    "$exists": (lambda operand: isinstance(operand, bool), "True or False"),
    "$between": (_are_two, "a list of two values, the least and the most"),
    "$like": _PATTERN,
    "$ilike": _PATTERN,
}
"""For each operator a test of what it compares with, and its name. The last three are langchain-postgres' own."""


def is_filter(condition: Any) -> bool:
    """True if `condition` excludes anything. None and an empty mapping, list or string don't."""
    return condition is not None and not (isinstance(condition, (Mapping, list, tuple, str)) and not condition)


def both(first: Any, second: Any) -> Any:
    """One filter that means both `first` and `second`; None if their forms have no AND known here."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {"$and": [first, second]}
    if callable(first) and callable(second):
        return lambda tested: first(tested) and second(tested)
    return None


def combined(
    own: Any, given: Any, parameter: str, allowed: str, join: Callable[[Any, Any], Any] = both, culprit: Any = None
) -> Any:
    """One filter that means both `own` and `given`, either of which may exclude nothing.

    >>> combined({"tenant": "a"}, {"year": 2024}, "filter", "a mapping")
    {'$and': [{'tenant': 'a'}, {'year': 2024}]}

    Raises:
        ConfigError: one is too large, or `join` knows no AND for their forms. Then the message names `parameter`, what
            is `allowed`, and the `culprit`, or else `given`.
    """
    check_size(own)
    check_size(given)
    if not is_filter(own) or not is_filter(given):
        return given if is_filter(given) else own
    found = join(own, given)
    if found is None:
        raise ConfigError(parameter, allowed, given if culprit is None else culprit)
    return found
