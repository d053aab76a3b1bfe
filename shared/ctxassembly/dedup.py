"""Copies of the same chunk collapse onto the better-ranked one."""

from __future__ import annotations

from collections.abc import Iterable

from ctxassembly.keys import MetadataKeys
from ctxassembly.types import Candidate


def collapse_exact(
    candidates: Iterable[Candidate], keys: MetadataKeys
) -> tuple[tuple[Candidate, ...], dict[int, Candidate]]:
    """The candidates without their copies, and for each copy (by `id(copy)`) the candidate that stands for it.

    A copy has the id, the content hash or the whole text (outer white space apart) of one that comes before it in
    `candidates`, which are best first. Never less than the whole text: chunks that begin alike both stay.
    """
    seen: dict[tuple[str, object], Candidate] = {}
    kept: list[Candidate] = []
    stands_for: dict[int, Candidate] = {}
    for candidate in candidates:
        marks = _marks(candidate, keys)
        first = next((seen[mark] for mark in marks if mark in seen), None)
        if first is None:
            kept.append(candidate)
        else:
            stands_for[id(candidate)] = first
        for mark in marks:
            # A copy's other marks lead to the same original, so that a copy of a copy is found as well.
            seen.setdefault(mark, first or candidate)
    return tuple(kept), stands_for


def _marks(candidate: Candidate, keys: MetadataKeys) -> list[tuple[str, object]]:
    chunk = candidate.chunk
    marks: list[tuple[str, object]] = [("id", chunk.id), ("text", chunk.text.strip())]
    content_hash = keys.read(chunk.metadata, "content_hash")
    if isinstance(content_hash, (str, bytes, int)) and content_hash:
        marks.append(("content_hash", content_hash))
    return marks
