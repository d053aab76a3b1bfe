"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the number of words they share, divided by the number of words in either
(Jaccard similarity), reaches the threshold. A text is part of a longer one if that share of its shingles, runs of five
words, occurs in the longer text, too. Words alone would call a short text part of any long one on the same subject;
shingles keep the order, and five words in a row are no accident.

Both rules limit how many words of a text the other one may lack. So a text is compared only with those that share
enough of its rarest words, which few texts have. This is the prefix filter of Bayardo, Ma and Srikant (2007, "Scaling
up all pairs similarity search"). It misses nothing: a text that shares too few of these words lacks too many.

100 chunks take 9 ms, 1,000 take 0.2 s and 10,000 take 5.5 s (`python tests/bench/dedup.py`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""
EXTRA_WORDS = 12
"""Additional words to look up, so that texts must share several words instead of one, and fewer texts qualify."""
MAX_CACHED_SHINGLES = 2_048
"""Texts whose shingles are cached: they take twenty times the memory of the text."""
_ROUNDING = 1e-9
"""The error that a product of floats may have: the comparison is exact, this only keeps the filter from missing."""


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
        self._texts = _encode_words(map(words, texts))
        self._words = [frozenset(text) for text in self._texts]
        self._shingles: dict[int, frozenset[tuple[int, ...]]] = {}
        self._max_missing = [self._max_missing_words(position) for position in range(len(texts))]
        frequency = Counter(chain.from_iterable(self._words))
        # By the number of texts that have the word, then by the word: each text ranks its words alike.
        rarity = {word: number * len(frequency) + word for word, number in frequency.items() if number > 1}
        self._prefixes = [
            _rarest_words(mine, max_missing, rarity)
            for mine, max_missing in zip(self._words, self._max_missing, strict=True)
        ]
        sought = frozenset(chain.from_iterable(prefix for prefix, _ in self._prefixes))
        self._sought = [sought & mine for mine in self._words]
        self._kept_with: dict[int, set[int]] = {word: set() for word in sought}
        """The positions of the kept texts that have each of the words looked up."""

    def add(self, position: int) -> None:
        """Keep the text at `position`."""
        for word in self._sought[position]:
            self._kept_with[word].add(position)

    def discard(self, position: int) -> None:
        """Stop keeping the text at `position`."""
        for word in self._sought[position]:
            self._kept_with[word].discard(position)

    def find(self, position: int) -> list[Match]:
        """Return the kept texts that the one at `position` is near to or part of, by position."""
        mine, max_missing = self._words[position], self._max_missing[position]
        prefix, min_rare = self._prefixes[position]
        shared_rare = Counter(chain.from_iterable([self._kept_with[word] for word in prefix]))
        found = []
        part = None
        for other in sorted(other for other, number in shared_rare.items() if number >= min_rare):
            shared = len(mine & self._words[other])
            if shared / (len(mine) + len(self._words[other]) - shared) >= self._threshold:
                found.append(Match(other))
            # Comparing shingles is costly, so two cheaper filters come first: words shared, then shingles broken.
            elif len(mine) - shared <= max_missing:
                part = part or _ContainedText(self._texts[position], self._threshold)
                if part.can_be_in(self._texts[other]) and part.is_in(self._shingles_of(other)):
                    found.append(Match(other, is_part=True))
        return found

    def _shingles_of(self, position: int) -> frozenset[tuple[int, ...]]:
        if position not in self._shingles:
            if len(self._shingles) == MAX_CACHED_SHINGLES:
                del self._shingles[next(iter(self._shingles))]
            self._shingles[position] = frozenset(_shingles(self._texts[position]))
        return self._shingles[position]

    def _max_missing_words(self, position: int) -> int:
        """Return the most words of the text at `position` that a text which makes it superfluous may lack.

        A missing word breaks all shingles that have it. It breaks at least the one that begins with it, unless it is
        among the last four words; so a text that lacks more words than shingles may be broken doesn't have it as a
        part.
        """
        broken_shingles = (1 - self._threshold) * max(len(self._texts[position]) - SHINGLE_WORDS + 1, 0)
        of_near = (1 - self._threshold) * len(self._words[position])
        return int(max(broken_shingles + SHINGLE_WORDS - 1, of_near) + _ROUNDING)


class _ContainedText:
    """A text that is looked for in longer ones."""

    def __init__(self, text: Sequence[int], threshold: float) -> None:
        self._positions: dict[int, list[int]] = defaultdict(list)
        for position, word in enumerate(text):
            self._positions[word].append(position)
        self._all_shingles = max(len(text) - SHINGLE_WORDS + 1, 0)
        self._shingles = frozenset(_shingles(text))
        self._threshold = threshold
        # Broken ones are counted with repetitions, of which there may be as many more.
        repeated = self._all_shingles - len(self._shingles)
        self._max_broken = len(self._shingles) * (1 - threshold) + repeated + _ROUNDING

    def can_be_in(self, other: Sequence[int]) -> bool:
        """Return True if few enough shingles have a word that `other` lacks; edited copies mostly fail this."""
        lacking = self._positions.keys() - set(other)
        broken = counted_to = 0
        for position in sorted(position for word in lacking for position in self._positions[word]):
            first, end = max(position - SHINGLE_WORDS + 1, counted_to), min(position + 1, self._all_shingles)
            broken += max(end - first, 0)
            counted_to = position + 1
        return broken <= self._max_broken

    def is_in(self, shingles: frozenset[tuple[int, ...]]) -> bool:
        """Return True if enough of its shingles are among `shingles`, which come from a text that is no shorter."""
        mine = self._shingles
        return 0 < len(mine) <= len(shingles) and len(mine & shingles) / len(mine) >= self._threshold


def _rarest_words(words: Collection[int], max_missing: int, rarity: Mapping[int, int]) -> tuple[Sequence[int], int]:
    """Return the rarest of `words` that other texts have, and how many of them a text has to share.

    `max_missing` is the most of all `words` that a text may lack which makes this one superfluous.
    """
    common = [word for word in words if word in rarity]
    may_lack = max_missing - (len(words) - len(common))
    if may_lack < 0:
        return (), 0
    rarest = sorted(common, key=rarity.__getitem__)[: may_lack + 1 + EXTRA_WORDS]
    return rarest, len(rarest) - may_lack


def _shingles(text: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return the shingles of `text`, in order."""
    return zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False)


def _encode_words(texts: Iterable[Sequence[str]]) -> list[list[int]]:
    """Return the texts with a number instead of each word, which takes less memory."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return [list(map(numbers.__getitem__, text)) for text in texts]
