"""Which chunks say nearly the same in nearly the same words.

Two texts are near if their word sets are (Jaccard: shared words by all words), and a text is part of a longer one if
most runs of five words in it stand there too; then most of its words do. Few texts are compared each with each, which
takes two operations on numbers that have a place for every word. Many are looked up by what is rare in them: so a text
meets the few others that may make it superfluous, not all that are written with the same words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from ctxassembly.assembly.duplicates.rarest import ROUNDING, SHINGLE_WORDS, Rarest, runs_of
from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

FEW_TEXTS = 128
"""Up to here comparing each with each is faster: with 47 chunks two thirds of the time, with 500 more than twice."""
REMEMBERED = 2_048
"""Texts whose runs are remembered: they take twenty times the memory of the text."""


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
        if len(texts) <= FEW_TEXTS:
            self._kept: _Few | Rarest = _Few(self._texts, vocabulary)
        else:
            self._kept = Rarest(self._texts, vocabulary, threshold, self._most_missing)

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
        part = None
        for place, shared in self._kept.met(at):
            if shared / ((mine + self._sizes[place] - shared) or 1) >= self._threshold:
                found.append(Match(place))
            elif mine - shared <= self._most_missing[at]:
                part = part or _Part(self._texts[at], self._threshold)
                if part.may_be_in(self._texts[place]) and part.is_in(self._runs_of(place)):
                    found.append(Match(place, is_part=True))
        return found

    def _runs_of(self, at: int) -> frozenset[tuple[int, ...]]:
        if at not in self._runs:
            if len(self._runs) == REMEMBERED:
                del self._runs[next(iter(self._runs))]
            self._runs[at] = frozenset(runs_of(self._texts[at]))
        return self._runs[at]

    def _missing(self, at: int) -> int:
        """How many of its words another text may lack at most that the one at place `at` is near to or part of.

        Each word that is missing begins a run that is missing too, unless it is one of the last ones.
        """
        missing_runs = (1 - self._threshold) * max(len(self._texts[at]) - SHINGLE_WORDS + 1, 0)
        of_near = (1 - self._threshold) * self._sizes[at]
        return int(max(missing_runs + SHINGLE_WORDS - 1, of_near) + ROUNDING)


class _Part:
    """A text that is looked for in longer ones."""

    def __init__(self, text: Sequence[int], threshold: float) -> None:
        self._places: dict[int, list[int]] = defaultdict(list)
        for place, word in enumerate(text):
            self._places[word].append(place)
        self._all_runs = max(len(text) - SHINGLE_WORDS + 1, 0)
        self._runs = frozenset(runs_of(text))
        self._threshold = threshold
        self._spare = len(self._runs) * (1 - threshold) + self._all_runs - len(self._runs) + ROUNDING

    def may_be_in(self, other: Sequence[int]) -> bool:
        """Whether few enough of its runs have a word that `other` lacks: this alone rules out edited copies."""
        lacking = self._places.keys() - set(other)
        broken = upto = 0
        for place in sorted(place for word in lacking for place in self._places[word]):
            first, end = max(place - SHINGLE_WORDS + 1, upto), min(place + 1, self._all_runs)
            broken += max(end - first, 0)
            upto = place + 1
        return broken <= self._spare

    def is_in(self, runs: frozenset[tuple[int, ...]]) -> bool:
        """Whether enough of its runs are among those of a text that is no shorter."""
        mine = self._runs
        return 0 < len(mine) <= len(runs) and len(mine & runs) / len(mine) >= self._threshold


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


def _number(texts: Iterable[Sequence[str]]) -> tuple[list[list[int]], int]:
    """The texts with a number from 0 in place of each word, which takes less memory, and how many words there are."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts], len(numbers)
