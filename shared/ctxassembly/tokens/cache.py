"""A cache of values by text, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_TEXT_CHARS = 131_072
"""Characters of the longest text that is kept: a longer one would take the room of hundreds of chunks."""
ENTRY_BYTES = 400
"""Most bytes of an entry besides its text: its place in a dict, a tuple, and the ends of the text in it. `bytes_of`
returns what a value takes beyond that."""


class TextCache(Generic[T]):
    """Values by text, in at most about `max_bytes`; least recently used texts are evicted first.

    The entries live in two generations. A text that is new or asked for is put into the younger one. When that reaches
    half of the bytes, the older one is dropped and the younger one takes its place. So a look-up costs one look into a
    dict or two, and threads need no lock: at worst one of them computes a value that another is about to store.

    >>> lengths = TextCache[int](1_000_000)
    >>> lengths.get("water") or lengths.put("water", 5)
    5
    """

    __slots__ = ("_bytes", "_bytes_of", "_generation_bytes", "_old", "recent")

    def __init__(self, max_bytes: int, bytes_of: Callable[[T], int] = lambda _: 0) -> None:
        self._generation_bytes = max_bytes // 2
        self._bytes_of = bytes_of
        self.recent: dict[str, T] = {}
        """The younger generation. Callers in a hot loop look here before they call `get`."""
        self._old: dict[str, T] = {}
        self._bytes = 0

    def get(self, text: str) -> T | None:
        """Return the value of `text`; None if it is unknown or forgotten."""
        known = self.recent.get(text)
        if known is None and (known := self._old.get(text)) is not None:
            self.put(text, known)
        return known

    def put(self, text: str, value: T) -> T:
        """Store `value` for `text`, and return it."""
        if len(text) <= MAX_TEXT_CHARS:
            # The figure of `getsizeof`, in a twentieth of its time.
            size = text.__sizeof__() + ENTRY_BYTES + self._bytes_of(value)
            known = self.recent.get(text)
            self._bytes += size if known is None else self._bytes_of(value) - self._bytes_of(known)
            if self._bytes > self._generation_bytes:
                self._old, self.recent, self._bytes = self.recent, {}, size
            self.recent[text] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        self.recent, self._old, self._bytes = {}, {}, 0
