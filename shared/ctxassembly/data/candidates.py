"""Candidates: chunks that may be included in the context, and their forms on the way there.

A stage that shortens a candidate, or gives it a better rank, returns a new form of it. All forms share one key, and
every map of the engine is keyed by it: a form can be replaced at any time without an update anywhere else.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Literal, NamedTuple

from ctxassembly.data.chunks import Chunk, Span

Reason = Literal[
    "budget",
    "too short",
    "below the relevance floor",
    "irrelevant",
    "below the minimum relevance",
    "beyond the window",
    "empty",
    "duplicate",
    "near duplicate",
    "semantic duplicate",
    "contained",
    "repeated",
    "already sent",
]

OVER_BUDGET: Final = "budget"
TOO_SHORT: Final = "too short"
BELOW_FLOOR: Final = "below the relevance floor"
IRRELEVANT: Final = "irrelevant"
"""A language model found nothing in it that helps to answer."""
BELOW_CUTOFF: Final = "below the minimum relevance"
"""Its relevance is below the minimum that `min_relevance` sets for the length of the context."""
OUTSIDE_WINDOW: Final = "beyond the window"
"""A neighbor farther from its hit than `window`, or the first chunk of a document that a hit mentions: it was fetched
for the query to choose from, or for the header of a table, and not used."""
EMPTY: Final = "empty"
"""It has no text but white space, or but what no model reads, such as base64."""
EXACT_DUPLICATE: Final = "duplicate"
"""It is an exact copy. It fits only where its original fits, so it is never tried for itself."""
NEAR_DUPLICATE: Final = "near duplicate"
SEMANTIC_DUPLICATE: Final = "semantic duplicate"
CONTAINED: Final = "contained"
"""A larger chunk has all of its text."""
REPEATED: Final = "repeated"
"""A better-ranked passage has its sentences: all of them, or those that are left out here."""
ALREADY_SENT: Final = "already sent"
"""The conversation has its text: all of it, or what is left out here."""
NOT_RELEVANT = (TOO_SHORT, BELOW_FLOOR, IRRELEVANT, BELOW_CUTOFF)
"""Reasons for which a chunk was left out although there was room for it."""
LEFT_OUT = (OVER_BUDGET, *NOT_RELEVANT)
"""Reasons that left a chunk out although it could have been read. The others found it superfluous."""

Shortening = Literal["budget", "max_chunk_tokens", "sentence", "extractive", "llm", "repeated", "already sent"]
"""Why only a part of a chunk is included. "budget" and "max_chunk_tokens": it was cut to that limit. "sentence": its
best sentences were chosen. "extractive" and "llm": it was compressed. "repeated": a better-ranked passage has the
rest. "already sent": the conversation has the rest."""


COMPRESSIONS: frozenset[Shortening] = frozenset({"extractive", "llm"})
"""Those by which a chunk was compressed. By the others it was cut."""


class Candidate(NamedTuple):
    """A chunk that may be included in the context: a hit, or a neighbor of one."""

    key: int
    """Number of the candidate in its assembly: hits have their rank, neighbors the numbers after. All forms of a
    candidate share it. Equality leaves it out: another assembly may give the same chunk another number."""
    chunk: Chunk
    rank: int
    """Rank of the hit, from 0; a neighbor has the rank of its best hit."""
    score: float | None = None
    distance: int = 0
    """Steps to the nearest hit: 0 for a hit itself."""
    position: int = 0
    """Place in the document, by index or by the links between chunks. Consecutive means adjacent."""
    kept_spans: tuple[Span, ...] | None = None
    """The slices of the chunk's text that may be included, ascending and disjoint; None for all of it."""
    shortened_by: Shortening | None = None

    @property
    def text(self) -> str:
        """The text that may be included: the kept slices, joined."""
        text = self.chunk.text
        return text if self.kept_spans is None else "".join([text[start:end] for start, end in self.kept_spans])

    @property
    def spans(self) -> tuple[Span, ...]:
        """The slices of the chunk's text that may be included. A candidate that isn't shortened has one."""
        return ((0, len(self.chunk.text)),) if self.kept_spans is None else self.kept_spans

    @property
    def is_hit(self) -> bool:
        """True for a retrieved chunk, false for a neighbor."""
        return self.distance == 0

    # Without the key. Both operators are spelled out, since a tuple has both.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidate) and self[1:] == other[1:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:])


GAP = "[...]"
"""Marks missing text of the same document: between two pieces, and where the end of a text was cut."""


class HeaderDetail(IntEnum):
    """The amount of header above a block, most first. Only a tiny budget needs another than the first."""

    FULL = 0
    NO_SUMMARY = 1
    LABEL = 2
    NONE = 3


class TextPiece(NamedTuple):
    """The verbatim slice `candidate.chunk.text[start:end]` as it appears in a passage, after `separator`."""

    candidate: Candidate
    start: int
    end: int
    separator: str
    """The text between the piece before and this one: white space, nothing if the two touch, or `GAP` if the text
    between them was left out."""
    overlap: int = 0
    """Characters of the chunk that are left out here because other pieces have them."""

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[self.start : self.end]
