"""Which chunks say nearly the same in nearly the same words, found without comparing each with each.

Two texts are near if their word sets are (Jaccard: shared words by all words), and a text is part of a longer one if
most runs of five words in it stand there too. Both are looked up by the rarest of a text's words: two texts that share
enough of all their words share one of the rarest (the prefix filter of Bayardo, Ma and Srikant 2007, "Scaling up all
pairs similarity search"). So a text meets the few others that have a rare word of it, not all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from math import ceil

from ctxassembly.types import Match
from ctxassembly.words import words

SHINGLE_WORDS = 5
"""Words of a run, as in the published rule of containment: short enough to survive edits, too long for an accident."""
_WORD_BITS = 32
_RUN_MASK = (1 << _WORD_BITS * SHINGLE_WORDS) - 1
_ROUNDING = 1e-9
"""What a product of floats may be off by; the comparison itself is exact, this only keeps the filter from missing."""


class NearIndex:
    """The texts that are kept so far, by place, and which of them make another one superfluous.

    A text without words is near to nothing; one of fewer than five is part of nothing.
    """

    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self._threshold = threshold
        numbered = _number([words(text) for text in texts])
        self._words = [frozenset(each) for each in numbered]
        self._runs = [frozenset(_runs(each)) for each in numbered]
        # By these a text is looked up. What only one text has leads nowhere.
        self._word_probes = self._probes(self._words)
        self._run_probes = self._probes(self._runs)
        self._by_word: dict[int, list[int]] = {word: [] for probes in self._word_probes for word in probes}
        self._by_run: dict[int, list[int]] = {run: [] for probes in self._run_probes for run in probes}

    def add(self, at: int) -> None:
        """Keep the text at place `at`."""
        for places in self._entries(at):
            places.append(at)

    def discard(self, at: int) -> None:
        """Keep it no longer."""
        for places in self._entries(at):
            places.remove(at)

    def find(self, at: int) -> list[Match]:
        """The kept texts that the one at place `at` is near to or part of, by place."""
        found = {place: Match(place, is_part=True) for place in self._containers(at)}
        found |= {place: Match(place) for place in self._near(at)}
        return [found[place] for place in sorted(found)]

    def _entries(self, at: int) -> list[list[int]]:
        words_met = self._by_word.keys() & self._words[at]
        runs_met = self._by_run.keys() & self._runs[at]
        return [self._by_word[word] for word in words_met] + [self._by_run[run] for run in runs_met]

    def _near(self, at: int) -> Iterable[int]:
        mine, threshold = self._words[at], self._threshold
        for place in {place for word in self._word_probes[at] for place in self._by_word[word]}:
            other = self._words[place]
            if min(len(mine), len(other)) + _ROUNDING >= threshold * max(len(mine), len(other)):
                shared = len(mine & other)
                if shared / (len(mine) + len(other) - shared) >= threshold:
                    yield place

    def _containers(self, at: int) -> Iterable[int]:
        mine = self._runs[at]
        for place in {place for run in self._run_probes[at] for place in self._by_run[run]}:
            other = self._runs[place]
            if len(mine) <= len(other) and len(mine & other) / len(mine) >= self._threshold:
                yield place

    def _probes(self, sets: Sequence[frozenset[int]]) -> list[list[int]]:
        """For each set its rarest items: what shares the threshold's part of all its items has one of them.

        Those that no other set has are the rarest of all and left out. If they are too many, nothing shares enough.
        """
        counted = Counter(chain.from_iterable(sets))
        shared = {item for item, count in counted.items() if count > 1}
        probes = []
        for each in sets:
            met = each & shared
            number = len(met) - ceil(self._threshold * len(each) - _ROUNDING) + 1
            probes.append(sorted(met, key=lambda item: (counted[item], item))[:number] if met and number > 0 else [])
        return probes


def _number(texts: Iterable[Sequence[str]]) -> list[list[int]]:
    """The texts with a number from 0 in place of each word."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(word, len(numbers)) for word in text] for text in texts]


def _runs(numbers: Sequence[int]) -> Iterable[int]:
    """Every run of five words as one number, in order: words are numbers below 2 ** 32, and so no two runs are one."""
    run = 0
    for place, number in enumerate(numbers, start=1):
        run = (run << _WORD_BITS | number) & _RUN_MASK
        if place >= SHINGLE_WORDS:
            yield run
