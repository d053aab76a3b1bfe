"""Values as dicts and lists of builtins, which survive JSON and the checkpoints of agent frameworks, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ctxassembly.data.chunks import Span
from ctxassembly.data.sanitize import make_readable
from ctxassembly.data.trace import Trace
from ctxassembly.safe_repr import MAX_INTEGER_BITS, safe_repr, to_text
from ctxassembly.text.words import MatchedTerms
from ctxassembly.wording.unicode import make_encodable

_MAX_INTEGER = 2**63
"""Smallest integer that writers of JSON refuse."""


def to_plain(value: Any) -> Any:
    """Return a copy of `value` of dict, list, str, int, float, bool and None. Any other value becomes its `str`.

    So do floats that aren't finite and integers of more than 64 bits, which not every reader of JSON takes. A lone half
    of a surrogate pair can't be sent and becomes U+FFFD. Values without an end are cut as `ctxassembly.data.sanitize`
    describes it.

    >>> to_plain({"pages": (1, 2), "score": float("inf")})
    {'pages': [1, 2], 'score': 'inf'}
    """
    kind = type(value)
    if kind in _SCALARS:
        return _to_builtin(value)
    if kind in (tuple, MatchedTerms):
        return [to_plain(item) for item in value]
    if is_dataclass(kind):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    return _to_builtin(make_readable({"": value})[0][""])


def _to_builtin(value: Any) -> Any:
    """Return the same for a value that is known to have an end."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else make_encodable(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_MAX_INTEGER <= value < _MAX_INTEGER else safe_repr(value, MAX_INTEGER_BITS)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is dict:
        return {
            _to_builtin(key) if type(key) is str else to_text(key) or "None": _to_builtin(value[key]) for key in value
        }
    if kind in (set, frozenset):
        value = sorted(value, key=safe_repr)  # the same in every run
    if kind in (list, tuple, set, frozenset):
        return [_to_builtin(item) for item in value]
    text = to_text(value)
    return safe_repr(value) if text is None else make_encodable(text)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def trace_to_plain(trace: Trace) -> dict[str, Any]:
    """Return the trace as plain data, its one-line summary first."""
    return {"summary": trace.summary, **to_plain(trace)}


def from_plain(kind: Any, value: Any) -> Any:
    """Return the object of type `kind` from `to_plain(value)`. Each field has the type that it declares.

    A value that `to_plain` wrote as its `str` stays a string where the field takes one. A value that `to_plain` never
    writes may raise any error.

    >>> from_plain(tuple[int, ...], to_plain((1, 2)))
    (1, 2)
    """
    if kind in _SCALARS:
        return _scalar(kind, value)
    if kind is Any or type(value) is kind:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _first_matching(arguments, value)
    if origin is Literal:
        return arguments[arguments.index(value)]
    if origin is Mapping:
        return {from_plain(arguments[0], name): from_plain(arguments[1], item) for name, item in dict(value).items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return kind(**{name: from_plain(hints[name], item) for name, item in dict(value).items()})
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list expected, got {type(value)}")
    names = getattr(kind, "_fields", None)  # of a named tuple
    if names:
        return kind(*(from_plain(_hints(kind)[name], item) for name, item in zip(names, value, strict=True)))
    many = origin in (Sequence, frozenset) or arguments[1:] == (...,)
    kinds = arguments[:1] * len(value) if many else arguments
    items = tuple(from_plain(one, item) for one, item in zip(kinds, value, strict=True))
    if kind == Span and not 0 <= items[0] <= items[1]:
        raise ValueError(f"a span expected, got {items}")
    return frozenset(items) if origin is frozenset else items


def _first_matching(kinds: Sequence[Any], value: Any) -> Any:
    """Return `value` as the first of `kinds` that takes it.

    Raises:
        TypeError: none does.
    """
    for kind in sorted(kinds, key=lambda kind: kind is not type(value)):
        try:
            return from_plain(kind, value)
        except Exception:  # noqa: BLE001, S112 - it may be of the next kind
            continue
    raise TypeError(f"one of {kinds} expected, got {type(value)}")


def _scalar(kind: Any, value: Any) -> Any:
    """Return `value` if it is of `kind`. A whole number is a float, too, and so is text of one that isn't finite.

    Raises:
        TypeError: it is of another kind.
        ValueError: it is a text of no number, or a larger integer than `to_plain` writes.
    """
    if kind is float and type(value) in (int, float, str):
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{kind} expected, got {type(value)}")
    if kind is int and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise ValueError("an integer of 64 bits expected")
    return value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
