"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the number of words they share, divided by the number of words in either
(Jaccard similarity), reaches the threshold. A text is part of a longer one if that share of its shingles, runs of five
words, occurs in the longer text, too. Words alone would call a short text part of any long one on the same subject;
shingles keep the order, and five words in a row are no accident.

Texts are compared pair by pair. Sets of too different sizes are not near, and words and shingles of a text are looked
up until too many are missing.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""


class NearIndex:
    """The texts kept so far, by their position in the list of all, and the ones that make another text superfluous.

    A text without words is near to nothing; one of fewer than five is part of nothing.

    >>> index = NearIndex(["Drink water until two hours before.", "Drink water until two hours before it."], 0.85)
    >>> index.add(0)
    >>> index.find(1)
    [Match(text_index=0, is_part=False)]
    """

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self._threshold = threshold
        listed = [words(text) for text in texts]
        self._words = [frozenset(text) for text in listed]
        # Hashes take a third of the memory of the words, and two of 64 bits are equal by chance once in 10^19.
        self._shingles = [
            frozenset(map(hash, zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False)))
            for text in listed
        ]
        self._kept: list[int] = []

    def add(self, position: int) -> None:
        """Keep the text at `position`."""
        insort(self._kept, position)

    def discard(self, position: int) -> None:
        """Stop keeping the text at `position`."""
        self._kept.remove(position)

    def find(self, position: int) -> list[Match]:
        """Return the kept texts that the one at `position` is near to or part of, by position."""
        found = []
        for other in self._kept:
            if self._is_near(position, other):
                found.append(Match(other))
            elif self._is_part(position, other):
                found.append(Match(other, is_part=True))
        return found

    def _is_near(self, position: int, other: int) -> bool:
        smaller, larger = sorted((self._words[position], self._words[other]), key=len)
        shared, total = len(smaller), len(smaller) + len(larger)
        if not shared or shared / len(larger) < self._threshold:
            return False
        for word in smaller:
            if word not in larger:
                shared -= 1
                if shared / (total - shared) < self._threshold:
                    return False
        return True

    def _is_part(self, position: int, other: int) -> bool:
        mine, theirs = self._shingles[position], self._shingles[other]
        if not 0 < len(mine) <= len(theirs):
            return False
        # As a share of all, like the threshold, so that the one at the border counts.
        missing = 0
        for shingle in mine:
            if shingle not in theirs:
                missing += 1
                if (len(mine) - missing) / len(mine) < self._threshold:
                    return False
        return True
