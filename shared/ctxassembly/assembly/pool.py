"""The chunks that a context is chosen from, in reading order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate


class Pool(NamedTuple):
    """Hits and neighbors by document, the document of the best hit first, and within it in reading order."""

    candidates: Sequence[Candidate]
    documents: Sequence[int]
    """The number of the first candidate of each document."""


def make_pool(candidates: Iterable[Candidate], *, by_document: bool = True) -> Pool:
    """Return the pool of `candidates`; unless `by_document`, of hits that are each read on their own, best first."""
    if not by_document:
        ranked = sorted(candidates, key=lambda candidate: candidate.rank)
        return Pool(ranked, range(len(ranked)))
    best: dict[str, int] = {}
    given = [*candidates]
    for candidate in given:
        document_id = candidate.chunk.document_id
        best[document_id] = min(candidate.rank, best.get(document_id, candidate.rank))
    ordered = sorted(
        given, key=lambda one: (best[one.chunk.document_id], one.chunk.document_id, one.position, one.rank)
    )
    firsts = [
        number
        for number, one in enumerate(ordered)
        if not number or ordered[number - 1].chunk.document_id != one.chunk.document_id
    ]
    return Pool(ordered, firsts)
