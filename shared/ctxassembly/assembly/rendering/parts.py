"""Parts of a context that are read one after the other: what answers the query best comes first (`order="auto"`).

A document has a label in each part in which any of its text is, with its text there in reading order. Which slices of a
candidate belong to which part is decided before anything is rendered, so the budget counts the additional headers.
Where a label is a chunk (`cite="chunk"`), chunks are in parts, not slices, so that each has one label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.assembly.rendering.excerpt import subtract_spans
from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span

LAST_CHUNK_PART = 2
"""The part of all chunks but the best one, which is read first, and the next best ones."""


@dataclass(frozen=True)
class Parts:
    """The part in which each slice of a candidate is read, and the order of the documents in a part."""

    document_ranks: Mapping[str, int]
    """The place of each document among all; one that isn't here comes last."""
    spans: Sequence[Mapping[int, Sequence[Span]]] = ()
    """For each part but the last: slices by candidate key, ascending. Two parts have no slice in common, and the last
    part has everything else."""
    sentence_parts: Mapping[int, int] = field(default_factory=dict)
    """The part of each scored sentence by its index; one that isn't here is in the last part."""
    chunk_parts: Mapping[int, int] = field(default_factory=dict)
    """Where a label is a chunk: the part of each of the best chunks by candidate key; then there are no `spans`."""

    @property
    def count(self) -> int:
        """The maximum number of labels of a document with cite="document"."""
        return len(self.spans) + 1

    def relevance(self, part: int, document_id: str) -> tuple[int, int]:
        """Return the sort key of a document's text in `part`; smaller comes first."""
        return part, self.document_ranks.get(document_id, len(self.document_ranks))

    def chunk_rank(self, candidate: Candidate) -> tuple[int, int]:
        """Return the sort key of the label of `candidate`; smaller comes first."""
        return self.relevance(self.chunk_parts.get(candidate.key, LAST_CHUNK_PART), candidate.chunk.document_id)

    @cached_property
    def _divided_keys(self) -> frozenset[int]:
        return frozenset().union(*self.spans)

    def divide(self, candidate: Candidate) -> list[tuple[int, Candidate]]:
        """Return `candidate` reduced to its slices in each part, with the part's number; itself if it is in one."""
        last_part = len(self.spans)
        if candidate.key not in self._divided_keys:
            return [(last_part, candidate)]
        rest = candidate.spans
        forms: list[tuple[int, tuple[Span, ...]]] = []
        for part, spans_by_key in enumerate(self.spans):
            if spans := spans_by_key.get(candidate.key):
                inside, rest = _divide_spans(rest, spans)
                forms.append((part, inside))
        text = candidate.chunk.text
        with_text = [
            (part, spans)
            for part, spans in (*forms, (last_part, rest))
            if any(not text[start:end].isspace() for start, end in spans)
        ]
        if len(with_text) < 2:
            return [(with_text[0][0] if with_text else last_part, candidate)]
        shortened_by = candidate.shortened_by or "sentence"
        return [(part, candidate._replace(kept_spans=spans, shortened_by=shortened_by)) for part, spans in with_text]


def _divide_spans(spans: Sequence[Span], by: Sequence[Span]) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Return what of `spans` is inside the spans `by`, and what is outside."""
    inside: list[Span] = []
    outside: list[Span] = []
    for start, end in spans:
        at = start
        for rest in (*subtract_spans((start, end), by), (end, end)):
            if at < rest[0]:
                inside.append((at, rest[0]))
            if rest[0] < rest[1]:
                outside.append(rest)
            at = rest[1]
    return tuple(inside), tuple(outside)
