"""The words of a query, and their places in a text.

A word is found by its first six letters, which most forms of it share. Of a long word, mostly a compound, these say too
little: it is also a term by all its letters but the last two, and such a find counts in addition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.kinds import character_table, codes_of
from ctxassembly.text.scan import FIRST_BITS, STEM, Scan, find_words, first_letters, stem_keys
from ctxassembly.text.sentences import PAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Codes
    from ctxassembly.text.scan import Ints, Keys

LONG_WORD, ENDING = 10, 2
"""Letters of the shortest long word, and of the ending in which its forms differ."""


class Terms(NamedTuple):
    """The different words of a query: their stems, then what long ones have behind the stem."""

    keys: Keys
    """Of the stems, ascending."""
    begins: NDArray[np.bool_]
    """Whether a stem begins with two letters, by their number."""
    longs: list[tuple[int, Codes]]
    """The number of the stem of each long word, and its letters behind the stem but the ending."""

    @property
    def size(self) -> int:
        """The number of terms."""
        return len(self.keys) + len(self.longs)


def query_terms(query: str) -> Terms:
    """Return the terms of `query`."""
    table, codes = character_table(), codes_of(PAD + query + PAD)
    plain = table.plain.take(codes)
    starts, lengths = find_words(table.kinds.take(codes))
    short = np.minimum(lengths, STEM)
    begins = np.zeros(1 << FIRST_BITS, bool)
    begins[first_letters(plain, starts, short)] = True
    found = stem_keys(plain, starts, short)
    keys = np.unique(found)
    longs = {}
    for number in np.flatnonzero(lengths >= LONG_WORD).tolist():
        tail = plain[starts[number] + STEM : starts[number] + lengths[number] - ENDING]
        longs[tail.tobytes(), found[number]] = int(np.searchsorted(keys, found[number])), tail
    return Terms(keys, begins, [*longs.values()])


def find_terms(scan: Scan, terms: Terms) -> tuple[Ints, Ints]:
    """Return offset and number of each occurrence of `terms`. Most words are skipped by their first two letters."""
    likely = np.flatnonzero(terms.begins.take(scan.firsts))
    starts = scan.words[likely]
    keys = stem_keys(scan.plain, starts, scan.lengths[likely])
    numbers = np.minimum(np.searchsorted(terms.keys, keys), len(terms.keys) - 1)
    is_same = terms.keys[numbers] == keys
    starts, numbers = starts[is_same], numbers[is_same]
    offsets, found = [starts], [numbers]
    for number, (stem, tail) in enumerate(terms.longs, len(terms.keys)):
        own = starts[numbers == stem]
        places = np.minimum(own[:, None] + np.arange(STEM, STEM + len(tail)), len(scan.plain) - 1)
        own = own[(scan.plain[places] == tail).all(1)]
        offsets.append(own)
        found.append(np.full(len(own), number))
    return np.concatenate(offsets), np.concatenate(found)
