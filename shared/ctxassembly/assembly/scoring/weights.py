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

from ctxassembly.text.words import long_words, stems, words
from ctxassembly.wording.stop_words import function_words

LITTLE = 0.5
"""The weight of a function word beside another word that is as rare."""


def factors_of(query: str, lesser: Collection[str] | None = None) -> Mapping[str, float]:
    """The factor of each stem and each long word that only words of `query` have that say little, as `Bm25` takes them.

    Those are the words among `lesser`; without any given, the function words of the query's language. Where no other
    words are asked for, there are no factors: all weigh alike.
    """
    asked = frozenset(words(query))
    little = function_words(asked) if lesser is None else asked.intersection(lesser)
    rest = asked - little
    return dict.fromkeys(_forms(little) - _forms(rest), LITTLE) if rest else {}


def _forms(some: Iterable[str]) -> set[str]:
    """The forms by which `some` words are found in texts."""
    text = " ".join(some)
    return {*stems(text), *long_words(text)}


# A scorer's scores as a signal of sentences.
#
# They count for its best sentences alone. Those are what words miss; the order of all others it knows no better than
# words do, and a model that isn't at home in a language knows it worse (`tests/bench/README.md`, "A scorer").
#
# Scores have any scale: cosines lie close together, logits have no bounds. So only their order and distances count.


BEST = 10
"""The scores that count: with 5 as much is found, with 20 or 40 less on some sets."""
WEIGHT = 2.0
"""The most that a scorer can make out between two sentences, beside the weights of `weights.Weights`.

With 4 an English model loses .036 of the evidence in Dutch where hits are fused; with 2 it loses nothing beyond noise.
"""


def scaled(sentences: Sequence[str], scores: Mapping[str, float]) -> list[float]:
    """From 1 for the best of `scores` to 0 for the one after the `BEST` highest and all below, for each of `sentences`.

    Equal scores count as one. Of fewer scores than that the lowest has 0; one that is missing has 0, too.
    """
    highest = nlargest(BEST + 1, set(scores.values()))
    best, least = highest[0], highest[-1]
    # Halved before the difference is taken: that of two finite numbers may be infinite.
    span = best / 2 - least / 2 or 1.0
    above = {text: (score / 2 - least / 2) / span for text, score in scores.items() if score > least}
    return [above.get(sentence, 0.0) for sentence in sentences]


class Weights(NamedTuple):
    """The most that each signal can make out between two units."""

    rank: float = 0.8
    """Times the logarithm of 1 + the rank of the nearest hit."""
    neighbour: float = 0.8
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
    def words(self) -> float:
        """All that the words of a query can make out."""
        return self.chunk + self.sentence + self.surroundings + self.section


WEIGHTS = Weights()
MARGIN = 0.5
"""The margin by which a neighbour has to be worth more than a hit where all hits fit whole: it takes room from one.

Without one the hard questions find less; between 0.5 and 0.9 no difference can be told (see `tests/bench/README.md`).
"""
FUSED = Weights(
    rank=1.3, neighbour=1.3, distance=0.25, chunk=2.5, sentence=1.2, surroundings=3.3, section=3.3, document=1.6
)
"""The weights where a search for words found some of more than `FEW_HITS` hits.

Their order has the words of the chunks already, weighed by all texts that were searched, not by those at hand. So the
chunk weighs a quarter of what it does else beside the others, and the document two thirds, for questions whose answer
stands in two. All are 1.64 times as great, so that the words make out as much (`tests/bench/README.md`, "Fused hits").
"""
FEW_HITS = 10
"""Of up to so many hits the order tells no more than the words of their chunks: with 5, 8 and 10 these find no more."""
