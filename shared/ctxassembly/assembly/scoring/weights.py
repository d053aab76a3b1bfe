"""Weights of the signals of a sentence's score: see `sentences.py`.

Among the signals of the query's words, the chunk's has the largest weight and the sentence's own the smallest. The
weights were fitted on question sets with marked evidence, and recall depends little on them: half or double one weight
changes it by .01, and weights fitted on all sets but one find no more on the set left out than these do (.000 to -.006,
`tests/bench/README.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.text.words import PREFIX_LENGTH, find_long_words
from ctxassembly.wording.languages import stop_words

if TYPE_CHECKING:  # it imports numpy, which only queries need
    from ctxassembly.text.query_terms import QueryTerms

STOP_WORD_WEIGHT = 0.5
"""The weight of a function word relative to another word that is as rare."""


def stop_word_weights(query_terms: QueryTerms) -> Mapping[str, float]:
    """Return the factor of each stem and long word that only stop words of the query have, for `Bm25`.

    Stop words are the function words of the query's language. A query of nothing but stop words has no factors: all its
    words count the same. So do the words of a query with operators ("difference between is and =="), where a function
    word may be a keyword.
    """
    if query_terms.symbols:
        return {}
    query_words = frozenset(query_terms.words)
    weak_words = stop_words(query_words)
    other_words = query_words - weak_words
    return dict.fromkeys(_match_forms(weak_words) - _match_forms(other_words), STOP_WORD_WEIGHT) if other_words else {}


def _match_forms(terms: Collection[str]) -> set[str]:
    """Return the stems and long words by which `terms` are found in texts."""
    return {term[:PREFIX_LENGTH] for term in terms} | find_long_words(filter(str.isalpha, terms)).keys()


# Only the best scores of a scorer count: those sentences are the ones that words miss. It ranks all others no better
# than words do, and a model that doesn't know the language ranks them worse (`tests/bench/README.md`, "A scorer").
# Scores may have any scale: cosines are close together, logits have no bounds. So only their differences count.


TOP_SCORES = 10
"""Number of scores that count: 5 find as much, 20 or 40 less on some sets."""
SCORER_WEIGHT = 2.0
"""The largest difference that a scorer can make between two sentences, on the scale of `Weights`.

With 4, an English model loses .036 of recall in Dutch with fused hits; with 2 it loses nothing beyond noise.
"""


def normalize_scores(sentences: Sequence[str], scores: Mapping[str, float]) -> list[float]:
    """Scale `scores` from 1 for the best to 0 for the one after the `TOP_SCORES` highest and all below.

    Equal scores count as one. If there are fewer, the lowest is 0. A missing score is 0, too.
    """
    highest = nlargest(TOP_SCORES + 1, set(scores.values()))
    best, lowest = highest[0], highest[-1]
    # Halved first: the difference of two finite numbers may be infinite.
    span = best / 2 - lowest / 2 or 1.0
    normalized = {text: (score / 2 - lowest / 2) / span for text, score in scores.items() if score > lowest}
    return [normalized.get(sentence, 0.0) for sentence in sentences]


class Weights(NamedTuple):
    """The largest difference that each signal can make between two sentences."""

    rank: float = 0.8
    """Times the logarithm of 1 + the rank of the nearest hit."""
    neighbor: float = 0.8
    """Subtracted from a neighbor of a hit."""
    distance: float = 0.15
    """Subtracted for each further step from the hit."""
    chunk: float = 5.5
    """The words of the query in the chunk; this and the next three are relative to the best."""
    sentence: float = 0.75
    surroundings: float = 2.0
    section: float = 2.0
    document: float = 1.5
    """The number of good hits in the document."""

    @property
    def max_lexical_score(self) -> float:
        """The largest difference that the words of a query can make."""
        return self.chunk + self.sentence + self.surroundings + self.section


WEIGHTS = Weights()
FUSED_WEIGHTS = Weights(
    rank=1.3, neighbor=1.3, distance=0.25, chunk=2.5, sentence=1.2, surroundings=3.3, section=3.3, document=1.6
)
"""The weights for hits of which a keyword search found some.

Their order includes the words of the chunks already, weighted by all texts searched instead of those retrieved. So
relative to the others the chunk has a quarter of its usual weight and the document two thirds, for questions whose
answer is in two documents. All are multiplied by 1.64 so that the words make the same difference
(`tests/bench/README.md`, "Fused hits").
"""
