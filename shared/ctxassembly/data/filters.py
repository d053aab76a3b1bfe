"""The mapping form of a metadata filter, parsed once for memory and SQL; two filters as one; a filter as a test.

A filter keeps tenants apart, so nothing in it is ignored: a filter in an unknown form raises an error. If it were
skipped, everybody's chunks would be included.

`as_predicate` is for stores and indexes that can't apply a filter themselves. All that is unclear excludes. A key that
is lacking passes no comparison, not even `$ne`, and neither under `$not`, as NULL passes none in SQL; two values of
types that have no order are neither above nor below each other; True is not 1.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from fnmatch import translate
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from uuid import UUID

from ctxassembly.data.metadata_keys import get_path
from ctxassembly.errors import ConfigError

MAX_LEVELS = 50
"""Most levels of a filter: groups in groups, and the steps of a dotted key."""
MAX_CONDITIONS = 1_000
"""Most conditions in a filter. One on a dotted key counts once for each step of each way to read it: 3 for `a.b`."""
MAX_VALUES = 100_000
"""Most values in all the lists of a filter."""
_MAX_VISITED = 10_000
"""Parts of a filter that are looked at: more than any within the limits has."""
SCALAR_TYPES = frozenset({str, int, float, bool, type(None), bytes, date, datetime, Decimal, UUID})
"""Types of values that hold no others."""


def check_size(condition: Any) -> None:
    """Check that a filter, whatever its form, is within the limits.

    >>> check_size({"$or": [{"year": 2000 + at} for at in range(1_001)]})
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: filter must be a filter of at most 1000 conditions, got 1001

    Raises:
        ConfigError: it is too deep or too large. The message doesn't show the filter.
    """
    levels, conditions, values = measure_filter(condition)
    _check_limit("levels", MAX_LEVELS, levels)
    _check_limit("conditions", MAX_CONDITIONS, conditions)
    _check_limit("values in lists", MAX_VALUES, values)


def _check_limit(unit: str, limit: int, actual: int) -> None:
    if actual > limit:
        raise ConfigError("filter", f"a filter of at most {limit} {unit}", actual)


def measure_filter(condition: Any) -> tuple[int, int, int]:
    """Return the levels, conditions and values of a filter: of mappings, or models such as LlamaIndex's and Qdrant's.

    The walk is a loop, since a filter may be deeper than Python's stack. It ends early in one that contains itself.
    """
    levels = conditions = values = visited = 0
    pending: list[tuple[Any, int, int]] = [(condition, 1, 1)]
    while pending and visited < _MAX_VISITED:
        part, level, weight = pending.pop()
        levels, visited = max(levels, level), visited + 1
        if _is_list(part):
            values += 0 if _has_groups(part) else len(part)
            inner_parts = () if isinstance(part, range) else part
            pending += [(one, level + _is_list(one), weight) for one in inner_parts if type(one) not in SCALAR_TYPES]
        elif isinstance(part, Mapping):
            conditions += not part
            for key, inner in part.items():
                is_key = isinstance(key, str) and not key.startswith("$")
                steps = key.count(".") + 1 if is_key else 1
                inner_weight = steps * (steps + 1) // 2 if is_key else weight
                levels = max(levels, level + steps - 1)
                conditions += 0 if _has_groups(inner) else inner_weight
                if type(inner) not in SCALAR_TYPES:
                    pending.append((inner, level + steps * _has_groups(inner), inner_weight))
        elif _is_model(part):
            inner_parts = [inner for inner in vars(part).values() if type(inner) not in SCALAR_TYPES]
            conditions += not any(map(_has_groups, inner_parts))
            pending += [(inner, level + _has_groups(inner), weight) for inner in inner_parts]
    return levels, max(conditions, visited) if pending else conditions, values


def _is_list(part: Any) -> bool:
    return isinstance(part, Collection) and not isinstance(part, (str, bytes, bytearray, memoryview, Mapping))


def _is_model(part: Any) -> bool:
    """Return True for filters that are objects: pydantic models, or with the attributes of LlamaIndex's filters."""
    has_filter_shape = hasattr(type(part), "model_dump") or hasattr(part, "filters")
    return has_filter_shape and not isinstance(part, type) and hasattr(part, "__dict__")


def _has_groups(part: Any) -> bool:
    """Return True for a mapping or a model, and for a list with one."""
    if _is_list(part):
        return not isinstance(part, range) and any(
            isinstance(inner, Mapping) or _is_model(inner) for inner in part if type(inner) not in SCALAR_TYPES
        )
    return type(part) not in SCALAR_TYPES and (isinstance(part, Mapping) or _is_model(part))


MAPPING_FORM = "a mapping of metadata keys to values or operators"


class Comparison(NamedTuple):
    """One operator on the value under one key.

    >>> parse_filter({"year": {"$gte": 2020}}).members
    (Comparison(key='year', operator='$gte', operand=2020),)
    """

    key: str
    operator: str
    operand: Any


class FilterGroup(NamedTuple):
    """Conditions of which all have to hold ($and), one ($or), or none ($not).

    >>> [group] = parse_filter({"$or": [{"tenant": "a"}, {"public": True}]}).members
    >>> group.operator, len(group.members)
    ('$or', 2)
    """

    operator: Literal["$and", "$or", "$not"]
    members: tuple[Comparison | FilterGroup, ...]


def parse_filter(condition: Any, forms: str = MAPPING_FORM) -> FilterGroup:
    """Return the conditions of a mapping: metadata keys with values or `OPERATORS`, or $and, $or and $not.

    >>> parse_filter({"tenant": "a", "$not": {"year": {"$lt": 2020}}}).members[0]
    Comparison(key='tenant', operator='$eq', operand='a')

    Raises:
        ConfigError: it is too large, or has another form; the message names `forms`.
    """
    if not isinstance(condition, Mapping):
        raise ConfigError("filter", forms, condition)
    check_size(condition)
    return _parse(condition)


def _parse(condition: Mapping[Any, Any]) -> FilterGroup:
    return FilterGroup("$and", tuple(part for key, value in condition.items() for part in _parse_entries(key, value)))


def _parse_entries(key: Any, value: Any) -> Iterator[Comparison | FilterGroup]:
    if key in ("$and", "$or", "$not"):
        if key != "$not" and not (isinstance(value, (list, tuple)) and value):
            raise ConfigError(f"filter[{key!r}]", "a non-empty list of mappings", value)
        conditions = value if isinstance(value, (list, tuple)) and value else [value]
        yield FilterGroup(key, tuple(map(_parse_member, conditions)))
        return
    if not isinstance(key, str) or not key or key.startswith("$"):
        raise ConfigError("filter", "made of metadata keys, $and, $or and $not", key)
    operations = value if isinstance(value, Mapping) else {"$eq": value}
    if not operations:
        raise ConfigError(f"filter[{key!r}]", "a value or operators", value)
    for name, operand in operations.items():
        if name not in OPERATORS:
            raise ConfigError(f"filter[{key!r}]", "a value or operators out of " + " ".join(OPERATORS), name)
        is_allowed, allowed = OPERATORS[name]
        if not is_allowed(operand):
            raise ConfigError(f"filter[{key!r}][{name!r}]", allowed, operand)
        yield Comparison(key, name, operand)


def _parse_member(condition: Any) -> FilterGroup:
    # An empty one among several would open an $or to everybody.
    if not condition or not isinstance(condition, Mapping):
        raise ConfigError("filter", MAPPING_FORM, condition)
    return _parse(condition)


def _is_value(operand: Any) -> bool:
    return operand is not None and not isinstance(operand, Mapping)


def _has_order(operand: Any) -> bool:
    return _is_value(operand) and not isinstance(operand, bool)


def _is_value_list(operand: Any) -> bool:
    return isinstance(operand, Collection) and not isinstance(operand, (str, Mapping))


def _is_range(operand: Any) -> bool:
    return isinstance(operand, (list, tuple)) and len(operand) == 2 and all(map(_has_order, operand))


def _is_pattern(operand: Any) -> bool:
    return isinstance(operand, str) and (len(operand) - len(operand.rstrip("\\"))) % 2 == 0


_VALUE = (_is_value, "a value")
_ORDERED = (_has_order, "a number, a string or a date")
_VALUES = (_is_value_list, "a list of values")
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
    "$between": (_is_range, "a list of two values, the least and the most"),
    "$like": _PATTERN,
    "$ilike": _PATTERN,
}
"""For each operator a test of what it compares with, and its name. The last three are langchain-postgres' own."""


def is_filter(condition: Any) -> bool:
    """Return True if `condition` excludes anything. None and an empty mapping, list or string don't."""
    return condition is not None and not (isinstance(condition, (Mapping, list, tuple, str)) and not condition)


def and_filters(first: Any, second: Any) -> Any:
    """Return one filter that means both `first` and `second`; None if there is no known AND for their forms."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return {"$and": [first, second]}
    if callable(first) and callable(second):
        return lambda tested: first(tested) and second(tested)
    return None


def combine_filters(
    first: Any,
    second: Any,
    parameter: str,
    allowed: str,
    join: Callable[[Any, Any], Any] = and_filters,
    culprit: Any = None,
) -> Any:
    """Return one filter that means both `first` and `second`, either of which may exclude nothing.

    >>> combine_filters({"tenant": "a"}, {"year": 2024}, "filter", "a mapping")
    {'$and': [{'tenant': 'a'}, {'year': 2024}]}

    Raises:
        ConfigError: one is too large, or `join` knows no AND for their forms. Then the message names `parameter`, what
            is `allowed`, and the `culprit`, or else `second`.
    """
    check_size(first)
    check_size(second)
    if not is_filter(first) or not is_filter(second):
        return second if is_filter(second) else first
    joined = join(first, second)
    if joined is None:
        raise ConfigError(parameter, allowed, second if culprit is None else culprit)
    return joined


class HasMetadata(Protocol):
    """A chunk, or a document of a framework."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Objects that a filter looks at."""


T = TypeVar("T", bound=HasMetadata)
Verdict = bool | None
"""True, False, or None where nobody knows. Like NULL in SQL, None lets nothing pass, not even under NOT."""
Test = Callable[[Mapping[str, Any]], Verdict]


def as_predicate(condition: Any, type_name: str = "Chunk") -> Callable[[T], bool]:
    """Return the test for `condition`: a function is its own; None and an empty mapping accept everything.

    A mapping has metadata keys (dotted paths too), each with a value or with operators ($eq $ne $gt $gte $lt $lte $in
    $nin $exists $between $like $ilike), or $and and $or with a list of mappings, or $not with one or several. All must
    hold. As in SQL, and since filters keep tenants apart, what lacks the key passes none of them but
    `{"$exists": False}`. `type_name` names in an error what is tested.

    >>> from ctxassembly import Chunk
    >>> of_a = as_predicate({"tenant": "a", "year": {"$gte": 2020}})
    >>> of_a(Chunk("1", "d", "", metadata={"tenant": "a", "year": 2024})), of_a(Chunk("2", "d", ""))
    (True, False)

    Raises:
        ConfigError: `condition` has another form. It is never ignored.
    """
    if callable(condition):
        predicate: Callable[[T], bool] = condition
        return predicate
    test = _compile(
        parse_filter({} if condition is None else condition, f"a function {type_name} -> bool, or {MAPPING_FORM}")
    )
    return lambda tested: test(tested.metadata) is True


def or_verdicts(verdicts: Collection[Verdict]) -> Verdict:
    """Return the OR of `verdicts`."""
    return True if True in verdicts else None if None in verdicts else False


def not_verdict(verdict: Verdict) -> Verdict:
    """Return the NOT of `verdict`."""
    return None if verdict is None else not verdict


def _compile(condition: Comparison | FilterGroup) -> Test:
    if isinstance(condition, Comparison):
        return _compile_comparison(condition)
    tests = [_compile(member) for member in condition.members]
    if condition.operator == "$and":
        return lambda metadata: not_verdict(or_verdicts([not_verdict(test(metadata)) for test in tests]))
    if condition.operator == "$or":
        return lambda metadata: or_verdicts([test(metadata) for test in tests])
    return lambda metadata: not_verdict(or_verdicts([test(metadata) for test in tests]))


def _compile_comparison(condition: Comparison) -> Test:
    key, name, operand = condition
    if name == "$exists":
        return lambda metadata: (get_path(metadata, key) is not None) == operand
    compare = _COMPARISONS[name]
    if name in _LIKE:
        operand = _LIKE[name](operand)

    def test(metadata: Mapping[str, Any]) -> Verdict:
        value = get_path(metadata, key)
        return None if value is None else compare(value, operand)

    return test


def _is_equal(value: Any, operand: Any) -> bool:
    """Return True if two values are the same. True is not 1: no vector store takes one for the other."""
    return bool(value == operand) and isinstance(value, bool) == isinstance(operand, bool)


def _is_among(value: Any, operands: Collection[Any]) -> bool:
    return any(_is_equal(value, operand) for operand in operands)


def _ordered_comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, operand: Any) -> bool:
        try:
            return not isinstance(value, bool) and bool(compare(value, operand))
        except TypeError:  # of different types: neither is above the other
            return False

    return check


def _like_pattern(like: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of a LIKE: % is any text, _ any character, and a backslash escapes the next one."""
    wildcards = {"%": "*", "_": "?"}
    parts = re.findall(r"\\?.", like, re.DOTALL)
    shell = (wildcards.get(part) or re.sub(r"[*?[]", r"[\g<0>]", part[-1]) for part in parts)
    return re.compile(translate("".join(shell)), flags)  # whose time is linear in the text for each wildcard


def _matches_like(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


_LIKE: Mapping[str, Callable[[str], re.Pattern[str]]] = {
    "$like": _like_pattern,
    "$ilike": lambda like: _like_pattern(like, re.IGNORECASE),
}
_at_least, _at_most = _ordered_comparison(operator.ge), _ordered_comparison(operator.le)
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _is_equal,
    "$ne": lambda value, operand: not _is_equal(value, operand),
    "$gt": _ordered_comparison(operator.gt),
    "$gte": _at_least,
    "$lt": _ordered_comparison(operator.lt),
    "$lte": _at_most,
    "$in": _is_among,
    "$nin": lambda value, operand: not _is_among(value, operand),
    "$between": lambda value, operand: _at_least(value, operand[0]) and _at_most(value, operand[1]),
    "$like": _matches_like,
    "$ilike": _matches_like,
}
