"""Candidates: chunks that may stand in the context, and their forms on the way there.

A stage that shortens a candidate, or gives it a better rank, returns a new form of it. All forms share one key, and
every map of the engine is keyed by it: a form can be replaced at any time without an update anywhere else.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.reasons import Reason

Shortening = Literal["budget", "max_chunk_tokens", "sentence", "extractive", "llm", "repeated"]
"""Why only a part of a chunk stands. "budget" and "max_chunk_tokens": it was cut to that limit. "sentence": its best
sentences were chosen. "extractive" and "llm": it was compressed. "repeated": a better-ranked passage has the rest."""


class Candidate(NamedTuple):
    """A chunk that may stand in the context: a hit, or a neighbour of one."""

    key: int
    """Number of the candidate in its assembly: hits have their rank, neighbours the numbers after. All forms of a
    candidate share it. Equality leaves it out: another assembly may give the same chunk another number."""
    chunk: Chunk
    rank: int
    """Rank of the hit, from 0; a neighbour has the rank of its best hit."""
    score: float | None = None
    distance: int = 0
    """Steps to the nearest hit: 0 for a hit itself."""
    position: int = 0
    """Place in the document, by index or by the links between chunks. Consecutive means adjacent."""
    kept: tuple[Span, ...] | None = None
    """The slices of the chunk's text that may stand, ascending and disjoint; None for all of it."""
    shortened_by: Shortening | None = None
    read_from: int | None = None
    """Set for a chunk too long to be read: `chunk` has only a part of its text, which begins at this character."""

    @property
    def text(self) -> str:
        """The text that may stand: the kept slices, joined."""
        text = self.chunk.text
        return text if self.kept is None else "".join(text[start:end] for start, end in self.kept)

    @property
    def slices(self) -> tuple[Span, ...]:
        """The slices of the chunk's text that may stand. A candidate that isn't shortened has one."""
        return ((0, len(self.chunk.text)),) if self.kept is None else self.kept

    @property
    def is_too_much(self) -> bool:
        """True if the whole text is known not to fit, without counting."""
        return self.read_from is not None and self.kept is None

    @property
    def is_hit(self) -> bool:
        """True for a retrieved chunk, false for a neighbour."""
        return self.distance == 0

    # Without the key. Both operators are spelled out, since a tuple has both.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self[1:] == other[1:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:])


class Match(NamedTuple):
    """A text that makes another one superfluous."""

    place: int
    """Its place in the list of all texts."""
    is_part: bool = False
    """True if the other text is a part of it, false if it is another version of it."""


class LeftOut(NamedTuple):
    """The reason why a candidate was left out, and the tokens that it would have added to the context."""

    reason: Reason
    tokens: int
