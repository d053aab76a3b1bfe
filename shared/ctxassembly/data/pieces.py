"""What a context is written of: slices of chunks, what joins them, and what is written around them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate

GAP = "[...]"
"""Stands where text of the same document is missing, and at the end of text that was shortened."""


class Header(IntEnum):
    """How much is written around the text of a block; a tiny budget takes the later ones."""

    FULL = 0
    NO_SUMMARY = 1
    LABEL = 2
    NONE = 3


class Joint(NamedTuple):
    """How a chunk continues the one before: how many of its first characters are already there, and what joins them."""

    shared: int
    glue: str


class Piece(NamedTuple):
    """The verbatim slice `candidate.chunk.text[start:end]` as it stands in a passage, after `glue`."""

    candidate: Candidate
    start: int
    end: int
    glue: str
    """What stands between it and the piece before: white space, nothing where the two touch, or `GAP` where text that
    was compressed away is missing."""
    shared: int = 0
    """Characters of the chunk that are left out here because the pieces before have them."""

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[self.start : self.end]


class Part(NamedTuple):
    """A stretch of rendered text: the slice `[start:end]` of a candidate's chunk, or ours if there is no candidate."""

    text: str
    candidate: Candidate | None = None
    start: int = 0
    end: int = 0


class Label(NamedTuple):
    """What one label stands for."""

    passages: Sequence[tuple[Piece, ...]]
    best: Candidate
    """The best-ranked of its chunks, a hit before a neighbour."""
    summary: str
    """The page summary that belongs before it, or nothing."""
