"""An index of the sentences and words of a text, and the words of a query in it.

The index of a text doesn't depend on the query, so it is made once and cached by the caller. A word is indexed by the
hash of its prefix, which is the form by which a query finds it (`words.PREFIX_LENGTH`). Two prefixes of one corpus
share a hash of 64 bits with a chance of one in a million million.

The words are weighed by BM25 over the texts at hand (Robertson and Zaragoza 2009, "The probabilistic relevance
framework"): a word of the query weighs more the fewer texts have it. Each repetition of a word in a text adds less than
the one before (`K1`), and a text longer than the mean gets less for the same words (`B`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.sentences import CLOSING, STOPS, sentence_spans
from ctxassembly.text.words import (
    PREFIX_LENGTH,
    blank_punctuation,
    is_spaced,
    long_prefixes,
    normalize,
    prefixes,
    words_with_offsets,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A section begins at a heading, or after two blank lines.
_SECTION = re.compile(r"\n(?:\n\n+|(?=#{1,6} ))")


class TextIndex(NamedTuple):
    """Sentences and words of a text."""

    sentence_starts: NDArray[np.uint32]
    """Offset of each sentence but the first, times two, plus 1 if a section begins there."""
    word_starts: NDArray[np.uint32]
    """Offset of each word, ascending."""
    keys: NDArray[np.int64]
    """Hash of each word's prefix."""
    is_ended: bool
    """True if a sentence ends where the text ends."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory: two to three for each character of the text."""
        return sum(map(getsizeof, self))


def index_text(text: str) -> TextIndex:
    """Return the sentences and words of `text`."""
    section_starts = {match.end() for match in _SECTION.finditer(text)}
    sentence_starts = [2 * start + (start in section_starts) for start, _ in sentence_spans(text)[1:]]
    word_starts, words = _words_of(text)
    return TextIndex(
        np.array(sentence_starts, dtype=np.uint32),
        word_starts,
        np.array([hash(word[:PREFIX_LENGTH]) for word in words], dtype=np.int64),
        _is_ended(text),
    )


def _words_of(text: str) -> tuple[NDArray[np.uint32], Sequence[str]]:
    """Return the offsets and the words of `text`, as `words_with_offsets` does."""
    normalized = normalize(text)
    if len(normalized) == len(text) and is_spaced(normalized):
        spaced = blank_punctuation(normalized)
        # A word begins where a blank ends. Counted by numpy, offsets take a fifth of the time that `str.find` takes.
        is_word = np.frombuffer(spaced.encode("utf-32-le", "surrogatepass"), dtype="<u4") != ord(" ")
        is_word = np.concatenate(([False], is_word))
        return np.flatnonzero(is_word[1:] & ~is_word[:-1]).astype(np.uint32), spaced.split()
    found = list(words_with_offsets(text))
    return np.array([start for start, _ in found], dtype=np.uint32), [word for _, word in found]


def _is_ended(text: str) -> bool:
    """Return True if a sentence ends where `text` does: after a stop and a blank, or a line break."""
    if not text[-1:].isspace():
        return False
    words = text.rstrip()
    return "\n" in text[len(words) :] or words.rstrip(CLOSING)[-1:] in STOPS


_SLOTS = 1 << 16
"""Size of the table by which most words of a text are skipped: a look into it takes a fifth of a binary search."""


class TermOccurrences(NamedTuple):
    """Words of a query that occur in a text."""

    term_ids: NDArray[np.int64]
    """The number of each among `QueryTerms.terms`."""
    word_indexes: NDArray[np.int64]
    """The number of each among the words of the text."""


class QueryTerms:
    """Prefixes and long words of `query`. A word that begins like a long one is found as that and as its prefix."""

    def __init__(self, query: str) -> None:
        self.prefix_of = long_prefixes(query)
        """The prefix of each long word."""
        own = list(dict.fromkeys(prefixes(query)))
        self.terms: Sequence[str] = [*own, *self.prefix_of]
        self._term_ids = {word: number for number, word in enumerate(self.terms)}
        self._long_terms: dict[str, list[str]] = {}
        """The long words with a prefix, the longest first: of two that begin alike, the longest that matches counts."""
        for long in sorted(self.prefix_of, key=len, reverse=True):
            self._long_terms.setdefault(self.prefix_of[long], []).append(long)
        keys = np.array([hash(prefix) for prefix in own], dtype=np.int64)
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        self._has_key = np.zeros(_SLOTS, dtype=bool)
        self._has_key[keys % _SLOTS] = True

    def find_occurrences(self, keys: NDArray[np.int64]) -> TermOccurrences:
        """Return the prefixes of the query among `keys`; a long word has no key: see `find_long_term`."""
        candidates = np.flatnonzero(self._has_key[keys % _SLOTS])
        key_indexes = np.searchsorted(self._keys, keys[candidates]).clip(max=len(self._keys) - 1)
        is_same = self._keys[key_indexes] == keys[candidates]
        return TermOccurrences(self._order[key_indexes[is_same]], candidates[is_same])

    def find_long_term(self, text: str, term_id: int, offset: int) -> int | None:
        """Return the number of the long word at `offset` in `text`, where its prefix `term_id` was found; else None."""
        for long in self._long_terms.get(self.terms[term_id], ()):
            # Normalized text may be longer or shorter than the text.
            if normalize(text[offset : offset + 2 * len(long)]).startswith(long):
                return self._term_ids[long]
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
