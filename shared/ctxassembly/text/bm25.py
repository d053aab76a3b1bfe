"""BM25 over the texts at hand (Robertson and Zaragoza 2009, "The probabilistic relevance framework").

A word of the query weighs more the fewer texts have it. Each repetition of a word in a text adds less than the one
before (`K1`), and a text longer than the mean gets less for the same words (`B`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1 = 1.2
"""k1 at its usual value: how soon a repeated word stops counting."""
B = 0.75
"""b at its usual value: 0 ignores the length of a text, 1 corrects for all of it."""


class Bm25:
    """Weights of a query's `words`, and scores of texts by them.

    `counts` are the occurrences of the words in the texts that the weights come from: a row for each word, a column for
    each text. `prefix_of` maps a long word to its prefix, which occurs wherever the long word does: the weight of the
    long word is then only what it adds to the weight of its prefix. `factors` multiply the weights of some words.

    >>> bm25 = Bm25(["water", "fasting"], np.array([[1, 1, 1, 0], [1, 0, 0, 0]]))
    >>> bm25.weights["fasting"] > bm25.weights["water"]
    True
    >>> bm25.scores(np.array([[1, 2, 0], [1, 0, 0]]), np.array([40, 20, 30])).round(2).tolist()
    [1.37, 0.54, 0.0]
    """

    def __init__(
        self,
        words: Sequence[str],
        counts: NDArray[np.int64],
        factors: Mapping[str, float] | None = None,
        prefix_of: Mapping[str, str] | None = None,
    ) -> None:
        number, texts = np.count_nonzero(counts, axis=1), counts.shape[1]
        idf = np.where(number, np.log1p((texts - number + 0.5) / (number + 0.5)), 0.0)
        self.weights = dict(zip(words, idf.tolist(), strict=True))
        """The weight of each word; 0 if no text has it."""
        for word, inner in (prefix_of or {}).items():
            if self.weights.get(word):
                self.weights[word] -= self.weights[inner]
        for word, factor in (factors or {}).items():
            if word in self.weights:
                self.weights[word] *= factor
        self._column: NDArray[np.float64] = np.array([*self.weights.values()], dtype=np.float64)[:, None]

    def weights_of(self, word_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of the words at these places among all."""
        weights: NDArray[np.float64] = self._column[word_ids, 0]
        return weights

    def scores(self, counts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the score of each text, by how often it has each word and by its length."""
        mean = float(lengths.mean()) if len(lengths) else 0.0
        length_norm = K1 * (1 - B + B * lengths / (mean or 1.0))
        # A sum by rows: a product of matrices may differ in its last digit from one processor to the next.
        scores: NDArray[np.float64] = (self._column * counts * (K1 + 1) / (counts + length_norm)).sum(axis=0)
        return scores
