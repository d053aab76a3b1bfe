"""Hits -> all candidates that may be used: their neighbors fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are found by meaning.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from ctxassembly.assembly.adjacency.consistency import (
    Contradiction,
    describe_contradictions,
    drop_conflicting_offsets,
    find_contradictions,
    separate_documents,
    without_place,
)
from ctxassembly.assembly.adjacency.linked import assign_document, merge_linked
from ctxassembly.assembly.adjacency.positions import (
    CHAIN_GAP,
    KnownComplete,
    chunk_positions,
    find_containers,
    is_covered,
)
from ctxassembly.assembly.dedup.dedup import Duplicates
from ctxassembly.assembly.expansion.admit import AdmittedHits
from ctxassembly.assembly.expansion.diagnostics import describe_lack
from ctxassembly.assembly.expansion.fetch import Fetched, FetchPolicy, fetch_neighbors
from ctxassembly.assembly.expansion.versions import split_versions
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import CONTAINED, Candidate
from ctxassembly.data.chunks import Chunk, find_flagged, renumber_document
from ctxassembly.data.requests import FetchChunks, Request
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import TraceRecorder

Candidates = tuple[Candidate, ...]
Positions = Mapping[tuple[str, str], int]
"""By document id and chunk id."""


def expand_hits(
    admitted: AdmittedHits,
    config: AssemblyConfig,
    query: str | None,
    policy: FetchPolicy,
    duplicates: Duplicates,
    log: TraceRecorder,
) -> Generator[Request, Sequence[Any], tuple[Candidates, Candidates]]:
    """Return the neighbors of the admitted hits, and all candidates of both that may be used: hits first.

    `duplicates` has the record of those that are copies.
    """
    hits = admitted.candidates
    if not config.enabled:
        return (), hits
    # A copy of a hit brings no neighbors of its own, so copies go before the store is asked. But a query may tell the
    # documents of a shared text apart, by what is next to it.
    asked = query if policy.window and config.is_query_aware(query) else None
    if config.dedup != "none":
        hits = yield from duplicates.drop_exact(hits, apart=asked is not None)
    yield from log.begin("expand", len(hits))
    hits, neighbors = yield from _add_neighbors(hits, admitted, config, policy, log)
    usable = (*hits, *neighbors)
    yield from log.end(len(usable))
    if (neighbors or asked) and config.dedup != "none":  # neighbors bring copies of their own
        usable = yield from duplicates.drop_exact(usable, asked)
        if unnamed := duplicates.unnamed:
            neighbors, usable = [
                tuple([one for one in some if one.is_hit or one.chunk.document_id not in unnamed])
                for some in (neighbors, usable)
            ]
    usable = duplicates.drop(usable, find_containers(usable), CONTAINED)
    if config.dedup in ("near", "semantic"):
        usable = yield from duplicates.drop_similar(usable)
    return neighbors, usable


def _add_neighbors(
    hits: Candidates, admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], tuple[Candidates, Candidates]]:
    """Return the hits with their position in the document, and their neighbors."""
    versions, _, _ = split_versions([hit.chunk for hit in hits], (), config.keys)
    contradictions = find_contradictions(versions)
    log.notes += describe_contradictions(contradictions, "its chunks are neither joined nor given neighbors")
    alone = {hit.key: hit for hit, one in zip(hits, versions, strict=True) if one.document_id in contradictions}
    flagged = find_flagged([hit.chunk for hit in hits], "no_neighbors", config.keys)
    silent = {*alone, *(hits[place].key for place in flagged)}
    asked = [hit.chunk for hit in hits if hit.key not in silent]
    fetched = Fetched()
    if policy.window and asked:
        fetched = yield from fetch_neighbors(asked, admitted, config, policy, log)
    notes, log.missing = describe_lack(asked, [hit.chunk for hit in admitted.candidates], fetched, policy, config.keys)
    log.notes += notes
    versions, fetched.chunks, notes = split_versions([hit.chunk for hit in hits], fetched.chunks, config.keys)
    log.notes += notes
    own = _merge_linked_documents(_separate_hits(hits, versions, contradictions, alone, fetched), fetched)
    chunk_of = dict(zip([hit.key for hit in hits], own, strict=True))
    joinable = [key for key in chunk_of if key not in alone]
    # What the store has may contradict the hits as well.
    stored = find_contradictions([*(chunk_of[key] for key in joinable), *fetched.chunks])
    log.notes += describe_contradictions(stored, "they are given as no neighbors")
    found: Sequence[Chunk] = [chunk for chunk in fetched.chunks if chunk.document_id not in stored]
    placed, notes = drop_conflicting_offsets([*(chunk_of[key] for key in joinable), *found], config.keys)
    log.notes += notes
    chunk_of |= zip(joinable, placed, strict=False)
    found = placed[len(joinable) :]
    position_of = _chunk_positions(placed, admitted, fetched, policy, config)
    # Hits next to which nothing may be come behind all others, far from each other.
    last = max(position_of.values(), default=0)
    ordered = sorted(alone.values(), key=_given_place)
    alone_at = {hit.key: last + CHAIN_GAP * number for number, hit in enumerate(ordered, 1)}
    positioned = [
        Candidate(
            hit.key, chunk, hit.rank, hit.score, 0, alone_at.get(hit.key) or position_of[chunk.document_id, chunk.id]
        )
        for hit, chunk in zip(hits, chunk_of.values(), strict=True)
    ]
    expanding = [hit for hit in positioned if hit.key not in silent]
    # Neighbors are numbered after all hits, copies included.
    neighbors = _score_neighbors(expanding, found, len(admitted.hits), position_of, config, policy)
    neighbors += tuple(
        Candidate(key, chunk, expanding[place].rank, distance=config.window + 1)
        for key, (place, chunk) in enumerate(fetched.mentioned, len(admitted.hits) + len(found))
    )
    if (access := policy.access) is not None and (neighbors or access.excluded_count):
        # Only metadata decided which neighbors may be read.
        log.unscoped = tuple(access.differing_keys)
        if access.excluded_count:
            differing = ", ".join(safe_repr(key, 80) for key in access.differing_keys)
            left_out = f"{access.excluded_count:,} left out, not their hit's by their metadata: {differing}"
            log.notes.append(f"store: {left_out}")
    return tuple(positioned), neighbors


def _separate_hits(
    hits: Candidates,
    versions: Sequence[Chunk],
    contradictions: Mapping[str, Contradiction],
    alone: Container[int],
    fetched: Fetched,
) -> list[Chunk]:
    """Return the chunks of `hits`, as of `versions` of documents.

    Contradicting ones are without a place, unstored ones of documents of their own.
    """
    chunks = separate_documents(versions, contradictions)
    # Nothing in the store says what is next to a hit that it holds no more, or never held.
    unstored = {id(hit) for hit in fetched.unstored_hits if hit.document_id in fetched.known_documents}
    taken = {chunk.document_id for chunk in (*chunks, *(hit.chunk for hit in hits))}
    for place, hit in enumerate(hits):
        if hit.key in alone:
            chunks[place] = without_place(chunks[place])
        elif id(hit.chunk) in unstored:
            chunks[place] = renumber_document(chunks[place], 1, taken)
    return chunks


def _merge_linked_documents(hits: list[Chunk], fetched: Fetched) -> list[Chunk]:
    """Return the hits, and change the chunks in `fetched`, so that linked ones without a document share one."""
    document_map = merge_linked(hits, fetched.chunks)
    if not document_map:
        return hits
    for chunks in (fetched.chunks, fetched.hidden_between):
        chunks[:] = [assign_document(chunk, document_map) for chunk in chunks]
    return [assign_document(hit, document_map) for hit in hits]


def _chunk_positions(
    chunks: Iterable[Chunk], admitted: AdmittedHits, fetched: Fetched, policy: FetchPolicy, config: AssemblyConfig
) -> Positions:
    """Return the positions of `chunks`, hits and fetched ones."""
    empty_indexes: dict[str, set[int]] = defaultdict(set)
    for chunk in (*(hit.chunk for hit in admitted.empty), *fetched.empty):
        if chunk.index is not None:
            empty_indexes[chunk.document_id].add(chunk.index)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.document_id].append(chunk)
    # A chunk that may not be read separates the chunks before and after it.
    for chunk in fetched.hidden_between:
        if chunk.prev_id or chunk.next_id or not is_covered(chunk, by_document[chunk.document_id]):
            by_document[chunk.document_id].append(chunk)
    complete = KnownComplete(fetched.complete_documents, fetched.offset_answered, policy.offset_window)
    return {
        (document_id, chunk_id): position
        for document_id, members in by_document.items()
        for chunk_id, position in chunk_positions(
            members, empty_indexes.get(document_id, ()), config.keys.page, complete
        ).items()
    }


def _given_place(hit: Candidate) -> list[float]:
    """Return the index and the offset of `hit`, as it came; what is unknown goes last."""
    return [math.inf if at is None else at for at in (hit.chunk.index, hit.chunk.start)]


def _score_neighbors(
    hits: Sequence[Candidate],
    chunks: Sequence[Chunk],
    first_key: int,
    positions: Positions,
    config: AssemblyConfig,
    policy: FetchPolicy,
) -> Candidates:
    """Return the chunks within the window of a hit as candidates, nearest first, then by rank, document and position.

    They are numbered from `first_key`. A neighbor's score is its best hit's times `neighbor_decay` per step. It is
    never above the hit's own, as half of a negative score would be. Where metadata decide, it has to agree with its
    hit.
    """
    hits_of: dict[str, list[Candidate]] = defaultdict(list)
    for hit in sorted(hits, key=attrgetter("position")):
        hits_of[hit.chunk.document_id].append(hit)
    places = {name: [hit.position for hit in members] for name, members in hits_of.items()}
    found: list[Candidate] = []
    for key, chunk in enumerate(chunks, first_key):
        at, name = positions[chunk.document_id, chunk.id], chunk.document_id
        own = places.get(name, [])
        nearby = hits_of[name][bisect_left(own, at - policy.window) : bisect_right(own, at + policy.window)]
        if not nearby and chunk.index == 0:  # asked for, since it may say which document has a text of many
            nearby = hits_of[name]
        if policy.access is not None and nearby:
            nearby = policy.access.filter_agreeing(chunk, nearby)
        if nearby:
            steps, rank = min((abs(hit.position - at), hit.rank) for hit in nearby)
            scored = ((hit.score, abs(hit.position - at)) for hit in nearby if hit.score is not None)
            scores = [score * config.neighbor_decay**far if score > 0 else score for score, far in scored]
            found.append(Candidate(key, chunk, rank, max(scores, default=None), max(steps, 1), at))
    return tuple(sorted(found, key=attrgetter("distance", "rank", "chunk.document_id", "position")))
