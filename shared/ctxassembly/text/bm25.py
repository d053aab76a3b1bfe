"""BM25 over the texts at hand (Robertson and Zaragoza 2009, "The probabilistic relevance framework").

A word of the query weighs more the fewer texts have it. Each repetition of a word in a text adds less than the one
before (`SATURATION`), and a text longer than the mean gets less for the same words (`LENGTH_SHARE`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

SATURATION = 1.2
"""k1 at its usual value: how soon repeating a word stops to count."""
LENGTH_SHARE = 0.75
"""b at its usual value: 0 ignores the length of a text, 1 corrects for all of it."""


class Bm25:
    """The weights of a query's words, and the scores of texts by them.

    `found` has, for each text, those words of the query that occur in it. `within` maps a word to another one that
    occurs wherever the first does, as the stem of a long word does: the long word then weighs only what it adds to the
    weight of its stem. `factors` multiply the weights of some words, added or not; the others keep theirs.

    >>> bm25 = Bm25([["water", "fasting"], ["water"], ["water"], []])
    >>> bm25.weight(["fasting"]) > bm25.weight(["water"])
    True
    >>> [round(score, 2) for score in bm25.scores([(["water", "fasting"], 40), (["water", "water"], 20), ([], 30)])]
    [1.37, 0.54, 0.0]
    """

    def __init__(
        self,
        found: Collection[Iterable[str]],
        factors: Mapping[str, float] | None = None,
        within: Mapping[str, str] | None = None,
    ) -> None:
        texts_with = Counter(word for words in found for word in set(words))
        self._weights = {
            word: math.log(1 + (len(found) - number + 0.5) / (number + 0.5)) for word, number in texts_with.items()
        }
        for word in self._weights.keys() & (within or {}).keys():
            self._weights[word] -= self._weights[(within or {})[word]]
        for word in self._weights.keys() & (factors or {}).keys():
            self._weights[word] *= (factors or {})[word]

    @property
    def best(self) -> float:
        """The highest weight of a word; 0 if no text has any."""
        return max(self._weights.values(), default=0.0)

    def weight(self, words: Iterable[str]) -> float:
        """The sum of the weights of `words`; a word that no text has adds 0."""
        return sum(self._weights.get(word, 0.0) for word in words)

    def scores(self, texts: Sequence[tuple[Sequence[str], int]]) -> list[float]:
        """The score of each text, given as the query's words in it (repeated as they occur) and its length."""
        mean = sum(length for _, length in texts) / max(len(texts), 1) or 1.0
        return [self.score(words, length / mean) for words, length in texts]

    def score(self, words: Sequence[str], length: float) -> float:
        """The score of one text; `length` is relative to the mean, which is 1."""
        if not words:
            return 0.0
        held_back = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
        return sum(
            self._weights[word] * times * (SATURATION + 1) / (times + held_back)
            for word, times in Counter(words).items()
            if word in self._weights
        )
