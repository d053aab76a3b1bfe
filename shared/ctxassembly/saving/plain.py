"""Values as dicts and lists of builtins, which survive JSON and the checkpoints of agent frameworks, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from operator import attrgetter
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ctxassembly.data.metadata import readable
from ctxassembly.data.trace import Trace
from ctxassembly.shown import MOST_BITS, as_text, shown
from ctxassembly.text.matches import Matches
from ctxassembly.wording.clean import sendable

_MOST_INTEGER = 2**63
"""Smallest integer that writers of JSON refuse."""


def plain(value: Any) -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None. Any other value becomes its `str`.

    So do floats that aren't finite and integers of more than 64 bits, which not every reader of JSON takes. A lone half
    of a surrogate pair can't be sent and becomes U+FFFD. Values without an end are cut as `ctxassembly.data.metadata`
    describes it.

    >>> plain({"pages": (1, 2), "score": float("inf")})
    {'pages': [1, 2], 'score': 'inf'}
    """
    kind = type(value)
    if kind in _SCALARS:
        return _builtin(value)
    if kind in (tuple, Matches):
        return [plain(item) for item in value]
    if is_dataclass(kind):
        # Adapters write out every trace, with a dozen fields for each chunk: most are None.
        names, values = _fields(kind)
        return {name: one if one is None else plain(one) for name, one in zip(names, values(value), strict=True)}
    return _builtin(readable({"": value})[0][""])


def _builtin(value: Any) -> Any:
    """The same for a value that is known to have an end."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else sendable(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_MOST_INTEGER <= value < _MOST_INTEGER else shown(value, MOST_BITS)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is dict:
        return {_builtin(key) if type(key) is str else as_text(key) or "None": _builtin(value[key]) for key in value}
    if kind in (set, frozenset):
        value = sorted(value, key=shown)  # the same in every run
    if kind in (list, tuple, set, frozenset):
        return [_builtin(item) for item in value]
    text = as_text(value)
    return shown(value) if text is None else sendable(text)


@lru_cache(maxsize=64)
def _fields(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of the fields of a dataclass, and a function that reads them all."""
    names = tuple(field.name for field in fields(kind))
    return names, attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def plain_trace(trace: Trace) -> dict[str, Any]:
    """The trace as plain data, its one-line summary first."""
    return {"summary": trace.summary, **plain(trace)}


def revived(kind: Any, value: Any) -> Any:
    """The object of type `kind` that `plain` turned into `value`.

    A value that `plain` wrote as its `str` stays a string. A value that `plain` never writes may raise any error.

    >>> revived(tuple[int, ...], plain((1, 2)))
    (1, 2)
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None or kind is Any:
        return value
    if origin in (Union, UnionType):
        made = [option for option in arguments if is_dataclass(option) or get_origin(option) in (tuple, Sequence)]
        # A string may be a float that isn't finite, unless the field takes strings as well.
        made += [float] if float in arguments and isinstance(value, str) and str not in arguments else []
        if made:
            return revived(made[0], value)
        return _checked(arguments, value) if _SCALARS.issuperset(arguments) else value
    if origin is Sequence:
        return tuple(revived(arguments[0], item) for item in value)
    if origin is tuple:
        kinds = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return tuple(revived(kind, item) for kind, item in zip(kinds, value, strict=True))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: revived(hints[name], item) for name, item in dict(value).items()})
    if kind in _SCALARS:
        return float(value) if kind is float else _checked((kind,), value)
    return dict(value) if origin is Mapping else value


def _checked(kinds: tuple[Any, ...], value: Any) -> Any:
    """Return `value` if it is of one of `kinds`; a whole number is a float, too.

    Raises:
        TypeError: it isn't.
    """
    if type(value) in kinds or (type(value) is int and float in kinds):
        return value
    raise TypeError(f"one of {kinds} expected, got {type(value)}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
