"""Offsets that contradict each other: two texts of a document that can't both begin where their offsets say.

Records of one JSON or CSV file are often loaded as documents of the same source and split one by one: then each record
has a chunk at offset 0. Joined or sorted by such offsets, one record would go on in another. So they are used no more:

- Chunks without an index lose their offsets. Only links give their order.
- Chunks with an index keep theirs within a run of consecutive indexes in which they ascend: each is a part of its own,
  like a page. There they only show how much text two adjacent chunks share.

Neither claims a place in the document, so the provenance of such chunks has none.

The middle of a text has to be in the other one for a conflict: where a tool puts words before each chunk or strips
blanks, texts that overlap differ, too, and their order is right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ctxassembly.assembly.adjacency.overlap import overlap_length
from ctxassembly.assembly.adjacency.positions import OFFSET_TOLERANCE, chunk_section, overlap_by_offset
from ctxassembly.data.chunks import Chunk, ChunkOrigin, SectionKey, section_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import safe_repr

_RUN_KEY = "run"
"""The name of the part that is a run of consecutive indexes."""
_ID_CHARS = 80


def drop_conflicting_offsets(chunks: Sequence[Chunk], keys: MetadataKeys) -> tuple[Sequence[Chunk], tuple[str, ...]]:
    """Return `chunks` without offsets that contradict each other, and notes.

    If the metadata of numbered chunks name the pages or sections that their offsets count in, no note is needed.
    """
    conflicts = _find_conflicts(chunks, chunk_section)
    if not conflicts:
        return chunks, ()
    runs = _find_runs(chunk for chunk in chunks if (chunk.document_id, chunk_section(chunk)) in conflicts)
    resolved = [
        _without_place(chunk, runs) if (chunk.document_id, chunk_section(chunk)) in conflicts else chunk
        for chunk in chunks
    ]
    unexplained = _find_conflicts(
        chunks,
        lambda chunk: chunk_section(chunk) or (() if chunk.index is None else section_of(chunk.metadata, keys)),
    )
    documents = {document_id: pair for (document_id, _), pair in unexplained.items()}
    return resolved, tuple(
        f"document {safe_repr(document_id, _ID_CHARS)}: the offsets of its chunks contradict each other and are not "
        f"used; {safe_repr(first.id, _ID_CHARS)} at {first.start:,} and {safe_repr(second.id, _ID_CHARS)} at "
        f"{second.start:,} have different texts"
        for document_id, (first, second) in documents.items()
    )


def _find_conflicts(
    chunks: Iterable[Chunk], part_of: Callable[[Chunk], SectionKey]
) -> dict[tuple[str, SectionKey], tuple[Chunk, Chunk]]:
    """Return the first two chunks that contradict each other, by document and part, for each part with such chunks."""
    by_part: dict[tuple[str, SectionKey], list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if chunk.start is not None:
            by_part[chunk.document_id, part_of(chunk)].append(chunk)
    conflicts: dict[tuple[str, SectionKey], tuple[Chunk, Chunk]] = {}
    for part, members in by_part.items():
        members.sort(key=lambda chunk: (chunk.start or 0, -len(chunk.text)))
        farthest = members[0]
        for chunk in members[1:]:
            if _is_conflict(farthest, chunk):
                conflicts[part] = farthest, chunk
                break
            farthest = max(farthest, chunk, key=_end)
    return conflicts


def _is_conflict(first: Chunk, second: Chunk) -> bool:
    """Return True if `first` reaches beyond the middle of `second`, by their offsets, and their texts differ there."""
    return (
        _end(first) > (second.start or 0) + len(second.text) // 2
        and overlap_by_offset(first, second) is None
        and not overlap_length(first.text, second.text, OFFSET_TOLERANCE)
    )


def _end(chunk: Chunk) -> int:
    return (chunk.start or 0) + len(chunk.text)


def _find_runs(chunks: Iterable[Chunk]) -> dict[tuple[str, int], int]:
    """Return the first index of the run that each chunk with an index is in, by document and index.

    The offsets of a run ascend, and no index is missing in it: a record may end in any gap.
    """
    places = sorted(
        {(chunk.document_id, chunk.index, chunk.start) for chunk in chunks if chunk.index is not None},
        key=lambda place: (place[0], place[1], place[2] or 0),
    )
    runs: dict[tuple[str, int], int] = {}
    before: tuple[str, int, int | None] = "", -1, None
    for document_id, index, start in places:
        goes_on = before[:2] == (document_id, index - 1) and (before[2] or 0) < (start or 0)
        runs[document_id, index] = runs[document_id, index - 1] if goes_on else index
        before = document_id, index, start
    return runs


def _without_place(chunk: Chunk, runs: dict[tuple[str, int], int]) -> Chunk:
    """Return `chunk` with an offset that counts in its run only, or with none if it has no index."""
    origin = chunk.origin or ChunkOrigin()
    if chunk.index is None:
        return replace(chunk, start=None, origin=replace(origin, near=None))
    section = tuple(sorted({**dict(origin.section), _RUN_KEY: runs[chunk.document_id, chunk.index]}.items()))
    return replace(chunk, origin=replace(origin, section=section))
