"""Hits -> all candidates that may be used: their neighbors fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are found by meaning.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ctxassembly.assembly.adjacency.consistency import (
    describe_contradictions,
    drop_conflicting_offsets,
    find_contradictions,
    separate_documents,
    without_place,
)
from ctxassembly.assembly.adjacency.positions import (
    CHAIN_GAP,
    KnownComplete,
    assign_document,
    chunk_positions,
    find_containers,
    is_covered,
    merge_linked,
)
from ctxassembly.assembly.dedup.dedup import Duplicates, shared_hashes_note
from ctxassembly.assembly.expansion.access import MetadataAccess
from ctxassembly.assembly.expansion.admit import AdmittedHits
from ctxassembly.assembly.expansion.diagnostics import (
    diagnose,
    limited_to_part,
    missing_neighbor,
    unstored_hits_warning,
    unverified_gaps,
)
from ctxassembly.assembly.expansion.fetch import FetchedChunks, FetchPolicy, fetch_neighbors
from ctxassembly.assembly.expansion.references import score_neighbors
from ctxassembly.assembly.expansion.store_identity import is_in_documents
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import CONTAINED, Candidate
from ctxassembly.data.chunks import Chunk, has_flag, renumber_document
from ctxassembly.data.requests import FetchChunks, Request
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import TraceRecorder

Candidates = tuple[Candidate, ...]


def expand_hits(
    admitted: AdmittedHits,
    config: AssemblyConfig,
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
    unique_hits = hits
    # A copy of a hit brings no neighbors of its own, so copies go before the store is asked.
    if config.dedup != "none":
        yield from log.begin("dedup", len(hits))
        unique_hits = duplicates.drop_exact(hits)
        log.notes += shared_hashes_note(unique_hits, config.keys)
        yield from log.end(len(unique_hits), partial(duplicates.count_dropped, hits, unique_hits))
    yield from log.begin("expand", len(unique_hits))
    positioned, neighbors = yield from _add_neighbors(unique_hits, admitted, config, policy, log)
    yield from log.end(len(positioned) + len(neighbors))
    usable = (*positioned, *neighbors)
    # Neighbors bring copies of their own.
    if neighbors and config.dedup != "none":
        yield from log.begin("dedup", len(usable))
        before, usable = usable, duplicates.drop_exact(usable)
        yield from log.end(len(usable), partial(duplicates.count_dropped, before, usable))
    usable = duplicates.drop(usable, find_containers(usable), CONTAINED)
    if config.dedup in ("near", "semantic"):
        yield from log.begin(f"{config.dedup} dedup", len(usable))
        before, usable = usable, (yield from duplicates.drop_similar(usable))
        yield from log.end(len(usable), partial(duplicates.count_dropped, before, usable))
    return neighbors, usable


def _add_neighbors(
    hits: Candidates, admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], tuple[Candidates, Candidates]]:
    """Return the hits with their position in the document, and their neighbors."""
    contradictions = find_contradictions(hit.chunk for hit in hits)
    log.notes += describe_contradictions(contradictions, "its chunks are neither joined nor given neighbors")
    alone = {hit.key for hit in hits if hit.chunk.document_id in contradictions}
    without_neighbors = alone | {hit.key for hit in hits if has_flag(hit.chunk, "no_neighbors", config.keys)}
    expanded = [hit.chunk for hit in hits if hit.key not in without_neighbors]
    fetched = yield from _fetch_neighbors(expanded, admitted, config, policy, log)
    # Nothing in the store says what is next to a hit that it holds no more, or never held.
    unstored = {id(hit) for hit in fetched.unstored_hits if is_in_documents(hit, fetched.known_documents)}
    own_hits = separate_documents([hit.chunk for hit in hits], contradictions)
    taken = {hit.chunk.document_id for hit in hits}
    own_hits = [
        without_place(chunk) if hit.key in alone else renumber_document(chunk, int(id(hit.chunk) in unstored), taken)
        for hit, chunk in zip(hits, own_hits, strict=True)
    ]
    chunks, found = _merge_linked_documents(own_hits, fetched), fetched.chunks
    # What the store has may contradict the hits as well.
    joinable = [chunk for hit, chunk in zip(hits, chunks, strict=True) if hit.key not in alone]
    stored = find_contradictions([*joinable, *found])
    log.notes += describe_contradictions(stored, "they are given as no neighbors")
    found = [chunk for chunk in found if chunk.document_id not in stored]
    placed, notes = drop_conflicting_offsets([*chunks, *found], config.keys)
    log.notes += notes
    chunks, found = [*placed[: len(hits)]], [*placed[len(hits) :]]
    joinable = [chunk for hit, chunk in zip(hits, chunks, strict=True) if hit.key not in alone]
    position_of = _chunk_positions([*joinable, *found], admitted, fetched, policy, config)
    alone_at = _positions_alone((hit for hit in hits if hit.key in alone), max(position_of.values(), default=0))
    positioned = tuple(
        Candidate(
            hit.key, chunk, hit.rank, hit.score, 0, alone_at.get(hit.key) or position_of[chunk.document_id, chunk.id]
        )
        for hit, chunk in zip(hits, chunks, strict=True)
    )
    asked = [hit for hit in positioned if hit.key not in without_neighbors]
    expanding = [hit for hit in asked if hit.key not in alone]
    # Neighbors are numbered after all hits, copies included.
    keyed = [*enumerate(found, len(admitted.hits))]
    neighbors = score_neighbors(expanding, keyed, position_of, policy.window, config.neighbor_decay, policy.access)
    neighbors += tuple(
        Candidate(key, chunk, asked[place].rank, distance=config.window + 1)
        for key, (place, chunk) in enumerate(fetched.mentioned, len(admitted.hits) + len(found))
    )
    if policy.access is not None and (neighbors or policy.access.excluded_count):
        _note_exclusions(policy.access, log)
    return positioned, neighbors


def _fetch_neighbors(
    chunks: Sequence[Chunk], admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], FetchedChunks]:
    """Return the store's answer on what is near `chunks`, with notes on what they or the store lack."""
    fetched = FetchedChunks()
    if policy.window and chunks:
        fetched = yield from fetch_neighbors(chunks, admitted, config, policy, log)
    if fetched.refused_refs:
        refused = f"{len(fetched.refused_refs):,} neighbors by names with characters that databases refuse"
        log.notes.append(f"store: not asked for {refused}")
    # A store that failed to answer is noted already; which chunks it lacks is unknown.
    returned_ids = fetched.returned_ids if policy.window and not fetched.is_incomplete else None
    is_filtered, remedies = policy.store.holds_filter, policy.store.remedies
    if returned_ids and not is_filtered and not fetched.has_others and missing_neighbor(chunks) is not None:
        returned_ids = {}  # under a filter all that is next to the hits may belong to others
    hits = admitted.candidates
    if not returned_ids and len(chunks) < len(hits) and missing_neighbor(chunks, [hit.chunk for hit in hits]) is None:
        returned_ids = None  # they are adjacent only to copies and other hits, which are not requested from the store
    lack = diagnose(chunks, config.keys, returned_ids, fetched.offset_answered, remedies)
    if fetched.unstored_hits:  # the cause of whatever else is lacking
        lack = unstored_hits_warning(fetched.unstored_hits, len(chunks), remedies)
    log.notes += [lack] if lack else []  # a failure of the store is noted already, with its whole message
    log.missing = "\n".join(filter(None, (lack, fetched.failure))) or None
    if fetched.returned_ids and (limit := limited_to_part(chunks, bool(policy.offset_window), remedies)) is not None:
        log.notes.append(limit)
    if log.missing is None and returned_ids == {} and (doubt := unverified_gaps(chunks, remedies)) is not None:
        log.notes.append(doubt)
    return fetched


def _merge_linked_documents(hits: list[Chunk], fetched: FetchedChunks) -> list[Chunk]:
    """Return the hits, and change the chunks in `fetched`, so that linked ones without a document share one."""
    document_map = merge_linked(hits, fetched.chunks)
    if not document_map:
        return hits
    for chunks in (fetched.chunks, fetched.hidden_between):
        chunks[:] = [assign_document(chunk, document_map) for chunk in chunks]
    return [assign_document(hit, document_map) for hit in hits]


def _chunk_positions(
    chunks: Iterable[Chunk], admitted: AdmittedHits, fetched: FetchedChunks, policy: FetchPolicy, config: AssemblyConfig
) -> Mapping[tuple[str, str], int]:
    """Return the positions of `chunks`, hits and fetched ones, by document id and chunk id."""
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
            members, empty_indexes[document_id], config.keys.page, complete
        ).items()
    }


def _positions_alone(hits: Iterable[Candidate], last: int) -> dict[int, int]:
    """Return positions behind the `last` one, by key, for hits next to which nothing may be: far from each other."""
    ordered = sorted(
        hits,
        key=lambda hit: (
            math.inf if hit.chunk.index is None else hit.chunk.index,
            math.inf if hit.chunk.start is None else hit.chunk.start,
            hit.rank,
        ),
    )
    return {hit.key: last + CHAIN_GAP * number for number, hit in enumerate(ordered, 1)}


def _note_exclusions(access: MetadataAccess, log: TraceRecorder) -> None:
    """Note that only metadata decided which neighbors may be read, and how many were left out for it."""
    log.unscoped = tuple(access.differing_keys)
    if access.excluded_count:
        differing = ", ".join(safe_repr(key, 80) for key in access.differing_keys)
        log.notes.append(f"store: {access.excluded_count:,} left out, not their hit's by their metadata: {differing}")
