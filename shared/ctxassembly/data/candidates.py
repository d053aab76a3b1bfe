"""Chunks that may stand in the context."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.reasons import Reason

Shortening = Literal["budget", "max_chunk_tokens", "sentence", "extractive", "llm", "repeated"]
"""Why only a part of a chunk stands: cut to what fits or to that limit, chosen by sentences, compressed, or because a
better-ranked passage has the rest."""


class Candidate(NamedTuple):
    """A chunk that may stand in the context: a hit, or a neighbour of one."""

    key: int
    """Tells it from the other candidates of one assembly: the place of a hit in the list, for neighbours the numbers
    after. It stays the same whatever becomes of the candidate, so maps from candidates to anything are keyed by it. It
    is not compared: the same chunk may have another number in another assembly."""
    chunk: Chunk
    rank: int
    """Rank of the hit, from 0; a neighbour has the rank of its best hit."""
    score: float | None = None
    distance: int = 0
    """Steps to the nearest hit: 0 for a hit itself."""
    position: int = 0
    """Place in the document: the index, or what the links between chunks say. Consecutive means adjacent."""
    kept: tuple[Span, ...] | None = None
    """The slices of the chunk's text that may stand, ascending and apart; None for all of it."""
    shortened_by: Shortening | None = None
    """Why it is not all of it."""
    read_from: int | None = None
    """Of a chunk too long to be read, which has only a part of its text here: where that begins in all of it."""

    @property
    def text(self) -> str:
        """What may stand of the chunk's text."""
        text = self.chunk.text
        return text if self.kept is None else "".join(text[start:end] for start, end in self.kept)

    @property
    def slices(self) -> tuple[Span, ...]:
        """The slices of the chunk's text that may stand; one of all of it if it isn't shortened."""
        return ((0, len(self.chunk.text)),) if self.kept is None else self.kept

    @property
    def is_too_much(self) -> bool:
        """Whether it is known that all of it doesn't fit, without counting."""
        return self.read_from is not None and self.kept is None

    @property
    def is_hit(self) -> bool:
        """Whether it was retrieved, rather than fetched as a neighbour."""
        return self.distance == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self[1:] == other[1:]

    def __ne__(self, other: object) -> bool:  # a tuple has its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:])


class Match(NamedTuple):
    """A text that makes another one superfluous."""

    place: int
    """In the list of all texts."""
    is_part: bool = False
    """Whether the other one is only a part of it, rather than another version."""


class LeftOut(NamedTuple):
    """Why a candidate was left out, and what it would have added to the context."""

    reason: Reason
    tokens: int
