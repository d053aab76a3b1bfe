"""How much each signal of a sentence's value counts: see `units.py`.

Of the words of a query, those of the chunk weigh most and those of the sentence itself least. The weights were fitted
on question sets with marked evidence, and are flat: half or twice of one moves the share of the evidence that is found
by a hundredth, and weights learned on all sets but one find no more on that one than these do (.000 to -.006,
`tests/bench/README.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from ctxassembly.text.words import long_prefixes, prefixes, words
from ctxassembly.wording.stop_words import stop_words

STOP_WORD_WEIGHT = 0.5
"""The weight of a function word beside another word that is as rare."""


def stop_word_weights(query: str, custom_stop_words: Collection[str] | None = None) -> Mapping[str, float]:
    """The factor of each stem and each long word that only words of `query` have that say little, as `Bm25` takes them.

    Those are the words among `custom_stop_words`; without any given, the function words of the query's language. Where
    no other words are asked for, there are no factors: all weigh alike.
    """
    query_words = frozenset(words(query))
    weak_words = stop_words(query_words) if custom_stop_words is None else query_words.intersection(custom_stop_words)
    other_words = query_words - weak_words
    return dict.fromkeys(_match_forms(weak_words) - _match_forms(other_words), STOP_WORD_WEIGHT) if other_words else {}


def _match_forms(terms: Iterable[str]) -> set[str]:
    """The forms by which `terms` words are found in texts."""
    text = " ".join(terms)
    return {*prefixes(text), *long_prefixes(text)}


# A scorer's scores as a signal of sentences.
#
# They count for its best sentences alone. Those are what words miss; the order of all others it knows no better than
# words do, and a model that isn't at home in a language knows it worse (`tests/bench/README.md`, "A scorer").
#
# Scores have any scale: cosines lie close together, logits have no bounds. So only their order and distances count.


TOP_SCORES = 10
"""The scores that count: with 5 as much is found, with 20 or 40 less on some sets."""
SCORER_WEIGHT = 2.0
"""The most that a scorer can make out between two sentences, beside the weights of `weights.Weights`.

With 4 an English model loses .036 of the evidence in Dutch where hits are fused; with 2 it loses nothing beyond noise.
"""


def normalize_scores(sentences: Sequence[str], scores: Mapping[str, float]) -> list[float]:
    """Scale `scores` from 1 for the best to 0 for the one after the `TOP_SCORES` highest and all below.

    Equal scores count as one. Of fewer scores than that the lowest has 0; one that is missing has 0, too.
    """
    highest = nlargest(TOP_SCORES + 1, set(scores.values()))
    best, lowest = highest[0], highest[-1]
    # Halved before the difference is taken: that of two finite numbers may be infinite.
    span = best / 2 - lowest / 2 or 1.0
    normalized = {text: (score / 2 - lowest / 2) / span for text, score in scores.items() if score > lowest}
    return [normalized.get(sentence, 0.0) for sentence in sentences]


class Weights(NamedTuple):
    """The most that each signal can make out between two units."""

    rank: float = 0.8
    """Times the logarithm of 1 + the rank of the nearest hit."""
    neighbor: float = 0.8
    """Being only near a hit."""
    distance: float = 0.15
    """Each further step from it."""
    chunk: float = 5.5
    """The words of the query in the chunk, as those below in parts of the best."""
    sentence: float = 0.75
    surroundings: float = 2.0
    section: float = 2.0
    document: float = 1.5
    """The number of good hits in the document."""

    @property
    def max_lexical_score(self) -> float:
        """All that the words of a query can make out."""
        return self.chunk + self.sentence + self.surroundings + self.section


WEIGHTS = Weights()
HIT_MARGIN = 0.5
"""The margin by which a neighbor has to be worth more than a hit where all hits fit whole: it takes room from one.

Without one the hard questions find less; between 0.5 and 0.9 no difference can be told (see `tests/bench/README.md`).
"""
FUSED_WEIGHTS = Weights(
    rank=1.3, neighbor=1.3, distance=0.25, chunk=2.5, sentence=1.2, surroundings=3.3, section=3.3, document=1.6
)
"""The weights where a search for words found some of more than `MAX_FEW_HITS` hits.

Their order has the words of the chunks already, weighed by all texts that were searched, not by those at hand. So the
chunk weighs a quarter of what it does else beside the others, and the document two thirds, for questions whose answer
stands in two. All are 1.64 times as great, so that the words make out as much (`tests/bench/README.md`, "Fused hits").
"""
MAX_FEW_HITS = 10
"""Of up to so many hits the order tells no more than the words of their chunks: with 5, 8 and 10 these find no more."""
