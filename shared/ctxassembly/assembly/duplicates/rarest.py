"""A look-up of texts by their rarest words, so that each is compared with the few that it may repeat.

Two texts that are near lack few of each other's words. So of any text's words, put the rarest first: a near text has to
have some of the first few, however many those are that it may lack. That is the prefix filter of Bayardo, Ma and
Srikant (2007, "Scaling up all pairs similarity search"). Rare words are in few texts, so few are met. In the same way a
text that has another one as a part has one of its rarest shingles. Nothing is missed: who isn't met can't be near, nor
have the text as a part.

One word in common is a weak sign in a corpus about one subject. So `SPARE` more words are looked up than needed, and a
text is met only if it has enough of all of them. These counts are made for all texts at once by `bitsets.py`.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ctxassembly.assembly.duplicates.bitsets import Postings, Tally, joined, listed

SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""
SPARE = 12
"""Words looked up beyond those of which one would have to be met: then several have to, and few texts have them."""
ROUNDING = 1e-9
"""The error that a product of floats may have: the comparison is exact, this only keeps the filter from missing."""


class Rarest:
    """The kept texts, and the ones among them that may make another text superfluous.

    `texts` are numbers of words from 0. `missing` has for each text the most of its words that a text may lack which
    repeats it.
    """

    def __init__(self, texts: Sequence[Sequence[int]], vocabulary: int, threshold: float, missing: Sequence[int]):
        self._texts = texts
        self._threshold = threshold
        self._missing = missing
        self._of_size: dict[int, int] = defaultdict(int)
        """The positions of the texts of each number of words, as a bitset."""
        texts_with = [0] * vocabulary
        for text in texts:
            for word in set(text):
                texts_with[word] += 1
        # By the number of texts that have the word, then by the word: each text ranks its words alike.
        rarity = [word + times * vocabulary for word, times in enumerate(texts_with)].__getitem__
        self._words: list[array[int]] = []
        for at, text in enumerate(texts):
            ranked = sorted(set(text), key=rarity)
            # A word that no other text has leads nowhere.
            self._words.append(
                array("I", [word for word in ranked[: self._sought(at, len(ranked))] if texts_with[word] > 1])
            )
        sought = frozenset(chain.from_iterable(self._words))
        self._by_word = Postings(
            (sought.intersection(text) for text in texts), {word: texts_with[word] for word in sought}, len(texts)
        )
        self._shingles = _rarest_shingles(texts, threshold, texts_with)
        self._by_shingle = Postings(*_shared(texts, self._shingles), len(texts))
        self._kept = 0
        for at, text in enumerate(texts):
            self._of_size[len(set(text))] |= 1 << at

    def add(self, at: int) -> None:
        """Keep the text at position `at`."""
        self._kept |= 1 << at

    def discard(self, at: int) -> None:
        """Keep the text at position `at` no longer."""
        self._kept &= ~(1 << at)

    def met(self, at: int) -> Iterator[tuple[int, int]]:
        """The texts that may make the one at `at` superfluous, by position, each with the number of words shared."""
        words = set(self._texts[at])
        # A text may share all words that aren't looked up: so many fewer have to be found among those that are.
        beyond = len(words) - self._sought(at, len(words))
        if_near = least(self._threshold, len(words)) - beyond
        if_part = len(words) - self._missing[at] - beyond
        with_few_shingles, with_shingles = self._by_shingle.under(self._shingles[at])
        with_few, sets = self._by_word.under(self._words[at])
        fewest = min(if_near, if_part) if with_few_shingles or with_shingles else if_near
        begun = {other: number for other, number in with_few.items() if number + len(sets) >= fewest}
        if len(sets) < fewest and not begun:
            return
        tally = Tally(sets, begun)
        found = self._near(len(words), tally, beyond)
        if with_few_shingles or with_shingles:
            may_have_it = joined([*with_shingles, *(1 << other for other in with_few_shingles)])
            found |= may_have_it & tally.at_least(if_part) & self._kept
        for other in listed(found):
            yield other, len(words.intersection(self._texts[other]))

    def _near(self, size: int, tally: Tally, beyond: int) -> int:
        """The kept texts that share enough of the words looked up to be near to a text of `size` words, as a bitset."""
        # Near texts share at least this part of the words of both, counted twice.
        of_both = self._threshold / (1 + self._threshold)
        passed = tally.at_least(least(self._threshold, size) - beyond) & self._kept
        found = 0
        if not passed:
            return found
        most = int(min(size / self._threshold, max(self._of_size)) + ROUNDING)  # of a tiny threshold it is infinite
        # The longer the other text, the more it has to share.
        for other_size in range(least(self._threshold, size), most + 1):
            if same_size := self._of_size.get(other_size, 0) & passed:
                found |= same_size & tally.at_least(math.ceil(of_both * (size + other_size) - ROUNDING) - beyond)
        return found

    def _sought(self, at: int, number: int) -> int:
        """The number of the rarest words that are looked up, of the `number` that the text at `at` has."""
        return min(max(number - least(self._threshold, number), self._missing[at]) + 1 + SPARE, number)


def least(threshold: float, number: int) -> int:
    """The fewest of `number` that have to be shared."""
    return max(math.ceil(threshold * number - ROUNDING), 1)


def shingles_of(text: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The shingles of `text`, in order."""
    return zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False)


def _rarest_shingles(texts: Sequence[Sequence[int]], threshold: float, texts_with: Sequence[int]) -> list[array[int]]:
    """The hashes of the rarest shingles of each text: enough for any text that has it as a part to have one of them.

    The rarest are those of the rarest words: a shingle is no commoner than the rarest word in it. Shingles with a word
    that no other text has lead nowhere and are left out.
    """
    rarity = [1 / times if times > 1 else SHINGLE_WORDS for times in texts_with]
    found = []
    for text in texts:
        ranked = dict(zip(shingles_of(text), _sums([rarity[word] for word in text]), strict=True))
        fewest = len(ranked) - least(threshold, len(ranked)) + 1
        rarest = sorted(ranked, key=ranked.__getitem__, reverse=True)[:fewest]
        found.append(array("q", [hash(shingle) for shingle in rarest if ranked[shingle] < SHINGLE_WORDS]))
    return found


def _sums(numbers: Sequence[float]) -> Iterator[float]:
    """The sum over each shingle of `numbers`, in order."""
    return map(sum, zip(*(numbers[first:] for first in range(SHINGLE_WORDS)), strict=False))


def _shared(texts: Sequence[Sequence[int]], sought: Iterable[array[int]]) -> tuple[list[array[int]], dict[int, int]]:
    """The shingles in each text that are sought and in another text, too, and the number of texts with each."""
    texts_with = dict.fromkeys(chain.from_iterable(sought), 0)
    found = []
    for text in texts:
        mine = texts_with.keys() & set(map(hash, shingles_of(text)))
        for shingle in mine:
            texts_with[shingle] += 1
        found.append(array("q", mine))
    shared = {shingle: times for shingle, times in texts_with.items() if times > 1}
    return [array("q", [shingle for shingle in mine if shingle in shared]) for mine in found], shared
