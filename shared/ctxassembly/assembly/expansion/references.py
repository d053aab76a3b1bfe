"""The plan of a fetch, never the fetch itself: references to unknown neighbors, and the neighbors of each hit.

A chunk finds its neighbors in one of three ways, in this order: by its index; by links, a step at a time; by its
offset, if the store can be asked so. A document that offers none is asked for whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter

from ctxassembly.assembly.adjacency.positions import chunk_section, page_key
from ctxassembly.assembly.expansion.access import MetadataAccess, NearHit
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, ChunkRef, OffsetRange

_ID_SEPARATOR = "\0"
"""Separates a chunk's id from its document's in a name; databases have no such id."""


def scoped_id(chunk_id: str, document_id: str) -> str:
    """Return the name that a chunk is known under if one of another document has its id."""
    return f"{chunk_id}{_ID_SEPARATOR}{document_id}"


def index_by_id(chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """Return `chunks` by the name that they are known under; of several in one document with the same id, the first."""
    known = {chunk.id: chunk for chunk in reversed(chunks)}
    if len(known) < len(chunks):
        for chunk in chunks:
            if known[chunk.id].document_id != chunk.document_id:
                known.setdefault(scoped_id(chunk.id, chunk.document_id), chunk)
    return known


def _find_by_id(known: Mapping[str, Chunk], chunk_id: str, document_id: str) -> Chunk | None:
    """Return the chunk of the document that is known under that id; one of another document may have the same."""
    found = known.get(chunk_id)
    if found is None or found.document_id == document_id:
        return found
    return known.get(scoped_id(chunk_id, document_id))


def index_refs(hits: Sequence[Chunk], window: int, known: Iterable[Chunk] = ()) -> tuple[ChunkRef, ...]:
    """References to the chunks at index +- `window` of `hits`, by document, then by index.

    Chunks among `hits` and `known` are left out. No index is negative; only the store knows where a document ends.
    """
    known_indexes: dict[str, set[int]] = defaultdict(set)
    near_indexes: dict[str, set[int]] = defaultdict(set)
    for hit in hits:
        if hit.index is not None:
            near_indexes[hit.lookup_id].update(range(max(0, hit.index - window), hit.index + window + 1))
    for chunk in (*hits, *known):
        if chunk.index is not None:
            known_indexes[chunk.lookup_id].add(chunk.index)
    refs: list[ChunkRef] = []
    for document_id, indexes in near_indexes.items():
        refs += [ChunkRef(document_id, index) for index in sorted(indexes - known_indexes[document_id])]
    return tuple(refs)


def link_refs(
    hits: Iterable[Chunk],
    known: Mapping[str, Chunk],
    window: int,
    *,
    per_side: int = 0,
    page_keys: Sequence[str] = (),
) -> tuple[ChunkRef, ...]:
    """References to the next unknown chunks around the `hits` that have no index, in both directions.

    Links are followed for at most `window` steps. A chunk without links is asked for by its offset, `per_side` chunks
    on each side; 0 means that the store can't be asked so. A document whose links are missing on a side, and that can't
    be asked by offset, is asked for whole: a reference without index and id.

    `known` are all chunks seen so far, by id; `page_keys` are the metadata keys of a page's number.
    """
    refs: dict[ChunkRef, None] = {}
    following = {chunk.prev_id: chunk.id for chunk in known.values() if chunk.prev_id}
    preceding = {chunk.next_id: chunk.id for chunk in known.values() if chunk.next_id}
    for hit in hits:
        if hit.index is not None:
            continue
        if not (hit.prev_id or hit.next_id or hit.id in following or hit.id in preceding):
            if per_side and hit.start is not None:
                refs[_offset_ref(hit, hit.start, per_side, page_key([hit], page_keys))] = None
            # Without an offset its neighbors on the page are unknown, and fetching the document doesn't help.
            elif hit.start is not None or not chunk_section(hit):
                refs[ChunkRef(hit.lookup_id)] = None
            continue
        # Along the links; where they end with the page, the store may find the next page by the offset.
        for found in _follow_links(hit, known, window, following, preceding):
            if isinstance(found, ChunkRef):
                refs[found] = None
            elif per_side and (page_turn := _page_turn_ref(found, per_side, page_keys)) is not None:
                refs[page_turn] = None
    return tuple(refs)


def _page_turn_ref(chunk: Chunk, per_side: int, page_keys: Sequence[str]) -> ChunkRef | None:
    """Return a reference to the pages before and after the page of `chunk`, where the links end, if any."""
    page = page_key([chunk], page_keys)
    if chunk.start is None or page is None or chunk.lookup_id == chunk.document_id:
        return None
    return _offset_ref(chunk, chunk.start, per_side, page)


def _offset_ref(chunk: Chunk, start: int, per_side: int, page: str | None) -> ChunkRef:
    """Return a reference to the chunks next to `chunk` by its offset."""
    grouped_by = None if chunk.lookup_id == chunk.document_id else chunk.document_id
    return ChunkRef(chunk.lookup_id, around_offset=OffsetRange(start, per_side, chunk_section(chunk), page, grouped_by))


def _follow_links(
    hit: Chunk,
    known: Mapping[str, Chunk],
    window: int,
    following: Mapping[str, str],
    preceding: Mapping[str, str],
) -> Iterator[ChunkRef | Chunk]:
    """For each side, the reference to ask for: the next unknown chunk along the links, or the document if links fail.

    If the document ends there, or its page, the last chunk that the links lead to.
    """
    for forward in (False, True):
        current = hit
        for _ in range(window):
            # A neighbor's link back will do where the chunk's own is missing.
            link = (
                (current.next_id or following.get(current.id))
                if forward
                else (current.prev_id or preceding.get(current.id))
            )
            if link is None:
                yield ChunkRef(hit.lookup_id) if _is_one_sided(current, known, forward) else current
                break
            neighbor = _find_by_id(known, link, hit.document_id)
            if neighbor is None:
                yield ChunkRef(hit.lookup_id, chunk_id=link)
                break
            current = neighbor


def _is_one_sided(chunk: Chunk, known: Mapping[str, Chunk], forward: bool) -> bool:
    """Return True if the known chunk on the other side doesn't link back: a missing link is then no end."""
    other = known.get((chunk.prev_id if forward else chunk.next_id) or "")
    return other is not None and (other.next_id if forward else other.prev_id) != chunk.id


def score_neighbors(
    hits: Sequence[Candidate],
    chunks: Sequence[tuple[int, Chunk]],
    positions: Mapping[tuple[str, str], int],
    window: int,
    decay: float,
    access: MetadataAccess | None = None,
) -> tuple[Candidate, ...]:
    """Return the chunks within `window` of a hit as candidates, nearest first, then by rank, document and position.

    `chunks` come with their keys; `positions` are by document id and chunk id. A neighbor's score is its best hit's
    times `decay` per step. It is never above the hit's own, as half of a negative score would be. With `access` a
    neighbor has to agree with its hit.
    """
    near: dict[tuple[str, int], list[NearHit]] = defaultdict(list)
    """The hits near each position of a document."""
    places = [(hit.chunk.document_id, hit.position, hit) for hit in hits]
    for steps in range(-window, window + 1):
        for document_id, position, hit in places:
            near[document_id, position - steps].append((abs(steps), hit))
    decays = [decay**steps for steps in range(window + 1)]
    found: list[Candidate] = []
    for key, chunk in chunks:
        position = positions[chunk.document_id, chunk.id]
        nearby: Sequence[NearHit] = near.get((chunk.document_id, position), ())
        if access is not None and nearby:
            nearby = access.filter_agreeing(chunk, nearby)
        nearest: tuple[int, int] | None = None
        best: float | None = None
        for steps, hit in nearby:
            if nearest is None or (steps, hit.rank) < nearest:
                nearest = steps, hit.rank
            score = hit.score
            if score is not None:
                score = score * decays[steps] if score > 0 else score
                best = score if best is None or score > best else best
        if nearest is not None:
            steps, rank = nearest
            found.append(Candidate(key, chunk, rank, best, max(steps, 1), position))
    return tuple(sorted(found, key=attrgetter("distance", "rank", "chunk.document_id", "position")))
