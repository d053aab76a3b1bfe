"""Values of any kind as text, for notes and messages: never an exception, never endless, the same in every run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

MOST_CHARS = 200
"""Of a value in a message."""
MOST_MESSAGE_CHARS = 500
"""Of another one's message: a database's holds the whole statement."""
MOST_BITS = 13_000
"""Of an integer that is written out: Python refuses to write one of more than 4,300 digits."""
_HIGHEST = 1 << MOST_BITS
_MOST_LEVELS = 5
_MOST_CONTAINER_CHARS, _MOST_CONTAINER_LEVELS = 10_000, 50
"""Of a list that stands as a text: in a header it has no room anyway."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BRACKETS: dict[type, str] = {list: "[ ]", tuple: "( )", set: "{ }", frozenset: "{ }", dict: "{ }"}


def shown(value: object, most: int = MOST_CHARS) -> str:
    """The beginning of the `repr` of `value`, at most `most` characters, without addresses in memory.

    Of builtins and dataclasses no more is made than is shown. A `repr` that fails is replaced by the type's name.
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


def failure(error: BaseException) -> str:
    """What kind of error it is and the beginning of its message, if that can be read."""
    message = as_text(error)
    return type(error).__name__ + (": no message" if message is None else f": {message[:MOST_MESSAGE_CHARS]}")


def as_text(value: object) -> str | None:
    """The `str` of `value`, without addresses in memory; None for None and for what can't be written.

    Of lists and other containers it is the beginning: in few bytes they can be endless.
    """
    if value is None or type(value) is str:
        return value
    if type(value) is int and -_HIGHEST < value < _HIGHEST:
        return str(value)
    if type(value) in _BRACKETS:
        return _beginning(value, _MOST_CONTAINER_CHARS, _MOST_CONTAINER_LEVELS)
    try:
        text = str.__str__(str(value))
    except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
        return None
    return text if issubclass(type(value), str) else _ADDRESS.sub("", text)


def as_name(value: object) -> str | None:
    """`value` as an id, which a string of any class is itself; None for what is empty or has no lasting text.

    Lists and other containers name nothing, and neither does an object that is told by its address in memory.
    """
    if type(value) is str:
        return value or None
    if value is None or type(value) in _BRACKETS:
        return None
    try:
        if issubclass(type(value), str):  # what it equals, whatever it is written as
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
    for place, item in enumerate(tuple(value.items()) if type(value) is dict else tuple(value)):
        if place:
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
    for place, each in enumerate(each for each in fields(value) if each.repr):
        yield f"{', ' if place else ''}{each.name}="
        try:
            held = getattr(value, each.name)
        except Exception:  # noqa: BLE001 - see above
            held = ...
        yield from _pieces(held, most, levels - 1) if levels else ("...",)
    yield ")"


def _written(value: object) -> str:
    try:
        return _ADDRESS.sub("", str.__str__(repr(value)))
    except Exception:  # noqa: BLE001 - see above
        return f"<{type(value).__name__}>"
