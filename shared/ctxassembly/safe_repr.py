"""Values of any kind as text, for notes, messages and views.

The values come from callers: a `repr` may raise, a list may contain itself, and an object may print its address in
memory. Here writing one never raises, stops after a number of characters, and gives the same text in every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

MAX_CHARS = 200
"""Most characters of a value in a message."""
MAX_MESSAGE_CHARS = 500
"""Most characters of the message of another library's error."""
MAX_DRIVER_MESSAGE_CHARS = 300
"""Most characters of the message of a database's driver."""
MAX_INTEGER_BITS = 13_000
"""Bits of the largest integer that is written out: Python refuses more than 4,300 digits."""
_INTEGER_BOUND = 1 << MAX_INTEGER_BITS
_MAX_LEVELS = 5
_MAX_CONTAINER_CHARS, _MAX_CONTAINER_LEVELS = 10_000, 50
"""Most of a container that is used as a text: a longer one has no room in a header anyway."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BRACKETS: dict[type, str] = {list: "[ ]", tuple: "( )", set: "{ }", frozenset: "{ }", dict: "{ }"}


def safe_repr(value: object, max_chars: int = MAX_CHARS) -> str:
    """Return the beginning of the `repr` of `value`, at most `max_chars` characters, without memory addresses.

    Builtins and dataclasses are written only as far as they are shown. If a `repr` raises, the type's name is shown.

    >>> safe_repr(object()), safe_repr(list(range(1000)), 20)
    ('<object object>', '[0, 1, 2, 3, 4, 5, 6')
    """
    return _truncated_repr(value, max_chars, _MAX_LEVELS)


def _truncated_repr(value: object, max_chars: int, levels: int) -> str:
    pieces: list[str] = []
    length = 0
    for piece in _repr_pieces(value, max_chars, levels):
        pieces.append(piece)
        length += len(piece)
        if length >= max_chars:
            break
    return "".join(pieces)[:max_chars]


def pluralize(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, with an s in the plural unless `plural` says otherwise.

    >>> pluralize(1, "chunk"), pluralize(1200, "chunk"), pluralize(2, "query", "queries")
    ('1 chunk', '1,200 chunks', '2 queries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def join_first(items: Sequence[str], most: int, noun: str = "") -> str:
    """Return the first `most` of `items` as a list, and the number of the others.

    >>> join_first(["a", "b", "c"], 2), join_first(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest:,} more {noun}".rstrip() if rest > 0 else "")


def describe_error(error: BaseException, max_lines: int | None = None) -> str:
    """Return the type of `error` and the beginning of its message, at most `max_lines` lines.

    Of an error of SQLAlchemy's the first line of the driver's own: its text has the statement and its parameters.

    >>> describe_error(ValueError("no such table"))
    'ValueError: no such table'
    """
    driver = getattr(error, "orig", None) if type(error).__module__ == "sqlalchemy.exc" else None
    if isinstance(driver, BaseException):
        return describe_error(driver, max_lines=1)
    message = to_text(error)
    if message is None:
        return f"{type(error).__name__}: no message"
    max_chars = MAX_MESSAGE_CHARS if max_lines is None else MAX_DRIVER_MESSAGE_CHARS
    return f"{type(error).__name__}: " + "\n".join(message[:max_chars].split("\n")[:max_lines])


def to_text(value: object) -> str | None:
    """Return the `str` of `value` without memory addresses; None if it is None or its `str` raises.

    A container is cut, since one of a few bytes can be endless.
    """
    if value is None or type(value) is str:
        return value
    if type(value) is int and -_INTEGER_BOUND < value < _INTEGER_BOUND:
        return str(value)
    if type(value) in _BRACKETS:
        return _truncated_repr(value, _MAX_CONTAINER_CHARS, _MAX_CONTAINER_LEVELS)
    try:
        text = str.__str__(str(value))
    except Exception:  # noqa: BLE001 - a class of the caller may raise anything
        return None
    return text if issubclass(type(value), str) else _ADDRESS.sub("", text)


def to_id(value: object) -> str | None:
    """Return `value` as an id; None if it is empty, a container, or has no text that is stable between runs.

    A string of any class is its own id. An object whose text is its address in memory has no lasting one.

    >>> to_id("a.pdf"), to_id(7), to_id([7]), to_id(object())
    ('a.pdf', '7', None, None)
    """
    if type(value) is str:
        return value or None
    if value is None or type(value) in _BRACKETS:
        return None
    try:
        if issubclass(type(value), str):  # the string that it equals, which its `str` may not be
            return str.__str__(value) or None
        hash(value)
        text = str.__str__(str(value))
    except Exception:  # noqa: BLE001 - see above
        return None
    return None if _ADDRESS.search(text) else text or None


def _repr_pieces(value: Any, max_chars: int, levels: int) -> Iterator[str]:
    kind = type(value)
    if kind is str or kind is bytes:
        yield repr(value[: max_chars + 1] if len(value) > max_chars else value)
    elif kind is int and value.bit_length() > MAX_INTEGER_BITS:
        yield f"<int of {value.bit_length():,} bits>"
    elif kind in _BRACKETS:
        yield from _container_pieces(value, max_chars, levels)
    elif is_dataclass(kind):
        yield from _dataclass_pieces(value, max_chars, levels)
    else:
        yield _repr_without_address(value)


def _container_pieces(value: Any, max_chars: int, levels: int) -> Iterator[str]:
    opening, closing = _BRACKETS[type(value)].split()
    if not value and type(value) in (set, frozenset):
        yield f"{type(value).__name__}()"
        return
    yield opening
    for number, item in enumerate(tuple(value.items()) if type(value) is dict else tuple(value)):
        if number:
            yield ", "
        if not levels:
            yield "..."
            break
        if type(value) is dict:
            yield from _repr_pieces(item[0], max_chars, levels - 1)
            yield ": "
            yield from _repr_pieces(item[1], max_chars, levels - 1)
        else:
            yield from _repr_pieces(item, max_chars, levels - 1)
    if type(value) is tuple and len(value) == 1:
        yield ","
    yield closing


def _dataclass_pieces(value: Any, max_chars: int, levels: int) -> Iterator[str]:
    yield f"{type(value).__name__}("
    for number, field in enumerate(field for field in fields(value) if field.repr):
        yield f"{', ' if number else ''}{field.name}="
        try:
            field_value = getattr(value, field.name)
        except Exception:  # noqa: BLE001 - see above
            field_value = ...
        yield from _repr_pieces(field_value, max_chars, levels - 1) if levels else ("...",)
    yield ")"


def _repr_without_address(value: object) -> str:
    try:
        return _ADDRESS.sub("", str.__str__(repr(value)))
    except Exception:  # noqa: BLE001 - see above
        return f"<{type(value).__name__}>"
