"""A metadata filter as a test on what has metadata: for stores and indexes that can't apply it themselves.

A filter keeps tenants apart, so all that is unclear excludes. A key that is lacking passes no comparison, not
even `$ne`, as NULL passes none in SQL; two values of types that have no order are neither above nor below each other;
True is not 1. A filter in an unknown form raises: if it were skipped, everybody's chunks would come in.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypeVar

from ctxassembly.data.keys import look_up
from ctxassembly.errors import ConfigError


class HasMetadata(Protocol):
    """A chunk, or a document of a framework."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Objects that a filter looks at."""


Tested = TypeVar("Tested", bound=HasMetadata)
Test = Callable[[Any], bool]


def as_predicate(condition: Any, kind: str = "Chunk") -> Callable[[Tested], bool]:
    """The test that `condition` stands for: a function is its own; None and an empty mapping let everything pass.

    A mapping has metadata keys (dotted paths too), each with a value or with operators ($eq $ne $gt $gte $lt $lte $in
    $nin $exists), or $and and $or with a list of mappings. All must hold. As in SQL, and since filters keep tenants
    apart, what lacks the key passes none of them but `{"$exists": False}`. `kind` names in an error what is tested.

    >>> from ctxassembly import Chunk
    >>> of_a = as_predicate({"tenant": "a", "year": {"$gte": 2020}})
    >>> of_a(Chunk("1", "d", "", metadata={"tenant": "a", "year": 2024})), of_a(Chunk("2", "d", ""))
    (True, False)

    Raises:
        ConfigError: `condition` has another form. It is never ignored.
    """
    if callable(condition):
        passes: Callable[[Tested], bool] = condition
        return passes
    forms = f"a function {kind} -> bool, or a mapping of metadata keys to values or operators"
    test = _mapping({} if condition is None else condition, forms)
    return lambda tested: test(tested.metadata)


def both(one: Any, other: Any) -> Any:
    """The filter that lets pass what two filters do: two mappings as one, two functions as one.

    >>> both({"tenant": "a"}, {"year": 2024}), both(None, {"year": 2024})
    ({'$and': [{'tenant': 'a'}, {'year': 2024}]}, {'year': 2024})

    Raises:
        ConfigError: one of them has another form.
    """
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {"$and": [one, other]}
    first, second = as_predicate(one), as_predicate(other)
    return lambda tested: first(tested) and second(tested)


def _mapping(condition: Any, forms: str) -> Test:
    if not isinstance(condition, Mapping):
        raise ConfigError("filter", forms, condition)
    tests = [_entry(key, value, forms) for key, value in condition.items()]
    return lambda metadata: all(test(metadata) for test in tests)


def _entry(key: Any, value: Any, forms: str) -> Test:
    if key in ("$and", "$or"):
        if not isinstance(value, (list, tuple)) or not value:
            raise ConfigError(f"filter[{key!r}]", "a non-empty list of mappings", value)
        tests = [_mapping(condition, forms) for condition in value]
        every = all if key == "$and" else any
        return lambda metadata: every(test(metadata) for test in tests)
    if not isinstance(key, str) or not key or key.startswith("$"):
        raise ConfigError("filter", "made of metadata keys, $and and $or", key)
    wanted = value if isinstance(value, Mapping) else {"$eq": value}
    if not wanted:
        raise ConfigError(f"filter[{key!r}]", "a value or operators", value)
    checks = [(_operator(key, name, operand), operand) for name, operand in wanted.items()]
    return lambda metadata: all(check(look_up(metadata, key), operand) for check, operand in checks)


def _operator(key: str, name: Any, operand: Any) -> Callable[[Any, Any], bool]:
    if name not in OPERATORS:
        raise ConfigError(f"filter[{key!r}]", "a value or operators out of " + " ".join(OPERATORS), name)
    if name in ("$in", "$nin") and (isinstance(operand, str) or not isinstance(operand, Collection)):
        raise ConfigError(f"filter[{key!r}][{name!r}]", "a list of values", operand)
    if name == "$exists" and not isinstance(operand, bool):
        raise ConfigError(f"filter[{key!r}][{name!r}]", "True or False", operand)
    if operand is None or isinstance(operand, Mapping):
        raise ConfigError(f"filter[{key!r}][{name!r}]", "a value", operand)
    return OPERATORS[name]


def _equal(value: Any, operand: Any) -> bool:
    """True if two values are the same. True is not 1: no vector store takes one for the other."""
    return bool(value == operand) and isinstance(value, bool) == isinstance(operand, bool)


def _if_known(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, operand: value is not None and compare(value, operand)


def _if_ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, operand: Any) -> bool:
        try:
            return compare(value, operand)
        except TypeError:  # of different types: neither is above the other
            return False

    return check


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _if_known(_equal),
    "$ne": _if_known(operator.ne),
    "$gt": _if_ordered(operator.gt),
    "$gte": _if_ordered(operator.ge),
    "$lt": _if_ordered(operator.lt),
    "$lte": _if_ordered(operator.le),
    "$in": _if_known(lambda value, operand: any(_equal(value, listed) for listed in operand)),
    "$nin": _if_known(lambda value, operand: all(value != listed for listed in operand)),
    "$exists": lambda value, operand: (value is not None) == operand,
}
