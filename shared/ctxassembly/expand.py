"""Which neighbours are still unknown, and who is whose neighbour: the plan of the fetch, never the fetch itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from ctxassembly.config import MAX_POOL_WINDOW
from ctxassembly.scope import Scope
from ctxassembly.types import Candidate, Chunk, ChunkRef

CHAIN_GAP = MAX_POOL_WINDOW + 1
"""Positions left free between runs of linked chunks whose distance is unknown: too far apart to be neighbours."""


def index_refs(hits: Iterable[Chunk], window: int, known: Iterable[Chunk] = ()) -> tuple[ChunkRef, ...]:
    """References to the chunks at index +- `window` of `hits`, by document, then by index.

    Those among `hits` and `known` are left out. No index is negative; where a document ends, only its store knows.
    """
    at: dict[str, set[int]] = defaultdict(set)
    for hit in hits:
        if hit.index is not None:
            at[hit.document_id].add(hit.index)
    there = {document_id: set(indexes) for document_id, indexes in at.items()}
    for chunk in known:
        if chunk.document_id in there and chunk.index is not None:
            there[chunk.document_id].add(chunk.index)
    return tuple(
        ChunkRef(document_id, index)
        for document_id, indexes in at.items()
        for index in sorted(
            {near for one in indexes for near in range(max(0, one - window), one + window + 1)} - there[document_id]
        )
    )


def link_refs(hits: Iterable[Chunk], known: Mapping[str, Chunk], window: int) -> tuple[ChunkRef, ...]:
    """References to the next unknown chunks along the links of `hits`, in both directions, at most `window` steps away.

    `known` are all chunks seen so far, by id. A document whose links are missing on one side or on both is asked for
    whole: a reference without index and id. Chunks with an index need no links.
    """
    refs: dict[ChunkRef, None] = {}
    following = {chunk.prev_id: chunk.id for chunk in known.values() if chunk.prev_id}
    preceding = {chunk.next_id: chunk.id for chunk in known.values() if chunk.next_id}
    for hit in hits:
        if hit.index is not None:
            continue
        if not (hit.prev_id or hit.next_id or hit.id in following or hit.id in preceding):
            refs[ChunkRef(hit.document_id)] = None
            continue
        for forward in (False, True):
            at = hit
            for _ in range(window):
                link = (at.next_id or following.get(at.id)) if forward else (at.prev_id or preceding.get(at.id))
                if link is None:
                    if _is_one_sided(at, known, forward):
                        refs[ChunkRef(hit.document_id)] = None
                    break
                if link not in known:
                    refs[ChunkRef(hit.document_id, chunk_id=link)] = None
                    break
                at = known[link]
    return tuple(refs)


def _is_one_sided(chunk: Chunk, known: Mapping[str, Chunk], forward: bool) -> bool:
    """Whether the chunk on the other side, if known, does not link back: then a missing link is no document's end."""
    other = known.get((chunk.prev_id if forward else chunk.next_id) or "")
    return other is not None and (other.next_id if forward else other.prev_id) != chunk.id


def positions(chunks: Sequence[Chunk], scanned: bool, empty: Collection[int] = ()) -> dict[str, int]:
    """The place of each chunk of one document, by chunk id: consecutive places are adjacent chunks.

    The index where there is one, without the `empty` ones: what has no text leaves no gap. Else what the links say;
    runs of linked chunks follow each other by offset, or as handed in. In a document known whole (`scanned`) that has
    no links, the offsets alone say it.
    """
    placed = {
        chunk.id: chunk.index - sum(at < chunk.index for at in empty) for chunk in chunks if chunk.index is not None
    }
    runs = _runs([chunk for chunk in chunks if chunk.index is None])
    if all(chunk.start is not None for run in runs for chunk in run):
        runs.sort(key=lambda run: run[0].start or 0)
        if scanned and all(len(run) == 1 for run in runs):
            runs = [[chunk for run in runs for chunk in run]]
    at = max(placed.values(), default=-CHAIN_GAP) + CHAIN_GAP
    for run in runs:
        placed |= {chunk.id: at + step for step, chunk in enumerate(run)}
        at += len(run) + CHAIN_GAP
    return placed


def is_covered(chunk: Chunk, others: Iterable[Chunk]) -> bool:
    """Whether the middle of `chunk` lies in any of `others` by the offsets: then it is of another text than they are.

    Two tenants' files under one document id lie over each other; what one tenant may not read lies between.
    """
    if chunk.start is None:
        return True
    middle = chunk.start + len(chunk.text) // 2
    return any(each.start is not None and each.start <= middle < each.start + len(each.text) for each in others)


def _runs(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Maximal runs of chunks linked to each other, each in order, by their first chunk as handed in."""
    by_id = {chunk.id: chunk for chunk in chunks}
    following = {chunk.id: chunk.next_id for chunk in chunks if chunk.next_id in by_id}
    following |= {chunk.prev_id: chunk.id for chunk in chunks if chunk.prev_id in by_id}
    followers = set(following.values())
    runs: list[list[Chunk]] = []
    placed: set[str] = set()
    # Heads first; whatever is left then stands in a circle of links, which is cut where it is met.
    for chunk in sorted(by_id.values(), key=lambda chunk: chunk.id in followers):
        run: list[Chunk] = []
        at: str | None = chunk.id
        while at is not None and at not in placed:
            placed.add(at)
            run.append(by_id[at])
            at = following.get(at)
        if run:
            runs.append(run)
    return runs


def neighbours(
    hits: Sequence[Candidate],
    chunks: Iterable[Chunk],
    places: Mapping[tuple[str, str], int],
    window: int,
    decay: float,
    scope: Scope | None = None,
) -> tuple[Candidate, ...]:
    """The chunks within `window` of a hit as candidates, nearest first, then by rank, document and place.

    `places` are positions by (document id, chunk id). A neighbour's score is its best hit's times `decay` per step,
    and never above it: half of a negative score would be. With a `scope` it has to agree with its hit.
    """
    by_place: dict[tuple[str, int], list[Candidate]] = defaultdict(list)
    for hit in hits:
        by_place[hit.chunk.document_id, hit.position].append(hit)
    steps_away = range(-window, window + 1)
    found: list[Candidate] = []
    for chunk in chunks:
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
            found.append(Candidate(chunk, rank, best, max(distance, 1), at))
    return tuple(sorted(found, key=lambda c: (c.distance, c.rank, c.chunk.document_id, c.position)))
