"""The largest difference that each signal makes between two sentences."""

from __future__ import annotations

from typing import NamedTuple


class Weights(NamedTuple):
    """Fitted by hand on question sets with marked evidence; half or double one weight moves recall by .01."""

    rank: float = 0.8
    """Times the logarithm of 1 + the rank of the nearest hit."""
    neighbor: float = 0.8
    """Subtracted from a neighbor of a hit."""
    distance: float = 0.15
    """Subtracted for each further step from the hit."""
    document: float = 1.5
    """The number of good hits in the document."""
    chunk: float = 5.5
    """The words of the query in the chunk that has the sentence; this and the next three are relative to the best."""
    sentence: float = 0.75
    surroundings: float = 2.0
    """The words of the sentence and those next to it."""
    section: float = 2.0
    title: float = 3.0
    """A document that the query or one of the best sentences names by its title."""
    name: float = 3.0
    """Words of the query in the name of the document's file."""
    speaker: float = 3.0
    """A turn of a speaker whom the query names."""
    scorer: float = 2.5
    """What a scorer of the caller says of its ten best sentences."""

    @property
    def lexical(self) -> float:
        """The largest difference that the words of a query make."""
        return self.chunk + self.sentence + self.surroundings + self.section


WEIGHTS = Weights()
