"""What a conversation has of the documents of a context: their labels, and the places of text that was sent before.

A document keeps the label that it had. Its block names the pages that adjoin the new text, for a reader who has them in
an earlier message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, CitationBlock
from ctxassembly.data.chunks import Chunk

LabelKey = tuple[str, ...]
"""What a label belongs to: a document, or a document and a chunk where each chunk has one."""


class SentChunk(NamedTuple):
    """A chunk of which the conversation has text, and the label of that text."""

    label: str
    chunk: Chunk


@dataclass(frozen=True)
class Earlier:
    """What the conversation has of the documents of one context."""

    labels: Mapping[LabelKey, tuple[int, ...]] = field(default_factory=dict)
    """The labels that it has given, in their order."""
    max_label: int = 0
    """A bound of all labels that the context may have; it is only needed if there are `labels`."""
    chunks: Mapping[tuple[str, int], SentChunk] = field(default_factory=dict)
    """The chunks that it has text of, by document and position."""
    label_step: int = 1
    """The distance from one new label to the next."""

    def number_labels(self, config: AssemblyConfig) -> Callable[[CitationBlock], int]:
        """Return a function that numbers the labels of a context in their order: the known ones of each, then new."""
        new = count(config.first_label, self.label_step)
        known = {key: iter(labels) for key, labels in self.labels.items()}

        def number(label: CitationBlock) -> int:
            own = known.get(label_key(config, label.best_candidate.chunk) or ()) if known else None
            return next(new) if own is None else next(own, None) or next(new)

        return number

    def adjoining(self, label: CitationBlock) -> list[SentChunk]:
        """Return the chunks that adjoin the text of `label`, in the order of their document."""
        places = {
            (piece.candidate.chunk.document_id, piece.candidate.position + step)
            for passage in label.passages
            for piece in passage
            for step in (-1, 0, 1)
        }
        return [self.chunks[place] for place in sorted(places & self.chunks.keys())]


NOTHING_EARLIER = Earlier()


def label_key(config: AssemblyConfig, chunk: Chunk) -> LabelKey | None:
    """Return what the label of `chunk` belongs to; None if each passage or each hit gets a new one."""
    if not config.enabled or config.cite == "passage":
        return None
    return (chunk.document_id,) if config.cite == "document" else (chunk.document_id, chunk.id)


def candidate_place(candidate: Candidate) -> tuple[str, int]:
    """Return the document and the position of a candidate."""
    return candidate.chunk.document_id, candidate.position
