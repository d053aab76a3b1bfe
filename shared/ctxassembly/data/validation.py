"""Records of settings: checks of their values.

A value out of range is an error that names the parameter, the range and the value. The fields of a record declare their
ranges: `window: Annotated[int, Range(0, 3)] = 1`. `check_fields` checks all fields of a record, and the page of all
settings shows the same descriptions. Settings whose types have no rule here, such as tuples and mappings, are checked
by the record itself.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr

MAX_INTEGER = 2**63 - 1
"""The largest integer that databases store. The error names this limit only for a value beyond it."""


@dataclass(frozen=True, slots=True)
class Range:
    """The range of a number, from `minimum` to `maximum`, and greater than `above` if that is given.

    >>> Range(0, 3).describe(int), Range(above=0).describe(float)
    ('an integer from 0 to 3', 'a number above 0')
    """

    minimum: float = -math.inf
    maximum: float = math.inf
    above: float | None = None

    def describe(self, kind: type) -> str:
        """Return the range in words, for values of `kind`: int or float."""
        noun = "an integer" if kind is int else "a number"
        if self.above is not None:
            return f"{noun} above {_plain(self.above)}" + (
                f" and at most {_plain(self.maximum)}" if self.maximum < math.inf else ""
            )
        if self.maximum < math.inf:
            return f"{noun} from {_plain(self.minimum)} to {_plain(self.maximum)}"
        return f"{noun} of at least {_plain(self.minimum)}" if self.minimum > -math.inf else noun

    def rule(self, kind: type) -> Rule:
        """Return the rule that a value is a number of `kind` in the range."""
        return Rule(self.describe(kind), lambda value: self.accepts(kind, value))

    def accepts(self, kind: type, value: Any) -> bool:
        """Return True if `value` is of `kind`, finite and in the range."""
        if isinstance(value, bool) or not isinstance(value, int if kind is int else (int, float)):
            return False
        # The limits reject NaN, infinity, and integers that no float or database stores.
        is_storable = value <= MAX_INTEGER if kind is int else abs(value) <= sys.float_info.max
        return is_storable and self.minimum <= value <= self.maximum and (self.above is None or value > self.above)


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


class NonBlank:
    """The mark of a string that must have more than white space: `Annotated[str, NonBlank()]`."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The mark of a name in a table that may grow: `Annotated[FormatName, Choice(FORMATS)]`."""

    table: Mapping[str, Any]


Encoding = Annotated[
    Annotated[str, NonBlank()] | Callable[[str], int], "the name of a tiktoken encoding or a function str -> int"
]


class Rule(NamedTuple):
    """The values that a field allows."""

    allowed: str
    """Their description, as errors and the page of settings show it."""
    accepts: Callable[[Any], bool]


def _rule(hint: Any) -> Rule | None:
    """Return the rule that the type `hint` declares; None if it declares none that can be checked."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind, mark = parts[0], parts[1]
        if isinstance(mark, Range):
            return mark.rule(kind)
        if isinstance(mark, Choice):
            return Rule(one_of(mark.table), lambda value: isinstance(value, str) and value in mark.table)
        if isinstance(mark, NonBlank):
            return Rule("a non-empty string", lambda value: isinstance(value, str) and bool(value.strip()))
        rule = _rule(kind)  # a description in place of the rule's own
        return rule and rule._replace(allowed=mark)
    if origin is Literal:
        return Rule(one_of(parts), lambda value: isinstance(value, str) and value in parts)
    if origin is Callable:
        return Rule("a function", callable)
    if origin in (Union, UnionType):
        rules = [rule for part in parts if (rule := _rule(part))]
        *others, last = [rule.allowed for rule in rules]
        allowed = f"{', '.join(others)}, or {last}"
        is_whole = len(rules) == len(parts)
        return Rule(allowed, lambda value: any(rule.accepts(value) for rule in rules)) if is_whole else None
    if hint in (int, float):
        return Range().rule(hint)
    if origin is None and isinstance(hint, type):
        allowed = {bool: "True or False", str: "a string", type(None): "None"}.get(hint, f"a {hint.__name__}")
        return Rule(allowed, lambda value: isinstance(value, hint))
    return None


@cache
def field_rules(record: type) -> dict[str, Rule]:
    """Return the rules that the fields of the class `record` declare, by name."""
    hints = get_type_hints(record, include_extras=True)
    return {name: rule for name, hint in hints.items() if (rule := _rule(hint))}


def check_fields(record: Any, prefix: str = "", hint: Callable[[str, Any], str] = lambda _name, _value: "") -> None:
    """Check all fields of `record` against the rules that they declare. `prefix` begins the names in errors.

    `hint` returns the end of the message for a name and its wrong value.

    Raises:
        ConfigError: a value is out of its range.
    """
    for name, rule in field_rules(record.__class__).items():
        _check(prefix + name, rule, getattr(record, name), hint)


def check_int(parameter: str, value: Any, minimum: int, maximum: float = math.inf) -> None:
    """Check that `value` is an integer from `minimum` to `maximum`.

    Raises:
        ConfigError: it is not.
    """
    _check(parameter, Range(minimum, maximum).rule(int), value)


def check_positive(parameter: str, value: Any) -> None:
    """Check that `value` is a finite number above 0.

    Raises:
        ConfigError: it is not.
    """
    _check(parameter, Range(above=0).rule(float), value)


def _check(
    parameter: str, rule: Rule, value: Any, own_hint: Callable[[str, Any], str] = lambda _name, _value: ""
) -> None:
    if not rule.accepts(value):
        is_huge = isinstance(value, int) and value > MAX_INTEGER
        hint = f": the most is {MAX_INTEGER:,}" if is_huge else own_hint(parameter, value)
        raise ConfigError(parameter, rule.allowed, value, hint)


def check_type(parameter: str, value: object, kind: type) -> None:
    """Check that an argument is a `kind` or None.

    Raises:
        InputError: it is something else.
    """
    if not (value is None or isinstance(value, kind)):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InputError(f"{parameter} must be {article} {kind.__name__} or None, got {safe_repr(value)}")


def one_of(choices: Any) -> str:
    """Return the description of a value that has to be one of `choices`."""
    return "one of " + ", ".join(map(repr, choices))


def as_keys(parameter: str, value: Any, allowed: str) -> tuple[str, ...]:
    """Return `value`, a metadata key or several, as a tuple of keys.

    Raises:
        ConfigError: it is something else; `allowed` describes what it may be.
    """
    keys = (value,) if isinstance(value, str) else value
    if not isinstance(keys, (tuple, list)) or not all(isinstance(key, str) and key.strip() for key in keys):
        raise ConfigError(parameter, allowed, value)
    return tuple(keys)
