"""Which chunks say nearly the same in nearly the same words.

Two texts are near if their word sets are (Jaccard: shared words by all words), and a text is part of a longer one if
most runs of five words in it stand there too; then most of its words do. Few texts are compared each with each, which
takes two operations on numbers that have a place for every word. Many are looked up by the rarest of their words: two
texts that share enough of all their words share one of the rarest (the prefix filter of Bayardo, Ma and Srikant 2007,
"Scaling up all pairs similarity search"). So a text meets the few others that have a rare word of it, not all.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count

from ctxassembly.types import Match
from ctxassembly.words import words

SHINGLE_WORDS = 5
"""Words of a run, as in the published rule of containment: short enough to survive edits, too long for an accident."""
SPARE = 12
"""Words looked up beyond those of which one would have to be met: then several have to, and few texts have them."""
FEW_TEXTS = 128
"""Up to here comparing each with each is faster: with 47 chunks two thirds of the time, with 500 more than twice."""
_ROUNDING = 1e-9
"""What a product of floats may be off by; the comparison itself is exact, this only keeps the filter from missing."""


class NearIndex:
    """The texts that are kept so far, by place, and which of them make another one superfluous.

    A text without words is near to nothing; one of fewer than five is part of nothing.
    """

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self._threshold = threshold
        self._texts, vocabulary = _number(map(words, texts))
        self._sizes = [len(set(text)) for text in self._texts]
        self._runs: dict[int, frozenset[tuple[int, ...]]] = {}
        self._most_missing = [self._missing(at) for at in range(len(texts))]
        few = len(texts) <= FEW_TEXTS
        self._kept = _Few(self._texts, vocabulary) if few else _Many(self._texts, self._most_missing)

    def add(self, at: int) -> None:
        """Keep the text at place `at`."""
        self._kept.add(at)

    def discard(self, at: int) -> None:
        """Keep it no longer."""
        self._kept.discard(at)

    def find(self, at: int) -> list[Match]:
        """The kept texts that the one at place `at` is near to or part of, by place."""
        found = []
        mine = self._sizes[at]
        for place, shared in self._kept.met(at):
            if shared / ((mine + self._sizes[place] - shared) or 1) >= self._threshold:
                found.append(Match(place))
            elif mine - shared <= self._most_missing[at] and self._is_part(at, place):
                found.append(Match(place, is_part=True))
        return found

    def _is_part(self, at: int, place: int) -> bool:
        mine, other = self._runs_of(at), self._runs_of(place)
        return 0 < len(mine) <= len(other) and len(mine & other) / len(mine) >= self._threshold

    def _runs_of(self, at: int) -> frozenset[tuple[int, ...]]:
        if at not in self._runs:
            numbers = self._texts[at]
            self._runs[at] = frozenset(zip(*(numbers[first:] for first in range(SHINGLE_WORDS)), strict=False))
        return self._runs[at]

    def _missing(self, at: int) -> int:
        """How many of its words another text may lack at most that the one at place `at` is near to or part of.

        Each word that is missing begins a run that is missing too, unless it is one of the last ones.
        """
        missing_runs = (1 - self._threshold) * max(len(self._texts[at]) - SHINGLE_WORDS + 1, 0)
        of_near = (1 - self._threshold) * self._sizes[at]
        return int(max(missing_runs + SHINGLE_WORDS - 1, of_near) + _ROUNDING)


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
        """The kept texts, by place, each with the number of words that it shares with the one at `at`."""
        mine = self._masks[at]
        for place in sorted(self._kept):
            yield place, (mine & self._masks[place]).bit_count()


class _Many:
    """Kept texts that are met by their rarest words."""

    def __init__(self, texts: Sequence[Sequence[int]], most_missing: Sequence[int]) -> None:
        self._words = [frozenset(text) for text in texts]
        # By these a text is looked up. What only one text has leads nowhere.
        self._probes = self._rarest(most_missing)
        self._by_word: dict[int, list[int]] = {word: [] for probes, _ in self._probes for word in probes}

    def add(self, at: int) -> None:
        for places in self._entries(at):
            places.append(at)

    def discard(self, at: int) -> None:
        for places in self._entries(at):
            places.remove(at)

    def met(self, at: int) -> Iterator[tuple[int, int]]:
        """Those that share enough to be near, and few others, by place, each with how many words it shares."""
        probes, needed = self._probes[at]
        hits = Counter(chain.from_iterable([self._by_word[word] for word in probes]))
        for place in sorted([place for place, number in hits.items() if number >= needed]):
            yield place, len(self._words[at] & self._words[place])

    def _entries(self, at: int) -> list[list[int]]:
        return [self._by_word[word] for word in self._words[at] if word in self._by_word]

    def _rarest(self, most_missing: Sequence[int]) -> list[tuple[list[int], int]]:
        """For each text its rarest words, and how many of them what lacks no more than it may has at least.

        Those that no other text has are the rarest of all and left out. If they are too many, nothing shares enough.
        """
        counted = Counter(chain.from_iterable(self._words))
        ranked = sorted(range(len(counted)), key=counted.__getitem__)
        common = bisect_left(ranked, 2, key=counted.__getitem__)
        rarity = sorted(range(len(counted)), key=ranked.__getitem__)
        rarest = []
        for mine, missing in zip(self._words, most_missing, strict=True):
            places = sorted(map(rarity.__getitem__, mine))
            own = bisect_left(places, common)
            may_miss = missing - own
            probes = [ranked[place] for place in places[own : own + may_miss + SPARE]] if may_miss >= 0 else []
            rarest.append((probes, len(probes) - may_miss))
        return rarest


def _number(texts: Iterable[Sequence[str]]) -> tuple[list[list[int]], int]:
    """The texts with a number from 0 in place of each word, which takes less memory, and how many words there are."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts], len(numbers)
