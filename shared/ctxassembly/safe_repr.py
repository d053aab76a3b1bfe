"""Values of any kind as text, for notes, messages and views.

The values come from callers: a `repr` may raise, and an object may print its address in memory. Here writing one never
raises, stops after a number of characters, and gives the same text in every run.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Sequence
from typing import Any

MAX_CHARS = 200
"""Most characters of a value in a message."""
MAX_MESSAGE_CHARS = 500
"""Most characters of the message of another library's error."""
MAX_DRIVER_MESSAGE_CHARS = 300
"""Most characters of the message of a database's driver."""
MAX_TEXT_CHARS = 10_000
"""Most characters of a list or a mapping that is used as a text."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_CONTAINERS = (list, tuple, set, frozenset, dict)


class _Writer(reprlib.Repr):
    """Writes builtins as far as they are shown, and any other object by its own `repr` if that doesn't raise."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 20
        self.maxstring = self.maxlong = MAX_CHARS

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002 - as the base class calls it
        try:
            return _ADDRESS.sub("", str.__str__(repr(x)))
        except Exception:  # noqa: BLE001 - a class of the caller may raise anything
            return f"<{type(x).__name__}>"


_WRITER = _Writer()


def safe_repr(value: object, max_chars: int = MAX_CHARS) -> str:
    """Return the beginning of the `repr` of `value`, at most `max_chars` characters, without memory addresses.

    If a `repr` raises, the type's name is shown.

    >>> safe_repr(object()), safe_repr(list(range(1000)), 20)
    ('<object object>', '[0, 1, 2, 3, 4, 5, 6')
    """
    try:
        return _WRITER.repr(value)[:max_chars]
    except Exception:  # noqa: BLE001 - such as ValueError for an integer of more digits than Python writes
        return f"<{type(value).__name__}>"


def pluralize(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, with an s in the plural unless `plural` says otherwise.

    >>> pluralize(1, "chunk"), pluralize(1200, "chunk"), pluralize(2, "query", "queries")
    ('1 chunk', '1,200 chunks', '2 queries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def join_first(items: Sequence[str], most: int) -> str:
    """Return the first `most` of `items` as a list, and the number of the others.

    >>> join_first(["a", "b", "c"], 2), join_first(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest:,} more" if rest > 0 else "")


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

    A list or a mapping is written as `safe_repr` writes it.
    """
    if value is None or type(value) is str:
        return value
    if type(value) in _CONTAINERS:
        return safe_repr(value, MAX_TEXT_CHARS)
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
    if issubclass(type(value), str):  # the string that it equals, which its `str` may not be
        return str.__str__(value) or None
    if value is None or type(value) in _CONTAINERS:
        return None
    try:
        hash(value)
        text = str.__str__(str(value))
    except Exception:  # noqa: BLE001 - see above
        return None
    return None if _ADDRESS.search(text) else text or None
