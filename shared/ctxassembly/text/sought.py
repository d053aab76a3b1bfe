"""The words of a query as they are looked for in what was read of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.stem_keys import key_of
from ctxassembly.text.terms import long_words, stems
from ctxassembly.text.words import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOT_BITS = 16
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2 to the 64 by the golden ratio: it spreads keys over slots (Knuth, The Art of Computer Programming, 6.4)."""


class Found(NamedTuple):
    """Words of a query that occur in a text."""

    word: NDArray[np.int64]
    """The number of each among `Sought.words`."""
    at: NDArray[np.int64]
    """The number of each among the words of the text."""


class Sought:
    """The stems and long words of `query`. A word that begins like a long one is found as that and as its stem."""

    def __init__(self, query: str) -> None:
        self.within = long_words(query)
        """The stem of each long word."""
        own = list(dict.fromkeys(stems(query)))
        self.words: Sequence[str] = [*own, *self.within]
        self._numbers = {word: number for number, word in enumerate(self.words)}
        self._longer: dict[str, list[str]] = {}
        """The long words with a stem, the longest first: of two that begin alike it is meant."""
        for long in sorted(self.within, key=len, reverse=True):
            self._longer.setdefault(self.within[long], []).append(long)
        keys = np.array([key_of(stem) for stem in own], dtype=np.uint64)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._may = np.zeros(1 << _SLOT_BITS, dtype=bool)
        self._may[_slots(keys)] = True

    def found_in(self, keys: NDArray[np.uint64]) -> Found:
        """The stems among those with `keys`; a long word has no key: see `longer`."""
        # Nearly all keys are none of the query's, which a look into a table tells several times as fast as a search.
        at = np.flatnonzero(self._may[_slots(keys)]) if len(self._keys) else np.zeros(0, dtype=np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys[at]), len(self._keys) - 1)
        same = self._keys[place] == keys[at]
        return Found(self._order[place[same]], at[same])

    def longer(self, text: str, word: int, at: int) -> int | None:
        """The number of the long word that `text` has at a place where the stem with the number `word` was found."""
        for long in self._longer.get(self.words[word], ()):
            # Plain text may be longer or shorter than the text.
            if plain(text[at : at + 2 * len(long)]).startswith(long):
                return self._numbers[long]
        return None


def _slots(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (keys * _ODD) >> np.uint64(64 - _SLOT_BITS)
