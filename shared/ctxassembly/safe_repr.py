"""Values of any kind as text, for notes, messages and views.

The values come from callers: a `repr` may raise, a list may hold itself, and an object may print its address in memory.
Here writing one never raises, stops after a number of characters, and gives the same text in every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

MOST_CHARS = 200
"""Most characters of a value in a message."""
MOST_MESSAGE_CHARS = 500
"""Most characters of the message of another library's error."""
MOST_OF_DRIVER_CHARS = 300
"""Most characters of the message of a database's driver."""
MOST_BITS = 13_000
"""Bits of the largest integer that is written out: Python refuses more than 4,300 digits."""
_HIGHEST = 1 << MOST_BITS
_MOST_LEVELS = 5
_MOST_CONTAINER_CHARS, _MOST_CONTAINER_LEVELS = 10_000, 50
"""Most of a container that is used as a text: a longer one has no room in a header anyway."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BRACKETS: dict[type, str] = {list: "[ ]", tuple: "( )", set: "{ }", frozenset: "{ }", dict: "{ }"}


def shown(value: object, most: int = MOST_CHARS) -> str:
    """The beginning of the `repr` of `value`, at most `most` characters, without addresses in memory.

    Builtins and dataclasses are written only as far as they are shown. If a `repr` raises, the type's name stands in.

    >>> shown(object()), shown(list(range(1000)), 20)
    ('<object object>', '[0, 1, 2, 3, 4, 5, 6')
    """
    return _beginning(value, most, _MOST_LEVELS)


def _beginning(value: object, most: int, levels: int) -> str:
    pieces: list[str] = []
    length = 0
    for piece in _pieces(value, most, levels):
        pieces.append(piece)
        length += len(piece)
        if length >= most:
            break
    return "".join(pieces)[:most]


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number with its noun, which takes an s in the plural unless `several` says otherwise.

    >>> counted(1, "chunk"), counted(1200, "chunk"), counted(2, "query", "queries")
    ('1 chunk', '1,200 chunks', '2 queries')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def failure(error: BaseException, lines: int | None = None) -> str:
    """The type of `error` and the beginning of its message, at most `lines` of it.

    Of an error of SQLAlchemy's the first line of the driver's own: its text has the statement and its parameters.

    >>> failure(ValueError("no such table"))
    'ValueError: no such table'
    """
    driver = getattr(error, "orig", None) if type(error).__module__ == "sqlalchemy.exc" else None
    if isinstance(driver, BaseException):
        return failure(driver, lines=1)
    message = as_text(error)
    if message is None:
        return f"{type(error).__name__}: no message"
    most = MOST_MESSAGE_CHARS if lines is None else MOST_OF_DRIVER_CHARS
    return f"{type(error).__name__}: " + "\n".join(message[:most].split("\n")[:lines])


def as_text(value: object) -> str | None:
    """The `str` of `value`, without addresses in memory; None if it is None or its `str` raises.

    A container is cut, since one of a few bytes can be endless.
    """
    if value is None or type(value) is str:
        return value
    if type(value) is int and -_HIGHEST < value < _HIGHEST:
        return str(value)
    if type(value) in _BRACKETS:
        return _beginning(value, _MOST_CONTAINER_CHARS, _MOST_CONTAINER_LEVELS)
    try:
        text = str.__str__(str(value))
    except Exception:  # noqa: BLE001 - a class of the caller may raise anything
        return None
    return text if issubclass(type(value), str) else _ADDRESS.sub("", text)


def as_name(value: object) -> str | None:
    """`value` as an id; None if it is empty, a container, or has no text that lasts beyond this run.

    A string of any class stands for itself. An object whose text is its address in memory has no lasting one.

    >>> as_name("a.pdf"), as_name(7), as_name([7]), as_name(object())
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


def _pieces(value: Any, most: int, levels: int) -> Iterator[str]:
    kind = type(value)
    if kind is str or kind is bytes:
        yield repr(value[: most + 1] if len(value) > most else value)
    elif kind is int and value.bit_length() > MOST_BITS:
        yield f"<int of {value.bit_length():,} bits>"
    elif kind in _BRACKETS:
        yield from _items(value, most, levels)
    elif is_dataclass(kind):
        yield from _fields(value, most, levels)
    else:
        yield _written(value)


def _items(value: Any, most: int, levels: int) -> Iterator[str]:
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
            yield from _pieces(item[0], most, levels - 1)
            yield ": "
            yield from _pieces(item[1], most, levels - 1)
        else:
            yield from _pieces(item, most, levels - 1)
    if type(value) is tuple and len(value) == 1:
        yield ","
    yield closing


def _fields(value: Any, most: int, levels: int) -> Iterator[str]:
    yield f"{type(value).__name__}("
    for number, field in enumerate(field for field in fields(value) if field.repr):
        yield f"{', ' if number else ''}{field.name}="
        try:
            held = getattr(value, field.name)
        except Exception:  # noqa: BLE001 - see above
            held = ...
        yield from _pieces(held, most, levels - 1) if levels else ("...",)
    yield ")"


def _written(value: object) -> str:
    try:
        return _ADDRESS.sub("", str.__str__(repr(value)))
    except Exception:  # noqa: BLE001 - see above
        return f"<{type(value).__name__}>"
