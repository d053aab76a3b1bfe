"""Chunks as they come -> candidates: odd values are mended, chunks without text set aside, and both are noted.

A wrong type is the caller's error and raises. A wrong value comes from a reader, a splitter or a database: it is mended
and noted, so that one bad row doesn't cost the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CoroutineType
from typing import Any

from ctxassembly.config.hints import not_a_hit
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.sanitize import Oddity, mended_chunk, mended_score
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown

MOST_ALIKE = 10
"""Notes on one kind of oddity; a last note counts the others."""
_ID_CHARS = 80


@dataclass(frozen=True, slots=True)
class Admitted:
    """Hits as candidates, usable or not, and a note on every value that was mended."""

    candidates: tuple[Candidate, ...]
    empty: tuple[Candidate, ...]
    """Candidates with no text but white space."""
    notes: tuple[str, ...]
    hits: tuple[Hit, ...] = ()
    """All hits in their order, as they were mended."""


class _Notes:
    """Notes in the order in which they come: of each kind the first few, and a count of the others."""

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._written: list[str] = []
        self._alike: dict[str, int] = {}

    def add(self, chunk: Chunk, oddities: Iterable[Oddity]) -> None:
        for kind, note in oddities:
            self._alike[kind] = alike = self._alike.get(kind, 0) + 1
            if alike <= MOST_ALIKE:
                self._written.append(f"{self._whose} {shown(chunk.id, _ID_CHARS)}: {note}")

    def all(self) -> tuple[str, ...]:
        more = ((kind, alike - MOST_ALIKE) for kind, alike in self._alike.items() if alike > MOST_ALIKE)
        return (*self._written, *(f"{self._whose}s: {number:,} more notes on {kind}" for kind, number in more))


def admit(hits: Sequence[Hit]) -> Admitted:
    """Candidates in the order of `hits`; their rank, and their key, is their position in the list.

    Raises:
        InputError: `hits` is not a sequence of Hit.
    """
    if isinstance(hits, (str, bytes)) or not isinstance(hits, Sequence):
        raise not_a_hit(hits)
    usable: list[Candidate] = []
    empty: list[Candidate] = []
    admitted: list[Hit] = []
    notes = _Notes("hit")
    by_index: dict[tuple[str, int], str] = {}
    by_id: dict[str, str] = {}
    for rank, hit in enumerate(hits):
        if not isinstance(hit, Hit) or not isinstance(hit.chunk, Chunk):
            raise not_a_hit(hit, rank)
        chunk, mended = mended_chunk(hit.chunk, rank)
        score, odd = mended_score(hit.score)
        if mended or odd:
            notes.add(chunk, [*mended, *odd])
        text = chunk.text
        # Two texts under one index, or one id, can't both be right. Both stay: `adjacency/parted.py` tells them apart.
        shares_id = by_id.setdefault(chunk.id, text) != text
        if chunk.index is not None and by_index.setdefault((chunk.document_id, chunk.index), text) != text:
            where = f"index {chunk.index} stands twice in document {shown(chunk.document_id, _ID_CHARS)}"
            notes.add(chunk, (Oddity("places that stand twice", where),))
        elif shares_id:
            notes.add(chunk, (Oddity("ids that stand twice", f"its id is another text's, too; this is hit {rank}"),))
        if shares_id and mended and chunk.document_id == chunk.id and not hit.chunk.document_id:
            # Neither names its document, so each is one of its own, and the id can name only the first.
            chunk = replace(chunk, document_id=f"{chunk.id} (hit {rank})")
        (empty if not chunk.text or chunk.text.isspace() else usable).append(Candidate(rank, chunk, rank, score))
        admitted.append(hit if chunk is hit.chunk and score is hit.score else Hit(chunk, score))
    return Admitted(tuple(usable), tuple(empty), notes.all(), tuple(admitted))


def admit_fetched(
    chunks: Iterable[Any], *, strict: bool = True
) -> tuple[tuple[Chunk, ...], tuple[Chunk, ...], tuple[str, ...]]:
    """The chunks from a store that have text, those with nothing but white space, and the notes.

    Raises:
        InputError: the store returned something other than chunks. If it isn't `strict`, others among chunks are left
            out and noted.
    """
    if isinstance(chunks, CoroutineType):
        chunks.close()  # nobody will await it, and Python would warn
    if issubclass(type(chunks), (str, bytes, Mapping)) or not hasattr(type(chunks), "__iter__"):
        raise _no_chunks(chunks)
    usable: list[Chunk] = []
    empty: list[Chunk] = []
    notes = _Notes("neighbour")
    strangers: list[Any] = []
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            if strict:
                raise _no_chunks(chunk)
            strangers.append(chunk)
            continue
        mended, odd = mended_chunk(chunk, at)
        if odd:
            notes.add(mended, odd)
        (empty if not mended.text or mended.text.isspace() else usable).append(mended)
    if strangers and not (usable or empty):
        raise _no_chunks(strangers[0])
    left_out = f"store: {len(strangers):,} of its answers are no chunks, left out; the first is "
    return tuple(usable), tuple(empty), (*notes.all(), *(left_out + shown(stranger) for stranger in strangers[:1]))


def _no_chunks(value: object) -> InputError:
    return InputError(f"the store must return chunks, got {shown(value)}")
