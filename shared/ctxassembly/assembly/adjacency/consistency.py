"""Chunks of one document that contradict each other: nothing is guessed about them, and a note says so.

Two texts can't both have one id, or one index. It happens when a splitter copies the metadata of the text it cuts, when
two stores both count from 0, or when a new version of a file is stored next to the old one. Then nobody knows which
chunks adjoin: each hit of the document is read by itself, without neighbors.

Two texts can't both begin where their offsets say if one reaches beyond the middle of the other and differs there.
Records of one JSON or CSV file are often loaded as documents of the same source and split one by one: then each record
has a chunk at offset 0. Joined by such offsets, one record would go on in another. So chunks without an index lose
them. With an index they count within a run of consecutive indexes in which they ascend, as on the pages of a PDF: there
they show how much text two adjacent chunks share.

If the texts agree with the offsets, and a later chunk begins before an earlier one, a text was split twice, into chunks
of two sizes: then the offsets count, and the indexes don't.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from ctxassembly.assembly.adjacency.positions import OFFSET_TOLERANCE, chunk_section, overlap_by_offset
from ctxassembly.data.chunks import Chunk, ChunkOrigin, SectionKey, renumber_document, section_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.ingestion.matches import shared_length
from ctxassembly.safe_repr import safe_repr

_RUN_KEY = "run"
"""The name of the part of a document that is a run of consecutive indexes."""
_ID_CHARS = 80


_Extent = tuple[int, int, int, Chunk]
"""Where a chunk begins, its length below zero, its number, and itself: sorted, of those that begin together the longest
is first."""


class Contradiction(NamedTuple):
    """Two texts of a document in one place."""

    place: str
    """The id or the index, for a note."""
    of_ids: bool
    """True if the two have one id that they came with."""


def find_contradictions(chunks: Sequence[Chunk]) -> dict[str, Contradiction]:
    """Return the first two texts under one id, or else under one index, for each document that has such texts."""
    ids = {(chunk.document_id, chunk.id) for chunk in chunks}
    places = [(chunk.document_id, chunk.index) for chunk in chunks if chunk.index is not None]
    if len(ids) == len(chunks) and len({*places}) == len(places):
        return {}
    first_texts: dict[tuple[str, str, object], str] = {}
    found: dict[str, Contradiction] = {}
    for chunk in chunks:
        text = chunk.text.strip()
        for name, value in (("id", chunk.id), ("index", chunk.index)):
            if value is not None and first_texts.setdefault((chunk.document_id, name, value), text) != text:
                has_own_id = name == "id" and not (chunk.origin and chunk.origin.has_no_id)
                if has_own_id or chunk.document_id not in found:
                    found[chunk.document_id] = Contradiction(f"{name} {safe_repr(value, _ID_CHARS)}", has_own_id)
    return found


def describe_contradictions(found: dict[str, Contradiction], effect: str) -> list[str]:
    """Return a note on each document whose chunks contradict each other, with the `effect`."""
    return [
        f"document {safe_repr(document_id, _ID_CHARS)}: two texts have {place}, so which chunks adjoin is unknown; "
        f"{effect}. Fix: number_chunks(documents)"
        for document_id, (place, _) in found.items()
    ]


def separate_documents(hits: Sequence[Chunk], found: Mapping[str, Contradiction]) -> list[Chunk]:
    """Return `hits`, of which each is a document of its own where two texts of its document have one id.

    Two collections may both have a `handbook.pdf#0`. Which of them a chunk of another id is from, nobody knows: under
    one label it would be cited with a text of the other. An id that follows from the place is no sign of that: the
    pieces of a chunk share it.
    """
    if not found:
        return [*hits]
    seen: dict[str, list[tuple[str, str]]] = defaultdict(list)
    taken = {hit.document_id for hit in hits}
    result: list[Chunk] = []
    for hit in hits:
        if hit.document_id in found and found[hit.document_id].of_ids:
            known, text = seen[hit.document_id], (hit.id, hit.text.strip())
            if text not in known:
                known.append(text)
            result.append(renumber_document(hit, known.index(text), taken))
        else:
            result.append(hit)
    return result


def without_place(chunk: Chunk) -> Chunk:
    """Return `chunk` as one that neither an index nor an offset nor a link makes adjacent to another."""
    origin = replace(chunk.origin, near=None) if chunk.origin else None
    return replace(chunk, index=None, start=None, prev_id=None, next_id=None, origin=origin)


def drop_conflicting_offsets(chunks: Sequence[Chunk], keys: MetadataKeys) -> tuple[Sequence[Chunk], list[str]]:
    """Return `chunks` without offsets of the document that contradict each other, and notes.

    If the metadata of numbered chunks name the pages or sections that their offsets count in, no note is needed.
    """
    by_part: dict[tuple[str, SectionKey], list[_Extent]] = defaultdict(list)
    for number, chunk in enumerate(chunks):
        if chunk.start is not None:
            part = chunk.document_id, chunk.origin.section if chunk.origin else ()
            by_part[part].append((chunk.start, -len(chunk.text), number, chunk))
    conflicts = {part: pair for part, extents in by_part.items() if (pair := _find_conflict(extents))}
    split_twice = {part for part, extents in by_part.items() if part not in conflicts and _are_split_twice(extents)}
    if split_twice:  # then the offsets say where they are
        chunks = [
            replace(chunk, index=None)
            if chunk.start is not None and (chunk.document_id, chunk_section(chunk)) in split_twice
            else chunk
            for chunk in chunks
        ]
    if not conflicts:
        return chunks, []
    is_doubtful = [(chunk.document_id, chunk_section(chunk)) in conflicts for chunk in chunks]
    runs = _find_runs(chunk for chunk, doubtful in zip(chunks, is_doubtful, strict=True) if doubtful)
    resolved = [
        _placed_in_run(chunk, runs) if doubtful else chunk for chunk, doubtful in zip(chunks, is_doubtful, strict=True)
    ]
    return resolved, [
        f"document {safe_repr(document_id, _ID_CHARS)}: the offsets of its chunks contradict each other and are not "
        f"used; {safe_repr(first.id, _ID_CHARS)} at {first.start:,} and {safe_repr(second.id, _ID_CHARS)} at "
        f"{second.start:,} have different texts"
        for (document_id, _), (first, second) in conflicts.items()
        if first.index is None or section_of(first.metadata, keys) == section_of(second.metadata, keys)
    ]


def _find_conflict(extents: Iterable[_Extent]) -> tuple[Chunk, Chunk] | None:
    """Return the first two chunks of which one reaches beyond the middle of the other, and their texts differ there.

    Where a tool puts words before each chunk or strips blanks, texts that overlap differ, too, and their order is
    right.
    """
    farthest, end = None, 0
    for start, _, _, chunk in sorted(extents):
        length = len(chunk.text)
        if (
            farthest is not None
            and end > start + length // 2
            and overlap_by_offset(farthest, chunk) is None
            and not shared_length(farthest.text, chunk.text, OFFSET_TOLERANCE)
        ):
            return farthest, chunk
        if farthest is None or start + length > end:
            farthest, end = chunk, start + length
    return None


def _are_split_twice(extents: Iterable[_Extent]) -> bool:
    """Return True if a later chunk begins before an earlier one and has its text, or much of it, by their offsets.

    Then a text was split again, into chunks of other sizes.
    """
    for (_, _, _, first), (_, _, _, second) in pairwise(sorted(extents, key=itemgetter(0, 1, 2))):
        if first.index is not None and second.index is not None and first.index > second.index:
            shared = overlap_by_offset(first, second) or 0
            if shared > OFFSET_TOLERANCE or shared == len(second.text):
                return True
    return False


def _find_runs(chunks: Iterable[Chunk]) -> dict[tuple[str, int], int]:
    """Return the first index of the run that each chunk with an index is in, by document and index.

    The offsets of a run ascend, and no index is missing in it: a record may end in any gap.
    """
    places = sorted((chunk.document_id, chunk.index, chunk.start or 0) for chunk in chunks if chunk.index is not None)
    runs: dict[tuple[str, int], int] = {}
    before = "", -1, 0
    for document_id, index, start in places:
        goes_on = before[:2] == (document_id, index - 1) and before[2] < start
        runs[document_id, index] = runs[document_id, index - 1] if goes_on else index
        before = document_id, index, start
    return runs


def _placed_in_run(chunk: Chunk, runs: dict[tuple[str, int], int]) -> Chunk:
    """Return `chunk` with an offset that counts in its run only, or with none if it has no index."""
    origin = chunk.origin or ChunkOrigin()
    if chunk.index is None:
        return replace(chunk, start=None, origin=replace(origin, near=None))
    section = tuple(sorted({**dict(origin.section), _RUN_KEY: runs[chunk.document_id, chunk.index]}.items()))
    return replace(chunk, origin=replace(origin, section=section))
