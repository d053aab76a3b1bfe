"""Looks texts up by what is rare in them, so that each is compared with the few others that it may repeat.

Two texts that are near lack few of each other's words, so they share most of the rarest words of either; a text that is
part of another one shares one of its rarest runs (the prefix filter of Bayardo, Ma and Srikant 2007, "Scaling up all
pairs similarity search"). How many of its rarest words each other text has is counted for all of them at once. Nothing
is missed: who is left out can't be near, nor have the text as a part.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ctxassembly.assembly.duplicates.bitsets import Postings, Tally, joined, listed

SHINGLE_WORDS = 5
"""Words of a run, as in the published rule of containment: short enough to survive edits, too long for an accident."""
SPARE = 12
"""Words looked up beyond those of which one would have to be met: then several have to, and few texts have them."""
ROUNDING = 1e-9
"""What a product of floats may be off by; the comparison itself is exact, this only keeps the filter from missing."""


class Rarest:
    """The kept texts, and which of them may make another one superfluous.

    `texts` are numbers of words from 0, `missing` says how many of its words whatever repeats a text may lack.
    """

    def __init__(self, texts: Sequence[Sequence[int]], vocabulary: int, threshold: float, missing: Sequence[int]):
        self._texts = texts
        self._threshold = threshold
        self._missing = missing
        self._of_size: dict[int, int] = defaultdict(int)
        number = [0] * vocabulary
        for text in texts:
            for word in set(text):
                number[word] += 1
        rarity = [word + times * vocabulary for word, times in enumerate(number)].__getitem__
        self._words: list[array[int]] = []
        for at, text in enumerate(texts):
            ranked = sorted(set(text), key=rarity)
            # What no other text has leads nowhere.
            self._words.append(
                array("I", [word for word in ranked[: self._sought(at, len(ranked))] if number[word] > 1])
            )
        sought = frozenset(chain.from_iterable(self._words))
        self._by_word = Postings(
            (sought.intersection(text) for text in texts), {word: number[word] for word in sought}, len(texts)
        )
        self._runs = _rarest_runs(texts, threshold, number)
        self._by_run = Postings(*_shared(texts, self._runs), len(texts))
        self._kept = 0
        for at, text in enumerate(texts):
            self._of_size[len(set(text))] |= 1 << at

    def add(self, at: int) -> None:
        """Keep the text at place `at`."""
        self._kept |= 1 << at

    def discard(self, at: int) -> None:
        """Keep it no longer."""
        self._kept &= ~(1 << at)

    def met(self, at: int) -> Iterator[tuple[int, int]]:
        """Those that may make the one at `at` superfluous, by place, each with how many words it shares with it."""
        words = set(self._texts[at])
        beyond = len(words) - self._sought(at, len(words))
        if_near = least(self._threshold, len(words)) - beyond
        if_part = len(words) - self._missing[at] - beyond
        with_few_runs, with_runs = self._by_run.under(self._runs[at])
        with_few, sets = self._by_word.under(self._words[at])
        fewest = min(if_near, if_part) if with_few_runs or with_runs else if_near
        begun = {place: number for place, number in with_few.items() if number + len(sets) >= fewest}
        if len(sets) < fewest and not begun:
            return
        tally = Tally(sets, begun)
        found = self._near(len(words), tally, beyond)
        if with_few_runs or with_runs:
            may_have_it = joined([*with_runs, *(1 << place for place in with_few_runs)])
            found |= may_have_it & tally.at_least(if_part) & self._kept
        for place in listed(found):
            yield place, len(words.intersection(self._texts[place]))

    def _near(self, size: int, tally: Tally, beyond: int) -> int:
        """The places of the kept texts that share so many of the words looked up that they may be near."""
        of_both = self._threshold / (1 + self._threshold)  # of the words of both, counted twice, that near texts share
        passed = tally.at_least(least(self._threshold, size) - beyond) & self._kept
        found = 0
        if not passed:
            return found
        most = int(min(size / self._threshold, max(self._of_size)) + ROUNDING)  # of a tiny threshold it is infinite
        for other in range(least(self._threshold, size), most + 1):
            if places := self._of_size.get(other, 0) & passed:
                found |= places & tally.at_least(math.ceil(of_both * (size + other) - ROUNDING) - beyond)
        return found

    def _sought(self, at: int, number: int) -> int:
        """How many of so many words of the text at `at`, the rarest, are looked up."""
        return min(max(number - least(self._threshold, number), self._missing[at]) + 1 + SPARE, number)


def least(threshold: float, number: int) -> int:
    """How many of so many have to be shared."""
    return max(math.ceil(threshold * number - ROUNDING), 1)


def runs_of(text: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The runs of words of `text`, in order."""
    return zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False)


def _rarest_runs(texts: Sequence[Sequence[int]], threshold: float, number: Sequence[int]) -> list[array[int]]:
    """For each text so many hashes of its runs that one of them is in whatever has the text as a part.

    Taken are those of the rarest words: a run is no commoner than the rarest word in it. Runs with a word that no other
    text has lead nowhere.
    """
    rarity = [1 / times if times > 1 else SHINGLE_WORDS for times in number]
    found = []
    for text in texts:
        ranked = dict(zip(runs_of(text), _sums([rarity[word] for word in text]), strict=True))
        fewest = len(ranked) - least(threshold, len(ranked)) + 1
        rarest = sorted(ranked, key=ranked.__getitem__, reverse=True)[:fewest]
        found.append(array("q", [hash(run) for run in rarest if ranked[run] < SHINGLE_WORDS]))
    return found


def _sums(numbers: Sequence[float]) -> Iterator[float]:
    """Of each run of `numbers` the sum."""
    return map(sum, zip(*(numbers[first:] for first in range(SHINGLE_WORDS)), strict=False))


def _shared(texts: Sequence[Sequence[int]], sought: Iterable[array[int]]) -> tuple[list[array[int]], dict[int, int]]:
    """Of the runs sought those in each text that another one has, too, and how many texts have each."""
    number = dict.fromkeys(chain.from_iterable(sought), 0)
    found = []
    for text in texts:
        mine = number.keys() & set(map(hash, runs_of(text)))
        for run in mine:
            number[run] += 1
        found.append(array("q", mine))
    shared = {run: times for run, times in number.items() if times > 1}
    return [array("q", [run for run in mine if run in shared]) for mine in found], shared
