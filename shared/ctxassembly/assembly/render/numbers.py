"""The numbers of labels: in a conversation a document keeps the label that it had, and others get the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ctxassembly.assembly.render.layout import Label

Key = tuple[int, ...]
"""What a label belongs to: a document, or a document and a chunk where each chunk has one, by their numbers."""


class Numbers(NamedTuple):
    """The numbers that a context may use."""

    first: int = 1
    step: int = 1
    """From one new label to the next."""
    known: Mapping[Key, Sequence[int]] = {}
    """The labels that the conversation has given to what is in the pool."""
    by_chunk: bool = False
    """True if each chunk has a label of its own."""

    def of(self, labels: Sequence[Label]) -> list[int]:
        """Return the number of each of `labels`: the known ones of each first."""
        new, known = count(self.first, self.step), {key: iter(numbers) for key, numbers in self.known.items()}
        found = []
        for label in labels:
            own = known.get((label.document, label.best) if self.by_chunk else (label.document,)) if known else None
            number = next(own, None) if own is not None else None
            found.append(next(new) if number is None else number)
        return found
