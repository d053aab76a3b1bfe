"""Many texts as one array of characters, and the kinds of each character.

A pass over an array costs hardly more for many short texts than for one. So what is read of all texts of an assembly is
read of such an array: where their sentences end (`sentence_breaks.py`) and where their words begin (`text_index.py`).
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.cached_property import cached_property
from ctxassembly.text.sentence_rules import (
    CLOSING,
    CONSONANTS,
    FULL_STOPS,
    MARKS_AFTER_WORD,
    OPEN_ENDINGS,
    OPENING_MARKS,
    SMALL_LETTERS,
    STOPS,
)
from ctxassembly.text.words import UNSPACED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]

SPACE, LETTER, NUMBER, STOP, FULL_STOP, CLOSING_MARK, SMALL, CAPITAL = (1 << bit for bit in range(8))
MAY_CONTINUE, MAY_BEGIN_WORD, OPENING_MARK, MARK_AFTER_WORD = (1 << bit for bit in range(8, 12))
CONSONANT, ROMAN, SPACED_WORD, UNSPACED_WORD = (1 << bit for bit in range(12, 16))
_CHARACTERS = 0x40000
"""Number of characters in the table of kinds: from here on there are only some rare ideographs."""
PADDING = 32
"""Zeros after the last text, so that nobody has to check whether there are characters to look at."""


@cache
def _character_kinds() -> NDArray[np.uint16]:
    """Return the kinds of each character, as bits; the last entry is for all that the table doesn't have."""
    characters = np.arange(_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.zeros(_CHARACTERS + 1, dtype=np.uint16)
    for pattern, kind in (
        (rf"[^\W{UNSPACED}]+", SPACED_WORD),
        (f"[{UNSPACED}]+", UNSPACED_WORD),
        (r"\s+", SPACE),
        (r"\d+", NUMBER),
        (r"[^\W\d_]+", MAY_BEGIN_WORD),
    ):
        for run in re.finditer(pattern, characters):
            found = kinds[run.start() : run.end()]
            if kind == MAY_BEGIN_WORD:  # "½" may begin a word, but is no letter
                are_letters = run[0].isalpha() or [*map(str.isalpha, run[0])]
                found |= np.where(are_letters, LETTER | MAY_CONTINUE, 0).astype(np.uint16)
            found |= np.uint16(kind)
    for some, kind in (
        (STOPS, STOP),
        (FULL_STOPS, FULL_STOP),
        (CLOSING, CLOSING_MARK),
        (SMALL_LETTERS, SMALL),
        ("(§", NUMBER),
        (OPEN_ENDINGS, MAY_CONTINUE),
        (OPENING_MARKS, OPENING_MARK),
        (MARKS_AFTER_WORD, MARK_AFTER_WORD),
        (CONSONANTS, CONSONANT),
        ("IVXivx", ROMAN),
        (string.ascii_uppercase, CAPITAL),
    ):
        kinds[[*map(ord, some)]] |= kind
    return kinds


class Characters:
    """The characters of several texts, one after the other with a zero between them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # A line break before and after all texts spares a check whether there is one.
        self.joined = "\0".join(["\n", *texts, "\n".ljust(PADDING, "\0")])
        self.starts = np.array([*accumulate((len(text) + 1 for text in texts), initial=2)])
        """Offset of each text, and of what would be the next one."""
        self.codes = np.frombuffer(self.joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        self.kinds = _character_kinds().take(self.codes, mode="clip")

    def are(self, kind: int, places: IntArray | slice = slice(None)) -> BoolArray:
        """Return which of the characters, or of those at `places`, are of this kind, or of one of several."""
        are_kind: BoolArray = self.kinds[places] & kind != 0
        return are_kind

    def runs(self, kind: int) -> tuple[IntArray, IntArray]:
        """Return where each run of characters of this kind begins and ends."""
        are_kind = self.are(kind)
        edges = (are_kind[1:] != are_kind[:-1]).nonzero()[0] + 1
        return edges[::2], edges[1::2]

    @cached_property
    def is_space(self) -> BoolArray:
        """Whether each character is white space."""
        return self.are(SPACE)

    @cached_property
    def newlines(self) -> IntArray:
        """Offset of each line feed."""
        return self._find("\n")

    @cached_property
    def bars(self) -> IntArray:
        """Offset of each bar, which may separate two cells of a table."""
        return self._find("|")

    def _find(self, character: str) -> IntArray:
        places: IntArray = (self.codes == ord(character)).nonzero()[0]
        return places

    @cached_property
    def _long_space_ends(self) -> IntArray:
        """The end of each run of white space but the single blanks, which most of them are."""
        is_long = self.is_space[:-2] & self.is_space[1:-1] & ~self.is_space[2:]
        ends: IntArray = is_long.nonzero()[0] + 2
        return ends

    def space_end(self, at: IntArray) -> IntArray:
        """Return the offset after the white space that `at` is in, for each of them."""
        end = at + 1
        long = self.is_space[end].nonzero()[0]
        end[long] = self._long_space_ends[self._long_space_ends.searchsorted(at[long], side="right")]
        return end

    def in_texts(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the offset of each of `places`, which ascend, in its own text, and how many of them each text has."""
        counts: IntArray = np.diff(places.searchsorted(self.starts))
        return places - np.repeat(self.starts[:-1], counts), counts

    def text_numbers(self, at: IntArray) -> IntArray:
        """Return the number of the text that each of `at` is in."""
        numbers: IntArray = self.starts.searchsorted(at, side="right") - 1
        return numbers
