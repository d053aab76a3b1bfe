"""Which neighbours are still unknown, and who is whose neighbour: the plan of the fetch, never the fetch itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ctxassembly.assembly.adjacency.kin import kin_wanted
from ctxassembly.assembly.adjacency.offsets import part_of
from ctxassembly.assembly.adjacency.parted import known_as
from ctxassembly.assembly.adjacency.places import page_name
from ctxassembly.assembly.gathering.scope import Scope
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Beside, Chunk, ChunkRef


def index_refs(hits: Iterable[Chunk], window: int, known: Iterable[Chunk] = ()) -> tuple[ChunkRef, ...]:
    """References to the chunks at index +- `window` of `hits`, by document, then by index.

    Those among `hits` and `known` are left out. No index is negative; where a document ends, only its store knows.
    """
    at: dict[str, set[int]] = defaultdict(set)
    for hit in hits:
        if hit.index is not None:
            at[hit.document_id if hit.origin is None else hit.lookup_id].add(hit.index)
    there = {document_id: set(indexes) for document_id, indexes in at.items()}
    for chunk in known:
        document_id = chunk.document_id if chunk.origin is None else chunk.lookup_id
        if document_id in there and chunk.index is not None:
            there[document_id].add(chunk.index)
    return tuple(
        ChunkRef(document_id, index)
        for document_id, indexes in at.items()
        for index in sorted(
            {near for one in indexes for near in range(max(0, one - window), one + window + 1)} - there[document_id]
        )
    )


def link_refs(
    hits: Iterable[Chunk],
    known: Mapping[str, Chunk],
    window: int,
    *,
    beside: int = 0,
    pages: Sequence[str] = (),
    missing: Container[str] = (),
) -> tuple[ChunkRef, ...]:
    """References to the next unknown chunks around `hits` without an index, in both directions.

    Along links at most `window` steps away; where a chunk was cut from a larger one, by way of that one's other
    children. Without links by offset, `beside` chunks on each side, if the store finds them so; `pages` are the names
    under which metadata have a page's number. A document whose links are missing on one side or on both, and that can't
    be asked by offset, is asked for whole: a reference without index and id.

    `known` are all chunks seen so far, by id; `missing` are ids under which the store has nothing.
    """
    refs: dict[ChunkRef, None] = {}
    following = {chunk.prev_id: chunk.id for chunk in known.values() if chunk.prev_id}
    preceding = {chunk.next_id: chunk.id for chunk in known.values() if chunk.next_id}
    for hit in hits:
        if hit.index is not None:
            continue
        kin = kin_wanted(hit, known, window, missing)
        if kin is not None:
            refs.update((ChunkRef(hit.lookup_id, chunk_id=each), None) for each in kin)
            continue
        if not (hit.prev_id or hit.next_id or hit.id in following or hit.id in preceding):
            if beside and hit.start is not None:
                refs[_beside(hit, hit.start, beside, page_name([hit], pages))] = None
            elif hit.start is not None or not part_of(hit):  # nobody can say what stands beside it in its page
                refs[ChunkRef(hit.lookup_id)] = None
            continue
        for found in _linked(hit, known, window, following, preceding):
            if isinstance(found, ChunkRef):
                refs[found] = None
            elif beside and (turned := _turned(found, beside, pages)) is not None:
                refs[turned] = None
    return tuple(refs)


def _turned(chunk: Chunk, each_side: int, pages: Sequence[str]) -> ChunkRef | None:
    """A reference to the pages beside that of `chunk`, at whose end the links do; None if it isn't cut into such."""
    page = page_name([chunk], pages)
    if chunk.start is None or page is None or chunk.lookup_id == chunk.document_id:
        return None
    return _beside(chunk, chunk.start, each_side, page)


def _beside(chunk: Chunk, start: int, each_side: int, page: str | None) -> ChunkRef:
    """A reference to what stands next to `chunk` by its offset."""
    grouped_by = None if chunk.lookup_id == chunk.document_id else chunk.document_id
    return ChunkRef(chunk.lookup_id, beside=Beside(start, each_side, part_of(chunk), page, grouped_by))


def _linked(
    hit: Chunk,
    known: Mapping[str, Chunk],
    window: int,
    following: Mapping[str, str],
    preceding: Mapping[str, str],
) -> Iterator[ChunkRef | Chunk]:
    """What to ask for on each side: the next unknown chunk along the links, or the document if only that can tell it.

    Where the links end, the last chunk that they lead to.
    """
    for forward in (False, True):
        at = hit
        for _ in range(window):
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
    """Whether the chunk on the other side, if known, does not link back: then a missing link is no document's end."""
    other = known.get((chunk.prev_id if forward else chunk.next_id) or "")
    return other is not None and (other.next_id if forward else other.prev_id) != chunk.id


def neighbours(
    hits: Sequence[Candidate],
    chunks: Iterable[tuple[int, Chunk]],
    places: Mapping[tuple[str, str], int],
    window: int,
    decay: float,
    scope: Scope | None = None,
) -> tuple[Candidate, ...]:
    """The chunks within `window` of a hit as candidates, nearest first, then by rank, document and place.

    `chunks` come with their keys, `places` are positions by (document id, chunk id). A neighbour's score is its best
    hit's times `decay` per step, and never above it: half of a negative score would be. With a `scope` it has to agree
    with its hit.
    """
    by_place: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
    for hit in hits:
        by_place[hit.chunk.document_id, hit.position].append(hit)
    steps_away = range(-window, window + 1)
    found: list[Candidate] = []
    for key, chunk in chunks:
        document_id = chunk.document_id
        at = places[document_id, chunk.id]
        near: list[tuple[int, Candidate]] = []
        for steps in steps_away:
            for hit in by_place.get((document_id, at + steps), ()):
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
