"""Chunks as they come -> candidates: odd values are mended, unusable chunks set aside, and both are noted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.errors import InputError
from ctxassembly.types import Candidate, Chunk, Hit


@dataclass(frozen=True, slots=True)
class Admitted:
    """What can be used, what can't, and every value that was mended on the way."""

    candidates: tuple[Candidate, ...]
    empty: tuple[Candidate, ...]
    """Chunks with no text but white space."""
    notes: tuple[str, ...]


def admit(hits: Sequence[Hit]) -> Admitted:
    """Candidates in the order of `hits`; their rank is their place in the list.

    Raises:
        InputError: `hits` is not a sequence of Hit.
    """
    if isinstance(hits, (str, bytes)) or not isinstance(hits, Sequence):
        raise InputError(f"hits must be a sequence of Hit, got {type(hits).__name__}")
    usable: list[Candidate] = []
    empty: list[Candidate] = []
    notes: list[str] = []
    by_place: dict[tuple[str, int], str] = {}
    for rank, hit in enumerate(hits):
        if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk) or not isinstance(hit.chunk.text, str):
            raise InputError(f"hits must be a sequence of Hit, got {hit!r:.200} at place {rank}")
        chunk, mended = mended_chunk(hit.chunk, rank)
        score, odd = mended_score(hit.score)
        notes += [f"hit {chunk.id!r}: {note}" for note in (*mended, *odd)]
        if chunk.index is not None:
            same = by_place.setdefault((chunk.document_id, chunk.index), chunk.text)
            if same != chunk.text:
                notes.append(f"hit {chunk.id!r}: index {chunk.index} stands twice in document {chunk.document_id!r}")
        (usable if chunk.text.strip() else empty).append(Candidate(chunk, rank, score))
    return Admitted(tuple(usable), tuple(empty), tuple(notes))


def admit_fetched(chunks: Iterable[Any]) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...], tuple[str, ...]]:
    """The usable ones among chunks from a store, those with no text but white space, and the notes.

    Raises:
        InputError: the store returned something other than chunks.
    """
    usable: list[Chunk] = []
    empty: list[Chunk] = []
    notes: list[str] = []
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk) or not isinstance(chunk.text, str):
            raise InputError(f"the store must return chunks, got {chunk!r:.200}")
        mended, odd = mended_chunk(chunk, place)
        notes += [f"neighbour {mended.id!r}: {note}" for note in odd]
        (usable if mended.text.strip() else empty).append(mended)
    return tuple(usable), tuple(empty), tuple(notes)


def mended_chunk(chunk: Chunk, place: int) -> tuple[Chunk, list[str]]:
    """The chunk as the stages read it, and a note on each value that was wrong; `place` names one without an id."""
    if (
        type(chunk.id) is str
        and chunk.id
        and type(chunk.document_id) is str
        and chunk.document_id
        and (chunk.index is None or (type(chunk.index) is int and chunk.index >= 0))
        and (chunk.start is None or (type(chunk.start) is int and chunk.start >= 0))
        and (type(chunk.metadata) is dict or isinstance(chunk.metadata, Mapping))  # the first is faster
    ):
        return chunk, []
    notes: list[str] = []
    index = _whole(chunk.index)
    if index is None and chunk.index is not None:
        notes.append(f"index {chunk.index!r:.50} is not a whole number from 0, left out")
    document_id = "" if chunk.document_id is None else str(chunk.document_id)
    chunk_id = "" if chunk.id is None else str(chunk.id)
    if not chunk_id:
        chunk_id = f"{document_id}#{index}" if document_id and index is not None else f"hit-{place}"
        notes.append("no id, named by its place")
    if not document_id:
        document_id = chunk_id
        notes.append("no document id, stands as a document of its own")
        index = None
    metadata = chunk.metadata
    if not isinstance(metadata, Mapping):
        if metadata is not None:
            notes.append(f"metadata {metadata!r:.50} are no mapping, left out")
        metadata = {}
    start = _whole(chunk.start)
    return replace(chunk, id=chunk_id, document_id=document_id, index=index, start=start, metadata=metadata), notes


def _whole(value: Any) -> int | None:
    """7, "7" and 7.0 are 7; anything negative, fractional or not a number is None."""
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
        return number if number >= 0 and float(value) == number else None
    except (TypeError, ValueError, OverflowError):
        return None


def mended_score(value: Any) -> tuple[float | None, list[str]]:
    """The score as a finite number, None if it is none, and a note on what was wrong with it."""
    if value is None:
        return None, []
    try:
        score = float(value)
    except (TypeError, ValueError):
        return None, [f"score {value!r:.50} is not a number, left out"]
    except OverflowError:
        return None, ["score is too large for a float, left out"]
    return (score, []) if math.isfinite(score) else (None, [f"score {score} is not finite, left out"])
