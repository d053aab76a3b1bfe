"""The pieces that a context is written of: slices of chunks, the glue between them, and the headers around them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate

GAP = "[...]"
"""Marks missing text of the same document: between two pieces, and where the end of a text was cut."""


class Header(IntEnum):
    """The amount of header above a block, most first. Only a tiny budget needs another than the first."""

    FULL = 0
    NO_SUMMARY = 1
    LABEL = 2
    NONE = 3


class Joint(NamedTuple):
    """The way a chunk continues the one before."""

    shared: int
    """Characters at its beginning that the chunk before has already."""
    glue: str
    """The white space to write between the two; empty if they touch."""


class Piece(NamedTuple):
    """The verbatim slice `candidate.chunk.text[start:end]` as it stands in a passage, after `glue`."""

    candidate: Candidate
    start: int
    end: int
    glue: str
    """The text between the piece before and this one: white space, nothing if the two touch, or `GAP` if the text
    between them was left out."""
    shared: int = 0
    """Characters of the chunk that are left out here because other pieces have them."""

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[self.start : self.end]


class Part(NamedTuple):
    """A stretch of rendered text: the slice `[start:end]` of a candidate's chunk, or, without one, our own words."""

    text: str
    candidate: Candidate | None = None
    start: int = 0
    end: int = 0


class Label(NamedTuple):
    """One label and the passages under it."""

    passages: Sequence[tuple[Piece, ...]]
    best: Candidate
    """The best-ranked of its chunks. Hits rank before neighbours."""
    summary: str
    """The page summary above the text; empty if there is none."""
