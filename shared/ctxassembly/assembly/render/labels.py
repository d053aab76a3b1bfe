"""The labels of a context, each with the text that is read under it."""

from __future__ import annotations

from typing import NamedTuple

from ctxassembly.data.chunks import Span


class Label(NamedTuple):
    """What is read under one label: runs of one document in reading order."""

    part: int
    document: int
    best: int
    """The number in the pool of its best chunk: hits before neighbors, then by rank."""
    chunks: tuple[int, ...]
    """All chunks that its runs are in, in reading order."""
    runs: tuple[Span, ...]
    """In the joined text."""
    value: float
    """Of its best unit."""


class Layout(NamedTuple):
    """The labels of a context, in order."""

    labels: list[Label]
    owns: list[int]
    """From where on the text is owned by each chunk: a chunk that isn't read leaves its overlap to the next one."""
    cuts: frozenset[int] = frozenset()
    """Where, in the joined text, text was cut that goes on: a marker follows."""
