"""The plan of a fetch, never the fetch itself: references to unknown neighbours, and the neighbours of each hit.

A chunk finds its neighbours in one of four ways, in this order: by its index; by its larger chunk's other children; by
links, a step at a time; by its offset, if the store can be asked so. A document that offers none is asked for whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ctxassembly.assembly.adjacency.hierarchy import kin_wanted
from ctxassembly.assembly.adjacency.positions import page_name, part_of
from ctxassembly.assembly.adjacency.shared_ids import known_as
from ctxassembly.assembly.expansion.access import Scope
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Beside, Chunk, ChunkRef


def index_refs(hits: Iterable[Chunk], window: int, known: Iterable[Chunk] = ()) -> tuple[ChunkRef, ...]:
    """References to the chunks at index +- `window` of `hits`, by document, then by index.

    Chunks among `hits` and `known` are left out. No index is negative; only the store knows where a document ends.
    """
    at: dict[str, set[int]] = defaultdict(set)
    for hit in hits:
        if hit.index is not None:
            at[hit.document_id if hit.origin is None else hit.lookup_id].add(hit.index)
    known_at = {document_id: set(indexes) for document_id, indexes in at.items()}
    for chunk in known:
        document_id = chunk.document_id if chunk.origin is None else chunk.lookup_id
        if document_id in known_at and chunk.index is not None:
            known_at[document_id].add(chunk.index)
    refs: list[ChunkRef] = []
    for document_id, indexes in at.items():
        wanted = {near for index in indexes for near in range(max(0, index - window), index + window + 1)}
        refs += [ChunkRef(document_id, index) for index in sorted(wanted - known_at[document_id])]
    return tuple(refs)


def link_refs(
    hits: Iterable[Chunk],
    known: Mapping[str, Chunk],
    window: int,
    *,
    beside: int = 0,
    pages: Sequence[str] = (),
    missing: Container[str] = (),
) -> tuple[ChunkRef, ...]:
    """References to the next unknown chunks around the `hits` that have no index, in both directions.

    Links are followed for at most `window` steps. A chunk that was cut from a larger one finds its neighbours through
    that one's other children. A chunk without links is asked for by its offset, `beside` chunks on each side; 0 means
    that the store can't be asked so. A document whose links are missing on a side, and that can't be asked by offset,
    is asked for whole: a reference without index and id.

    `known` are all chunks seen so far, by id; `missing` are ids under which the store has nothing; `pages` are the
    metadata keys of a page's number.
    """
    refs: dict[ChunkRef, None] = {}
    following = {chunk.prev_id: chunk.id for chunk in known.values() if chunk.prev_id}
    preceding = {chunk.next_id: chunk.id for chunk in known.values() if chunk.next_id}
    for hit in hits:
        if hit.index is not None:
            continue
        # Parents and their children first: what they name is surer than links, which may end with the parent.
        kin = kin_wanted(hit, known, window, missing)
        if kin is not None:
            refs.update((ChunkRef(hit.lookup_id, chunk_id=chunk_id), None) for chunk_id in kin)
            continue
        if not (hit.prev_id or hit.next_id or hit.id in following or hit.id in preceding):
            if beside and hit.start is not None:
                refs[_beside(hit, hit.start, beside, page_name([hit], pages))] = None
            # Without an offset nobody can say what stands beside it in its page: then the document doesn't help.
            elif hit.start is not None or not part_of(hit):
                refs[ChunkRef(hit.lookup_id)] = None
            continue
        # Along the links; where they end with the page, the store may find the next page by the offset.
        for found in _linked(hit, known, window, following, preceding):
            if isinstance(found, ChunkRef):
                refs[found] = None
            elif beside and (page_turn := _page_turn(found, beside, pages)) is not None:
                refs[page_turn] = None
    return tuple(refs)


def _page_turn(chunk: Chunk, each_side: int, pages: Sequence[str]) -> ChunkRef | None:
    """A reference to the pages before and after that of `chunk`, at which the links end; None without such pages."""
    page = page_name([chunk], pages)
    if chunk.start is None or page is None or chunk.lookup_id == chunk.document_id:
        return None
    return _beside(chunk, chunk.start, each_side, page)


def _beside(chunk: Chunk, start: int, each_side: int, page: str | None) -> ChunkRef:
    """A reference to the chunks next to `chunk` by its offset."""
    grouped_by = None if chunk.lookup_id == chunk.document_id else chunk.document_id
    return ChunkRef(chunk.lookup_id, beside=Beside(start, each_side, part_of(chunk), page, grouped_by))


def _linked(
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
        at = hit
        for _ in range(window):
            # A neighbour's link back will do where the chunk's own is missing.
            link = (at.next_id or following.get(at.id)) if forward else (at.prev_id or preceding.get(at.id))
            if link is None:
                yield ChunkRef(hit.lookup_id) if _is_one_sided(at, known, forward) else at
                break
            beside = known_as(known, link, hit.document_id)
            if beside is None:
                yield ChunkRef(hit.lookup_id, chunk_id=link)
                break
            at = beside


def _is_one_sided(chunk: Chunk, known: Mapping[str, Chunk], forward: bool) -> bool:
    """True if the chunk on the other side is known and doesn't link back: then a missing link is no document's end."""
    other = known.get((chunk.prev_id if forward else chunk.next_id) or "")
    return other is not None and (other.next_id if forward else other.prev_id) != chunk.id


def neighbours(
    hits: Sequence[Candidate],
    chunks: Iterable[tuple[int, Chunk]],
    positions: Mapping[tuple[str, str], int],
    window: int,
    decay: float,
    scope: Scope | None = None,
) -> tuple[Candidate, ...]:
    """The chunks within `window` of a hit as candidates, nearest first, then by rank, document and position.

    `chunks` come with their keys; `positions` are by document id and chunk id. A neighbour's score is its best hit's
    times `decay` per step. It is never above the hit's own, as half of a negative score would be. With a `scope` a
    neighbour has to agree with its hit.
    """
    by_position: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
    for hit in hits:
        by_position[hit.chunk.document_id, hit.position].append(hit)
    # Looked up by position, so the cost grows with the chunks and not with chunks times hits.
    steps_away = range(-window, window + 1)
    found: list[Candidate] = []
    for key, chunk in chunks:
        document_id = chunk.document_id
        at = positions[document_id, chunk.id]
        near: list[tuple[int, Candidate]] = []
        for steps in steps_away:
            for hit in by_position.get((document_id, at + steps), ()):
                near.append((abs(steps), hit))  # noqa: PERF401 - a comprehension in each of thousands takes longer
        if scope is not None:
            near = scope.agreeing(chunk, near)
        nearest: tuple[int, int] | None = None
        best: float | None = None
        for steps, hit in near:
            if nearest is None or (steps, hit.rank) < nearest:
                nearest = steps, hit.rank
            if hit.score is not None:
                score = min(hit.score, hit.score * decay**steps)
                best = score if best is None else max(best, score)
        if nearest is not None:
            distance, rank = nearest
            found.append(Candidate(key, chunk, rank, best, max(distance, 1), at))
    return tuple(sorted(found, key=lambda c: (c.distance, c.rank, c.chunk.document_id, c.position)))
