"""Candidates by the unit that is kept or dropped whole: documents, passages or chunks."""

from __future__ import annotations

from collections.abc import Sequence

from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import Candidate


def items_of(candidates: Sequence[Candidate], granularity: Granularity) -> list[list[Candidate]]:
    """`candidates` in items of that size. An item comes where the first of its candidates does."""
    if granularity == "chunk":
        return [[candidate] for candidate in candidates]
    if granularity == "passage":
        return passages_of(candidates)
    return _grouped(candidates, [candidate.chunk.document_id for candidate in candidates])


def passages_of(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """`candidates` by the passages that they make: chunks of one document that stand at consecutive positions."""
    passage_of: dict[int, int] = {}
    passage, before = 0, None
    for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
        at = (candidate.chunk.document_id, candidate.position)
        passage += before not in (at, (at[0], at[1] - 1))
        passage_of[candidate.key] = passage
        before = at
    return _grouped(candidates, [passage_of[candidate.key] for candidate in candidates])


def _grouped(candidates: Sequence[Candidate], keys: Sequence[object]) -> list[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())
