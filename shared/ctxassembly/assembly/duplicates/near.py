"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the words they share, by all words of both (Jaccard), reach the
threshold. A text is part of a longer one if that share of its shingles, runs of five words, stands there, too. Words
alone would call a short text part of any long one about the same things; shingles keep the order, and five words are
too many for an accident.

Few texts are compared each with each. A text is a number with one byte for each word of the vocabulary, so the words
two texts share are one `&` and one count of bits. Beyond `FEW_TEXTS` that would be quadratic: `rarest.py` finds for
each text the few others that may matter. Both find the same.

Comparing all pairs in the usual way takes 27 times as long with 100 chunks and 39 times with 500; from 2,500 to 10,000
chunks the time grows with their number to the power of 1.1 (`python tests/bench/dedup.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from ctxassembly.assembly.duplicates.rarest import ROUNDING, SHINGLE_WORDS, Rarest, shingles_of
from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

FEW_TEXTS = 128
"""Up to here comparing each with each is faster: with 47 chunks two thirds of the time, with 500 more than twice."""
REMEMBERED = 2_048
"""Texts whose shingles are remembered: they take twenty times the memory of the text."""


class NearIndex:
    """The texts kept so far, by their position in the list of all, and the ones that make another text superfluous.

    A text without words is near to nothing; one of fewer than five is part of nothing.

    >>> index = NearIndex(["Drink water until two hours before.", "Drink water until two hours before it."], 0.85)
    >>> index.add(0)
    >>> index.find(1)
    [Match(place=0, is_part=False)]
    """

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self._threshold = threshold
        self._texts, vocabulary = _number(map(words, texts))
        self._sizes = [len(set(text)) for text in self._texts]
        self._shingles: dict[int, frozenset[tuple[int, ...]]] = {}
        self._most_missing = [self._missing(at) for at in range(len(texts))]
        if len(texts) <= FEW_TEXTS:
            self._kept: _Few | Rarest = _Few(self._texts, vocabulary)
        else:
            self._kept = Rarest(self._texts, vocabulary, threshold, self._most_missing)

    def add(self, at: int) -> None:
        """Keep the text at position `at`."""
        self._kept.add(at)

    def discard(self, at: int) -> None:
        """Keep the text at position `at` no longer."""
        self._kept.discard(at)

    def find(self, at: int) -> list[Match]:
        """The kept texts that the one at position `at` is near to or part of, by position."""
        found = []
        mine = self._sizes[at]
        part = None
        for other, shared in self._kept.met(at):
            if shared / ((mine + self._sizes[other] - shared) or 1) >= self._threshold:
                found.append(Match(other))
            # Comparing shingles is costly, so two cheaper filters come first: words shared, then shingles broken.
            elif mine - shared <= self._most_missing[at]:
                part = part or _Part(self._texts[at], self._threshold)
                if part.may_be_in(self._texts[other]) and part.is_in(self._shingles_of(other)):
                    found.append(Match(other, is_part=True))
        return found

    def _shingles_of(self, at: int) -> frozenset[tuple[int, ...]]:
        if at not in self._shingles:
            if len(self._shingles) == REMEMBERED:
                del self._shingles[next(iter(self._shingles))]
            self._shingles[at] = frozenset(shingles_of(self._texts[at]))
        return self._shingles[at]

    def _missing(self, at: int) -> int:
        """The most words of the text at position `at` that a text which makes it superfluous may lack.

        A missing word breaks all shingles that have it. It breaks at least the one that begins with it, unless it is
        among the last four words; so a text that lacks more words than shingles may be broken doesn't have it as a
        part.
        """
        broken_shingles = (1 - self._threshold) * max(len(self._texts[at]) - SHINGLE_WORDS + 1, 0)
        of_near = (1 - self._threshold) * self._sizes[at]
        return int(max(broken_shingles + SHINGLE_WORDS - 1, of_near) + ROUNDING)


class _Part:
    """A text that is looked for in longer ones."""

    def __init__(self, text: Sequence[int], threshold: float) -> None:
        self._positions: dict[int, list[int]] = defaultdict(list)
        for position, word in enumerate(text):
            self._positions[word].append(position)
        self._all_shingles = max(len(text) - SHINGLE_WORDS + 1, 0)
        self._shingles = frozenset(shingles_of(text))
        self._threshold = threshold
        # Broken ones are counted with repetitions, of which there may be as many more.
        repeated = self._all_shingles - len(self._shingles)
        self._spare = len(self._shingles) * (1 - threshold) + repeated + ROUNDING

    def may_be_in(self, other: Sequence[int]) -> bool:
        """True if few enough shingles have a word that `other` lacks; this alone rules out edited copies."""
        lacking = self._positions.keys() - set(other)
        broken = upto = 0
        for position in sorted(position for word in lacking for position in self._positions[word]):
            first, end = max(position - SHINGLE_WORDS + 1, upto), min(position + 1, self._all_shingles)
            broken += max(end - first, 0)
            upto = position + 1
        return broken <= self._spare

    def is_in(self, shingles: frozenset[tuple[int, ...]]) -> bool:
        """True if enough of its shingles are among those of a text that is no shorter."""
        mine = self._shingles
        return 0 < len(mine) <= len(shingles) and len(mine & shingles) / len(mine) >= self._threshold


class _Few:
    """Kept texts that are all met, each as a number that has a byte for every word."""

    def __init__(self, texts: Sequence[Sequence[int]], vocabulary: int) -> None:
        self._kept: set[int] = set()
        self._masks: list[int] = []
        for text in texts:
            flags = bytearray(vocabulary)
            for word in text:
                flags[word] = 1
            self._masks.append(int.from_bytes(flags, "little"))

    def add(self, at: int) -> None:
        self._kept.add(at)

    def discard(self, at: int) -> None:
        self._kept.remove(at)

    def met(self, at: int) -> Iterator[tuple[int, int]]:
        """The kept texts, by position, each with the number of words that it shares with the one at `at`."""
        mine = self._masks[at]
        for other in sorted(self._kept):
            yield other, (mine & self._masks[other]).bit_count()


def _number(texts: Iterable[Sequence[str]]) -> tuple[list[list[int]], int]:
    """The texts with a number from 0 in place of each word, which takes less memory, and the size of the vocabulary."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts], len(numbers)
