"""What was found out about texts, remembered in bounded memory."""

from __future__ import annotations

from sys import getsizeof
from typing import Generic, TypeVar

T = TypeVar("T")

LONGEST = 8_192
"""Characters; a longer text is rare and not worth its memory."""
ENTRY_BYTES = 400
"""What an entry takes at most besides its text: its place in a dict, a tuple, and the ends of the text in it."""


class Remembered(Generic[T]):
    """Values by text, in at most about `most_bytes`: the texts that were not asked for longest are forgotten.

    They come and go in two generations. What is new or asked for is in the younger one; when that has half of the
    bytes, the older one is forgotten and the younger one grows old. So asking takes no more than a look into a dict,
    and threads need no lock: at worst one finds out again what another one is about to remember.
    """

    __slots__ = ("_bytes", "_most", "_old", "young")

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes // 2
        self.young: dict[str, T] = {}
        """The younger generation: who asks very often looks here first."""
        self._old: dict[str, T] = {}
        self._bytes = 0

    def get(self, text: str) -> T | None:
        """What is known of `text`."""
        known = self.young.get(text)
        if known is None and (known := self._old.get(text)) is not None:
            self.put(text, known)
        return known

    def put(self, text: str, value: T) -> T:
        """`value`, which from now on is what is known of `text`."""
        if len(text) <= LONGEST:
            if text not in self.young:
                self._bytes += getsizeof(text) + ENTRY_BYTES
            if self._bytes > self._most:
                self._old, self.young, self._bytes = self.young, {}, getsizeof(text) + ENTRY_BYTES
            self.young[text] = value
        return value

    def clear(self) -> None:
        """Forget all of it."""
        self.young, self._old, self._bytes = {}, {}, 0
