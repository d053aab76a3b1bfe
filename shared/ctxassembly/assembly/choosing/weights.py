"""How much each signal of a sentence's value counts: see `units.py`.

Of the words of a query, those of the chunk weigh most and those of the sentence itself least. The weights were fitted
on question sets with marked evidence, and are flat: half or twice of one moves the share of the evidence that is found
by a hundredth, and weights learned on all sets but one find no more on that one than these do (.000 to -.006,
`tests/bench/README.md`).
"""

from __future__ import annotations

from typing import NamedTuple


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
