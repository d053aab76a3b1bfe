"""BM25 (Robertson and Zaragoza 2009, "The probabilistic relevance framework") over the texts at hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

SATURATION = 1.2
"""How fast repeating a word stops to count: k1, its usual value."""
LENGTH_SHARE = 0.75
"""How much longer texts are held back: b, its usual value."""


class Bm25:
    """Knows how rare the words of a query are, from those of them that each of some texts has.

    `factors` are what some words weigh beside the others. `within` has words that occur nowhere without another one,
    and that one: they weigh as much as they are rarer.
    """

    def __init__(
        self,
        found: Collection[Iterable[str]],
        factors: Mapping[str, float] | None = None,
        within: Mapping[str, str] | None = None,
    ) -> None:
        counted = Counter(word for words in found for word in set(words))
        self._weights = {
            word: (factors or {}).get(word, 1.0) * math.log(1 + (len(found) - number + 0.5) / (number + 0.5))
            for word, number in counted.items()
        }
        for word in self._weights.keys() & (within or {}).keys():
            self._weights[word] -= self._weights[(within or {})[word]]

    @property
    def best(self) -> float:
        """The weight of the word that weighs most; 0 if no text has any."""
        return max(self._weights.values(), default=0.0)

    def weight(self, words: Iterable[str]) -> float:
        """How rare `words` are together; 0 for those that no text has."""
        return sum(self._weights.get(word, 0.0) for word in words)

    def scores(self, texts: Sequence[tuple[Sequence[str], int]]) -> list[float]:
        """The score of each text, given by the words of the query that it has and by its length."""
        mean = sum(length for _, length in texts) / max(len(texts), 1) or 1.0
        return [self.score(words, length / mean) for words, length in texts]

    def score(self, words: Sequence[str], length: float) -> float:
        """The score of one text; its length is in parts of the mean."""
        if not words:
            return 0.0
        held_back = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
        return sum(
            self._weights[word] * times * (SATURATION + 1) / (times + held_back)
            for word, times in Counter(words).items()
            if word in self._weights
        )
