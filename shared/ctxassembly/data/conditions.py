"""A metadata filter as a test on what has metadata: for stores and indexes that can't apply it themselves.

A filter keeps tenants apart, so all that is unclear excludes. A key that is lacking passes no comparison, not even
`$ne`, and neither under `$not`, as NULL passes none in SQL; two values of types that have no order are neither above
nor below each other; True is not 1. A filter in an unknown form raises: if it were skipped, everybody's chunks would
come in.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from fnmatch import translate
from typing import Any, Protocol, TypeVar

from ctxassembly.data.filter_size import PLAIN
from ctxassembly.data.filters import FORM, Comparison, Group, read_filter
from ctxassembly.data.keys import look_up


class HasMetadata(Protocol):
    """A chunk, or a document of a framework."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Objects that a filter looks at."""


Tested = TypeVar("Tested", bound=HasMetadata)
Verdict = bool | None
"""True, False, or None where nobody knows. Like NULL in SQL, None lets nothing pass, not even under NOT."""
Test = Callable[[Mapping[str, Any]], Verdict]


def as_predicate(condition: Any, kind: str = "Chunk") -> Callable[[Tested], bool]:
    """The test that `condition` stands for: a function is its own; None and an empty mapping let everything pass.

    A mapping has metadata keys (dotted paths too), each with a value or with operators ($eq $ne $gt $gte $lt $lte $in
    $nin $exists $between $like $ilike), or $and and $or with a list of mappings, or $not with one or several. All must
    hold. As in SQL, and since filters keep tenants apart, what lacks the key passes none of them but
    `{"$exists": False}`. `kind` names in an error what is tested.

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
    test = _test(read_filter({} if condition is None else condition, f"a function {kind} -> bool, or {FORM}"))
    return lambda tested: test(tested.metadata) is True


def any_of(verdicts: Collection[Verdict]) -> Verdict:
    """The OR of `verdicts`."""
    return True if True in verdicts else None if None in verdicts else False


def negated(verdict: Verdict) -> Verdict:
    """The NOT of `verdict`."""
    return None if verdict is None else not verdict


def _test(condition: Comparison | Group) -> Test:
    if isinstance(condition, Comparison):
        return _comparison(condition)
    tests = [_test(member) for member in condition.members]
    if condition.word == "$and":
        return lambda metadata: negated(any_of([negated(test(metadata)) for test in tests]))
    if condition.word == "$or":
        return lambda metadata: any_of([test(metadata) for test in tests])
    return lambda metadata: negated(any_of([test(metadata) for test in tests]))


def _comparison(condition: Comparison) -> Test:
    key, name, operand = condition
    if name == "$exists":
        return lambda metadata: (look_up(metadata, key) is not None) == operand
    compare = _COMPARISONS[name]
    if name in _LIKE:
        operand = _LIKE[name](operand)
    if name in ("$in", "$nin"):
        operand = _Listed(operand)

    def test(metadata: Mapping[str, Any]) -> Verdict:
        value = look_up(metadata, key)
        return None if value is None else compare(value, operand)

    return test


def _equal(value: Any, operand: Any) -> bool:
    """True if two values are the same. True is not 1: no vector store takes one for the other."""
    return bool(value == operand) and isinstance(value, bool) == isinstance(operand, bool)


class _Listed:
    """The values of a list, which are looked up where their types allow it: a list may have many."""

    def __init__(self, values: Collection[Any]) -> None:
        self.plain = {(isinstance(one, bool), one) for one in values if type(one) in PLAIN and one == one}  # noqa: PLR0124
        self.others = [one for one in values if type(one) not in PLAIN]
        self.all = values

    def has(self, value: Any) -> bool:
        """True if one of them is equal to `value`."""
        if type(value) in PLAIN:
            found = (isinstance(value, bool), value) in self.plain
            return found or any(_equal(value, listed) for listed in self.others)
        # No plain value is equal to a list. Any other class may say what it is equal to.
        among = self.others if type(value) in (list, tuple, dict, set) else self.all
        return any(_equal(value, listed) for listed in among)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(value: Any, operand: Any) -> bool:
        try:
            return not isinstance(value, bool) and bool(compare(value, operand))
        except TypeError:  # of different types: neither is above the other
            return False

    return check


def _pattern(like: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern of LIKE: % is any text, _ any character, and a backslash takes the next one as it is."""
    wildcards = {"%": "*", "_": "?"}
    parts = re.findall(r"\\?.", like, re.DOTALL)
    shell = (wildcards.get(part) or re.sub(r"[*?[]", r"[\g<0>]", part[-1]) for part in parts)
    return re.compile(translate("".join(shell)), flags)  # whose time is linear in the text for each wildcard


def _like(value: Any, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


_LIKE: Mapping[str, Callable[[str], re.Pattern[str]]] = {
    "$like": _pattern,
    "$ilike": lambda like: _pattern(like, re.IGNORECASE),
}
_at_least, _at_most = _ordered(operator.ge), _ordered(operator.le)
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, operand: not _equal(value, operand),
    "$gt": _ordered(operator.gt),
    "$gte": _at_least,
    "$lt": _ordered(operator.lt),
    "$lte": _at_most,
    "$in": lambda value, operand: operand.has(value),
    "$nin": lambda value, operand: not operand.has(value),
    "$between": lambda value, operand: _at_least(value, operand[0]) and _at_most(value, operand[1]),
    "$like": _like,
    "$ilike": _like,
}
