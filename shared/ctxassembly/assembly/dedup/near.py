"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the words they share, by all words of both (Jaccard), reach the
threshold. A text is part of a longer one if that share of its shingles, runs of five words, stands there, too. Words
alone would call a short text part of any long one about the same things; shingles keep the order, and five words are
too many for an accident.

Few texts are compared each with each. A text is a number with one byte for each word of the vocabulary, so the words
two texts share are one `&` and one count of bits. Beyond `MAX_PAIRWISE_TEXTS` that would be quadratic: `rarest.py`
finds for each text the few others that may matter. Both find the same.

Comparing all pairs in the usual way takes 27 times as long with 100 chunks and 39 times with 500; from 2,500 to 10,000
chunks the time grows with their number to the power of 1.1 (`python tests/bench/dedup.py`).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain, count
from operator import or_

from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

# Sets of texts as numbers: bit n stands for the text at position n.
#
# The processor joins and counts dozens of members with each instruction, and Python's integers have any length: a set
# among ten thousand texts takes 1,250 bytes, whatever it holds. A rare word is in so few of them that a list is
# shorter, so `InvertedIndex` keeps lists for these. `HitCounts` counts in how many of the sets looked up each text is,
# for all texts at once: one number for each binary digit of the counts, so 200 sets take eight.


MAX_LISTED = 16
"""The most texts of a key that are listed: as numbers, those of thousands of rare words would take hundreds of MB."""
LISTED_FRACTION = 512
"""Among more than eight thousand texts, one of so many is listed."""


class InvertedIndex:
    """The texts that have each key: a list of few, a number for many.

    >>> postings = InvertedIndex([[7], [7, 8]], {7: 2, 8: 1}, 2)
    >>> postings.lookup([7, 8])
    (Counter({1: 2, 0: 1}), [])
    """

    def __init__(self, keys_of: Iterable[Iterable[int]], frequencies: Mapping[int, int], texts: int) -> None:
        """`keys_of` gives the keys of each of so many `texts`; `frequencies` is the number of texts with each key."""
        few = max(MAX_LISTED, texts // LISTED_FRACTION)
        self._lists: dict[int, list[int]] = {key: [] for key, times in frequencies.items() if times <= few}
        flags = {key: bytearray(texts // 8 + 1) for key, times in frequencies.items() if times > few}
        for at, keys in enumerate(keys_of):
            byte, bit = at >> 3, 1 << (at & 7)
            for key in keys:
                if key in flags:
                    flags[key][byte] |= bit
                else:
                    self._lists[key].append(at)
        self._sets: dict[int, int] = {}
        while flags:  # one by one, so that not all are there twice
            key, mine = flags.popitem()
            self._sets[key] = int.from_bytes(mine, "little")

    def lookup(self, keys: Collection[int]) -> tuple[Counter[int], Sequence[int]]:
        """The number of listed `keys` that each text has, and for each of the other keys the set of its texts."""
        lists, sets = self._lists, self._sets
        few = Counter(chain.from_iterable([lists[key] for key in keys if key in lists]))
        return few, [sets[key] for key in keys if key in sets]


class HitCounts:
    """The number of `sets` that each text is in, all counted at once: digit by digit, as on paper, in twos.

    >>> tally = HitCounts([0b011, 0b010], {2: 1})
    >>> bin(tally.at_least(1)), bin(tally.at_least(2))
    ('0b111', '0b10')
    """

    def __init__(self, sets: Iterable[int], initial: Mapping[int, int]) -> None:
        """`initial` has the counts of some texts to begin with."""
        self._digits = [0] * max(initial.values(), default=0).bit_length()
        """The texts whose count has a 1 for ones, for twos, for fours and so on."""
        for at, number in initial.items():
            for digit in range(number.bit_length()):
                self._digits[digit] |= (number >> digit & 1) << at
        for texts in sets:
            # Adding 1 to each member: a text whose digit was 1 already carries over to the next digit.
            carried, digit = texts, 0
            while carried and digit < len(self._digits):
                before = self._digits[digit]
                self._digits[digit] = before ^ carried
                carried &= before
                digit += 1
            if carried:
                self._digits.append(carried)

    def at_least(self, min_count: int) -> int:
        """The texts whose count is `least` or more; of 0 or less all that there could be."""
        if min_count <= 0:
            return -1
        if min_count >> len(self._digits):
            return 0
        # From the highest digit down: a count is more at the first digit where it has a 1 and `least` a 0.
        more, same = 0, -1
        for digit in reversed(range(len(self._digits))):
            if min_count >> digit & 1:
                same &= self._digits[digit]
            else:
                more |= same & self._digits[digit]
                same &= ~self._digits[digit]
        return more | same


def union(sets: Iterable[int]) -> int:
    """The texts that are in any of `sets`."""
    return reduce(or_, sets, 0)


def iter_positions(texts: int) -> Iterator[int]:
    """The positions in the set `texts`, ascending.

    >>> list(iter_positions(0b101))
    [0, 2]
    """
    while texts:
        lowest = texts & -texts
        yield lowest.bit_length() - 1
        texts ^= lowest


# A look-up of texts by their rarest words, so that each is compared with the few that it may repeat.
#
# Two texts that are near lack few of each other's words. So of any text's words, put the rarest first: a near text has
# to have some of the first few, however many those are that it may lack. That is the prefix filter of Bayardo, Ma and
# Srikant (2007, "Scaling up all pairs similarity search"). Rare words are in few texts, so few are met. In the same way
# a text that has another one as a part has one of its rarest shingles. Nothing is missed: who isn't met can't be near,
# nor have the text as a part.
#
# One word in common is a weak sign in a corpus about one subject. So `EXTRA_WORDS` more words are looked up than
# needed, and a text is met only if it has enough of all of them. These counts are made for all texts at once by
# `bitsets.py`.


SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""
EXTRA_WORDS = 12
"""Words looked up beyond those of which one would have to be met: then several have to, and few texts have them."""
ROUNDING = 1e-9
"""The error that a product of floats may have: the comparison is exact, this only keeps the filter from missing."""


class PrefixFilter:
    """The kept texts, and the ones among them that may make another text superfluous.

    `texts` are numbers of words from 0. `max_missing` has for each text the most of its words that a text may lack
    which repeats it.
    """

    def __init__(self, texts: Sequence[Sequence[int]], vocabulary: int, threshold: float, max_missing: Sequence[int]):
        self._texts = texts
        self._threshold = threshold
        self._max_missing = max_missing
        self._texts_by_size: dict[int, int] = defaultdict(int)
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
                array("I", [word for word in ranked[: self._prefix_length(at, len(ranked))] if texts_with[word] > 1])
            )
        sought = frozenset(chain.from_iterable(self._words))
        self._by_word = InvertedIndex(
            (sought.intersection(text) for text in texts), {word: texts_with[word] for word in sought}, len(texts)
        )
        self._shingles = _rarest_shingles(texts, threshold, texts_with)
        self._by_shingle = InvertedIndex(*_shared_shingles(texts, self._shingles), len(texts))
        self._kept = 0
        for at, text in enumerate(texts):
            self._texts_by_size[len(set(text))] |= 1 << at

    def add(self, at: int) -> None:
        """Keep the text at position `position`."""
        self._kept |= 1 << at

    def discard(self, at: int) -> None:
        """Keep the text at position `position` no longer."""
        self._kept &= ~(1 << at)

    def possible_matches(self, at: int) -> Iterator[tuple[int, int]]:
        """The texts that may make the one at `position` superfluous, each with the number of words shared."""
        words = set(self._texts[at])
        # A text may share all words that aren't looked up: so many fewer have to be found among those that are.
        unlisted = len(words) - self._prefix_length(at, len(words))
        min_if_near = min_shared(self._threshold, len(words)) - unlisted
        min_if_part = len(words) - self._max_missing[at] - unlisted
        with_few_shingles, with_shingles = self._by_shingle.lookup(self._shingles[at])
        with_few, sets = self._by_word.lookup(self._words[at])
        min_found = min(min_if_near, min_if_part) if with_few_shingles or with_shingles else min_if_near
        initial = {other: number for other, number in with_few.items() if number + len(sets) >= min_found}
        if len(sets) < min_found and not initial:
            return
        counts = HitCounts(sets, initial)
        found = self._near(len(words), counts, unlisted)
        if with_few_shingles or with_shingles:
            may_have_it = union([*with_shingles, *(1 << other for other in with_few_shingles)])
            found |= may_have_it & counts.at_least(min_if_part) & self._kept
        for other in iter_positions(found):
            yield other, len(words.intersection(self._texts[other]))

    def _near(self, size: int, counts: HitCounts, unlisted: int) -> int:
        """The kept texts that share enough of the words looked up to be near to a text of `size` words, as a bitset."""
        # Near texts share at least this part of the words of both, counted twice.
        of_both = self._threshold / (1 + self._threshold)
        passed = counts.at_least(min_shared(self._threshold, size) - unlisted) & self._kept
        found = 0
        if not passed:
            return found
        max_size = int(
            min(size / self._threshold, max(self._texts_by_size)) + ROUNDING
        )  # of a tiny threshold it is infinite
        # The longer the other text, the more it has to share.
        for other_size in range(min_shared(self._threshold, size), max_size + 1):
            if same_size := self._texts_by_size.get(other_size, 0) & passed:
                found |= same_size & counts.at_least(math.ceil(of_both * (size + other_size) - ROUNDING) - unlisted)
        return found

    def _prefix_length(self, at: int, number: int) -> int:
        """The number of the rarest words that are looked up, of the `number` that the text at `position` has."""
        return min(max(number - min_shared(self._threshold, number), self._max_missing[at]) + 1 + EXTRA_WORDS, number)


def min_shared(threshold: float, number: int) -> int:
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
        ranked = dict(zip(shingles_of(text), _shingle_sums([rarity[word] for word in text]), strict=True))
        fewest = len(ranked) - min_shared(threshold, len(ranked)) + 1
        rarest = sorted(ranked, key=ranked.__getitem__, reverse=True)[:fewest]
        found.append(array("q", [hash(shingle) for shingle in rarest if ranked[shingle] < SHINGLE_WORDS]))
    return found


def _shingle_sums(numbers: Sequence[float]) -> Iterator[float]:
    """The sum over each shingle of `numbers`, in order."""
    return map(sum, zip(*(numbers[first:] for first in range(SHINGLE_WORDS)), strict=False))


def _shared_shingles(
    texts: Sequence[Sequence[int]], sought: Iterable[array[int]]
) -> tuple[list[array[int]], dict[int, int]]:
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


MAX_PAIRWISE_TEXTS = 128
"""Up to here comparing each with each is faster: with 47 chunks two thirds of the time, with 500 more than twice."""
MAX_CACHED_SHINGLES = 2_048
"""Texts whose shingles are remembered: they take twenty times the memory of the text."""


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
        self._texts, vocabulary = _encode_words(map(words, texts))
        self._sizes = [len(set(text)) for text in self._texts]
        self._shingles: dict[int, frozenset[tuple[int, ...]]] = {}
        self._max_missing = [self._max_missing_words(at) for at in range(len(texts))]
        if len(texts) <= MAX_PAIRWISE_TEXTS:
            self._kept: _PairwiseTexts | PrefixFilter = _PairwiseTexts(self._texts, vocabulary)
        else:
            self._kept = PrefixFilter(self._texts, vocabulary, threshold, self._max_missing)

    def add(self, position: int) -> None:
        """Keep the text at position `position`."""
        self._kept.add(position)

    def discard(self, position: int) -> None:
        """Keep the text at position `position` no longer."""
        self._kept.discard(position)

    def find(self, position: int) -> list[Match]:
        """The kept texts that the one at position `position` is near to or part of, by position."""
        found = []
        mine = self._sizes[position]
        part = None
        for other, shared in self._kept.possible_matches(position):
            if shared / ((mine + self._sizes[other] - shared) or 1) >= self._threshold:
                found.append(Match(other))
            # Comparing shingles is costly, so two cheaper filters come first: words shared, then shingles broken.
            elif mine - shared <= self._max_missing[position]:
                part = part or _ContainedText(self._texts[position], self._threshold)
                if part.can_be_in(self._texts[other]) and part.is_in(self._shingles_of(other)):
                    found.append(Match(other, is_part=True))
        return found

    def _shingles_of(self, at: int) -> frozenset[tuple[int, ...]]:
        if at not in self._shingles:
            if len(self._shingles) == MAX_CACHED_SHINGLES:
                del self._shingles[next(iter(self._shingles))]
            self._shingles[at] = frozenset(shingles_of(self._texts[at]))
        return self._shingles[at]

    def _max_missing_words(self, at: int) -> int:
        """The most words of the text at position `position` that a text which makes it superfluous may lack.

        A missing word breaks all shingles that have it. It breaks at least the one that begins with it, unless it is
        among the last four words; so a text that lacks more words than shingles may be broken doesn't have it as a
        part.
        """
        broken_shingles = (1 - self._threshold) * max(len(self._texts[at]) - SHINGLE_WORDS + 1, 0)
        of_near = (1 - self._threshold) * self._sizes[at]
        return int(max(broken_shingles + SHINGLE_WORDS - 1, of_near) + ROUNDING)


class _ContainedText:
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
        self._max_broken = len(self._shingles) * (1 - threshold) + repeated + ROUNDING

    def can_be_in(self, other: Sequence[int]) -> bool:
        """True if few enough shingles have a word that `other` lacks; this alone rules out edited copies."""
        lacking = self._positions.keys() - set(other)
        broken = counted_to = 0
        for position in sorted(position for word in lacking for position in self._positions[word]):
            first, end = max(position - SHINGLE_WORDS + 1, counted_to), min(position + 1, self._all_shingles)
            broken += max(end - first, 0)
            counted_to = position + 1
        return broken <= self._max_broken

    def is_in(self, shingles: frozenset[tuple[int, ...]]) -> bool:
        """True if enough of its shingles are among those of a text that is no shorter."""
        mine = self._shingles
        return 0 < len(mine) <= len(shingles) and len(mine & shingles) / len(mine) >= self._threshold


class _PairwiseTexts:
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

    def possible_matches(self, at: int) -> Iterator[tuple[int, int]]:
        """The kept texts, by position, each with the number of words that it shares with the one at `position`."""
        mine = self._masks[at]
        for other in sorted(self._kept):
            yield other, (mine & self._masks[other]).bit_count()


def _encode_words(texts: Iterable[Sequence[str]]) -> tuple[list[list[int]], int]:
    """The texts with a number from 0 in place of each word, which takes less memory, and the size of the vocabulary."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts], len(numbers)
