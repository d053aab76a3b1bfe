"""Chunks as given -> candidates: invalid values are repaired, empty chunks set aside, and both are noted.

A wrong type is the caller's error and raises. A wrong value comes from a reader, a splitter or a database: it is
repaired and noted, so that one bad row doesn't cost the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from types import CoroutineType
from typing import Any, NamedTuple

from ctxassembly.config.hints import not_a_hit_error
from ctxassembly.data.candidates import EMPTY, Candidate
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.requests import Request
from ctxassembly.data.sanitize import Issue, sanitize_chunk, sanitize_score
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import TraceRecorder, count_by_reason

MAX_SIMILAR_NOTES = 10
"""Notes on one kind of oddity; a last note counts the others."""
_ID_CHARS = 80


class AdmittedHits(NamedTuple):
    """Hits as candidates, usable or not."""

    candidates: tuple[Candidate, ...]
    empty: tuple[Candidate, ...]
    """Candidates with no text but white space."""
    hits: tuple[Hit, ...] = ()
    """All hits in their order, after repair."""


def admit_hits(hits: Sequence[Hit], log: TraceRecorder) -> Generator[Request, Any, AdmittedHits]:
    """Return candidates in the order of `hits`, as the first stage; their rank, and their key, is their place there.

    A note is taken of every value that was repaired.

    Raises:
        InputError: `hits` is not a sequence of Hit.
    """
    yield from log.begin("admit", len(hits) if isinstance(hits, Sequence) else 0)
    if isinstance(hits, (str, bytes)) or not isinstance(hits, Sequence):
        raise not_a_hit_error(hits)
    usable: list[Candidate] = []
    empty: list[Candidate] = []
    admitted: list[Hit] = []
    found: list[tuple[Chunk, Sequence[Issue]]] = []
    for rank, hit in enumerate(hits):
        if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk):
            raise not_a_hit_error(hit, rank)
        chunk, issues = sanitize_chunk(hit.chunk, rank)
        score, score_issues = sanitize_score(hit.score)
        if issues or score_issues:
            found.append((chunk, [*issues, *score_issues]))
        (empty if not chunk.text or chunk.text.isspace() else usable).append(Candidate(rank, chunk, rank, score))
        admitted.append(hit if chunk is hit.chunk and score is hit.score else replace(hit, chunk=chunk, score=score))
    log.notes += _describe("hit", found)
    yield from log.end(len(usable), lambda: count_by_reason([EMPTY] * len(empty)))
    return AdmittedHits(tuple(usable), tuple(empty), tuple(admitted))


def admit_chunks(chunks: Iterable[Any], *, strict: bool = True) -> tuple[list[Chunk], list[str]]:
    """Return the chunks from a store, repaired, and the notes.

    Raises:
        InputError: the store returned something other than chunks. If it isn't `strict`, others among chunks are left
            out and noted.
    """
    if isinstance(chunks, CoroutineType):
        chunks.close()  # nobody will await it, and Python would warn
    if issubclass(type(chunks), (str, bytes, Mapping)) or not hasattr(type(chunks), "__iter__"):
        raise _not_chunks_error(chunks)
    admitted: list[Chunk] = []
    found: list[tuple[Chunk, Sequence[Issue]]] = []
    others: list[Any] = []
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            if strict:
                raise _not_chunks_error(chunk)
            others.append(chunk)
            continue
        sanitized, issues = sanitize_chunk(chunk, at)
        if issues:
            found.append((sanitized, issues))
        admitted.append(sanitized)
    notes = _describe("neighbor", found)
    if others:
        if not admitted:
            raise _not_chunks_error(others[0])
        first = safe_repr(others[0])
        notes.append(f"store: {len(others):,} of its answers are no chunks, left out; the first is {first}")
    return admitted, notes


def _describe(subject: str, found: Iterable[tuple[Chunk, Sequence[Issue]]]) -> list[str]:
    """Return notes on the issues `found` in chunks: of each kind the first few, and a count of the others."""
    notes: list[str] = []
    counts: Counter[str] = Counter()
    for chunk, issues in found:
        for kind, note in issues:
            counts[kind] += 1
            if counts[kind] <= MAX_SIMILAR_NOTES:
                notes.append(f"{subject} {safe_repr(chunk.id, _ID_CHARS)}: {note}")
    more = [(kind, number - MAX_SIMILAR_NOTES) for kind, number in counts.items() if number > MAX_SIMILAR_NOTES]
    return [*notes, *[f"{subject}s: {number:,} more notes on {kind}" for kind, number in more]]


def _not_chunks_error(value: object) -> InputError:
    return InputError(f"the store must return chunks, got {safe_repr(value)}")
