"""The words of a query, looked for in the index of a text (`text_index.py`).

The words are weighed by BM25 over the texts at hand (Robertson and Zaragoza 2009, "The probabilistic relevance
framework"): a word of the query weighs more the fewer texts have it. Each repetition of a word in a text adds less than
the one before (`K1`), and a text longer than the mean gets less for the same words (`B`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.text.text_index import prefix_keys
from ctxassembly.text.words import (
    PREFIX_LENGTH,
    find_identifiers,
    find_long_words,
    find_symbols,
    normalize,
    words,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

_SLOTS = 1 << 12
"""Size of the table by which most words of a text are skipped: a look into it takes a fifth of a binary search."""


class QueryTerms:
    """The words of a query in the forms by which texts are searched.

    Two words are taken for forms of one if they have the same prefix. A long word is found as itself and by its prefix,
    an identifier, such as ISO27001, only as itself.
    """

    def __init__(self, query: str) -> None:
        self.words: Sequence[str] = words(query)
        """The words themselves, in the order of the query."""
        identifiers = find_identifiers(query)
        exact = [word for word in identifiers if len(word) >= PREFIX_LENGTH]  # the key of others is exact
        self.prefix_of = find_long_words(word for word in self.words if word not in identifiers)
        """The prefix of each long word."""
        own = dict.fromkeys(word[:PREFIX_LENGTH] for word in self.words if word not in exact)
        symbols = find_symbols(query)
        self.terms: Sequence[str] = [*own, *exact, *self.prefix_of, *symbols]
        """The prefixes, the identifiers and the long words, all in lower case; then the symbols."""
        self.prefix_count = len(own)
        self.symbols = dict(enumerate(symbols.values(), len(self.terms) - len(symbols)))
        """The pattern of each symbol by its number among the terms."""
        prefix_ids = {prefix: number for number, prefix in enumerate(own)}
        self._whole: dict[int, list[tuple[str, int]]] = defaultdict(list)
        """The long words and identifiers with a prefix, and their numbers among the terms. The longest come first: of
        two that begin alike, the longest that matches counts."""
        for term_id, term in sorted(enumerate([*exact, *self.prefix_of], len(own)), key=lambda pair: -len(pair[1])):
            self._whole[prefix_ids.setdefault(term[:PREFIX_LENGTH], len(prefix_ids))].append((term, term_id))
        self._is_whole = np.array([number in self._whole for number in prefix_ids.values()], dtype=bool)
        self._exact = frozenset(exact)
        keys = prefix_keys(prefix_ids)
        self._order = keys.argsort()
        self._keys = keys[self._order]
        self._has_key = np.zeros(_SLOTS, dtype=bool)
        self._has_key[keys & (_SLOTS - 1)] = True

    def find_prefixes(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the number of each of the query's prefixes among `keys`, and its place there.

        Below `prefix_count` it is the number of a term; from there on, only `find_whole` says whether a term is there.
        """
        places = np.flatnonzero(self._has_key.take(keys & (_SLOTS - 1)))
        keys = keys[places]
        numbers = np.searchsorted(self._keys, keys, "right") - 1  # a key below all others is compared with the last
        is_same = self._keys[numbers] == keys
        return self._order[numbers[is_same]], places[is_same]

    def begins_whole(self, prefix_ids: IntArray) -> IntArray:
        """Return the places in `prefix_ids` of prefixes with which a long word or an identifier begins."""
        return np.flatnonzero(self._is_whole[prefix_ids])

    def find_whole(self, text: str, prefix_id: int, offset: int) -> int | None:
        """Return the number of the long word or identifier at `offset` in `text`, where its prefix is; else None."""
        for term, term_id in self._whole[prefix_id]:
            # Normalized text may be longer or shorter than the text.
            found = text[offset : offset + 2 * len(term) + 1]
            if words(found)[:1] == [term] if term in self._exact else normalize(found).startswith(term):
                return term_id
        return None


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
        numbers, texts = (counts > 0).sum(axis=1).tolist(), counts.shape[1]
        idf = [math.log1p((texts - number + 0.5) / (number + 0.5)) if number else 0.0 for number in numbers]
        self.weights = dict(zip(words, idf, strict=True))
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
        mean = int(lengths.sum()) / max(len(lengths), 1)
        length_norm = K1 * (1 - B + B * lengths / (mean or 1.0))
        # A sum by rows: a product of matrices may differ in its last digit from one processor to the next.
        scores: NDArray[np.float64] = (self._column * counts * (K1 + 1) / (counts + length_norm)).sum(axis=0)
        return scores
