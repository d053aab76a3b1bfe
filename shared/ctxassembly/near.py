"""Which chunks say nearly the same in nearly the same words.

Two texts are near if their word sets are (Jaccard: shared words by all words), and a text is part of a longer one if
most runs of five words in it stand there too; then most of its words do. Few texts are compared each with each, which
takes two operations on numbers that have a place for every word. Many are looked up by what is rare in them (the prefix
filter of Bayardo, Ma and Srikant 2007, "Scaling up all pairs similarity search"): two texts that share enough of all
their words share some of the rarest of both, and a text that is part of another one shares one of its rarest runs. So a
text meets the few others that may make it superfluous, not all that are written with the same words.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

from ctxassembly.types import Match
from ctxassembly.words import words

SHINGLE_WORDS = 5
"""Words of a run, as in the published rule of containment: short enough to survive edits, too long for an accident."""
SPARE = 12
"""Words looked up beyond those of which one would have to be met: then several have to, and few texts have them."""
SPARE_TIMES = 2
"""How much commoner they may be: what a template has is in all of its texts."""
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
        self._kept = _Few(self._texts, vocabulary) if few else _Many(self._texts, threshold)

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
            self._runs[at] = _runs(self._texts[at])
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
    """Kept texts that are met by what is rare in them."""

    def __init__(self, texts: Sequence[Sequence[int]], threshold: float) -> None:
        self._words = [frozenset(text) for text in texts]
        ranked, number = _by_rarity(self._words)
        # Of two texts that are near, both have the first of the words that they share among these of theirs.
        self._near = [_rarest(mine, _least(threshold, len(mine)), number) for mine in ranked]
        sought = {word for probes, _, _ in self._near for word in probes}
        reach = [mine[: len(mine) - _least(threshold, len(mine)) + 1 + SPARE] for mine in ranked]
        self._beyond = [len(mine) - len(head) for mine, head in zip(ranked, reach, strict=True)]
        self._heads = [[word for word in mine if word in sought] for mine in reach]
        self._share = threshold / (1 + threshold)  # of the words of both, counted twice, that near texts share
        self._by_word: dict[int, list[int]] = {word: [] for word in sought}

        runs = [[hash(run) for run in _runs(text)] for text in texts]
        ranked, number = _by_rarity(runs)
        # So many runs that one of them is in whatever has the text as a part.
        fewest = [mine[: len(mine) - _least(threshold, len(mine)) + 1] for mine in ranked]
        self._probes = [[run for run in mine if number[run] > 1] for mine in fewest]
        sought = set(chain.from_iterable(self._probes))
        self._runs = [[run for run in mine if run in sought] for mine in runs]
        self._by_run: dict[int, list[int]] = {run: [] for run in sought}

    def add(self, at: int) -> None:
        for places in self._entries(at):
            places.append(at)

    def discard(self, at: int) -> None:
        for places in self._entries(at):
            places.remove(at)

    def met(self, at: int) -> Iterator[tuple[int, int]]:
        """Those that share enough to be near, and few others, by place, each with how many words it shares."""
        probes, needed, mine_beyond = self._near[at]
        mine, share = len(self._words[at]), self._share
        hits = Counter(chain.from_iterable([self._by_word[word] for word in probes]))
        found = set()
        for place, number in hits.items():
            if number >= needed:
                # Of the words that were not looked up on one of the sides no more can be shared than there are.
                beyond = max(mine_beyond, self._beyond[place])
                if number + beyond >= share * (mine + len(self._words[place])) - _ROUNDING:
                    found.add(place)
        found.update(chain.from_iterable([self._by_run[run] for run in self._probes[at]]))
        for place in sorted(found):
            yield place, len(self._words[at] & self._words[place])

    def _entries(self, at: int) -> Iterator[list[int]]:
        yield from [self._by_word[word] for word in self._heads[at]]
        yield from [self._by_run[run] for run in self._runs[at]]


def _least(threshold: float, number: int) -> int:
    """How many of so many have to be shared."""
    return max(math.ceil(threshold * number - _ROUNDING), 1)


def _by_rarity(sets: Sequence[Collection[int]]) -> tuple[list[list[int]], Mapping[int, int]]:
    """The members of each set, the rarest first and always in the same order; and how many sets have each."""
    number = Counter(chain.from_iterable(sets))
    return [sorted(mine, key=lambda each: (number[each], each)) for mine in sets], number


def _rarest(ranked: Sequence[int], least: int, number: Mapping[int, int]) -> tuple[list[int], int, int]:
    """The words by which a text is looked up that shares `least` with whatever it is near to, and how many must be met.

    And how many words it has beyond them. Spare ones are added as long as they are not much commoner. Those that no
    other text has lead nowhere.
    """
    end = len(ranked) - least + 1
    most = SPARE_TIMES * number[ranked[end - 1]] if ranked else 0
    if most <= SPARE_TIMES:
        return [], 1, 0
    spare = 0
    while spare < SPARE and spare + 1 < least and number[ranked[end + spare]] <= most:
        spare += 1
    return [word for word in ranked[: end + spare] if number[word] > 1], spare + 1, len(ranked) - end - spare


def _runs(text: Sequence[int]) -> frozenset[tuple[int, ...]]:
    return frozenset(zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False))


def _number(texts: Iterable[Sequence[str]]) -> tuple[list[list[int]], int]:
    """The texts with a number from 0 in place of each word, which takes less memory, and how many words there are."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts], len(numbers)
