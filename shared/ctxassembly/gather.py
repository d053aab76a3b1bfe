"""Hits -> all that may be used: their neighbours fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are told by meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Sequence
from typing import Any, NamedTuple

from ctxassembly.admit import Admitted, admit_fetched
from ctxassembly.config import AssemblyConfig
from ctxassembly.duplicates import Duplicates
from ctxassembly.errors import StoreError
from ctxassembly.expand import index_refs, link_refs, neighbours
from ctxassembly.kin import in_document, parents_of
from ctxassembly.lineage import Lineage
from ctxassembly.log import Log
from ctxassembly.long_chunks import READ_CHARS, LongChunks
from ctxassembly.neutral import is_storable
from ctxassembly.offsets import part_of
from ctxassembly.parted import by_id, name_in, spread, with_doubtful_places, with_own_ids
from ctxassembly.places import Answered, contained, is_covered, positions
from ctxassembly.requests import FetchChunks, Request
from ctxassembly.scope import Scope
from ctxassembly.shown import failure, shown
from ctxassembly.types import CONTAINED, Beside, Candidate, Chunk, ChunkRef

Place = tuple[str, "int | None", "str | None", "Beside | None"]
"""What a `ChunkRef` says, which is quicker to look up."""


def gather(
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    scope: Scope | None,
    lineage: Lineage,
    duplicates: Duplicates,
    can_embed: bool,
    long_chunks: LongChunks,
    log: Log,
    *,
    finds_offsets: bool = False,
) -> Generator[Request, Sequence[Any], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The neighbours of what was admitted, `reach` on each side, and what of both can be used: hits first.

    Following links takes a round trip for each step: there the window is all that is fetched. `scope` says which chunks
    may be read where nobody knows how the caller filters, `long_chunks` how much of each, `finds_offsets` whether the
    store can be asked by offset.
    """
    hits = admitted.candidates
    if not config.enabled:
        return (), _read(hits, long_chunks, lineage, log)
    found = hits
    if config.dedup != "none":
        found = duplicates.exact(hits)
        duplicates.note_hashes(found)
        log.stage("dedup", len(hits), len(found))
    placed, near = yield from _expand(found, admitted, config, reach, scope, log, finds_offsets=finds_offsets)
    log.stage("expand", len(placed), len(placed) + len(near))
    usable = (*(lineage.change(before, after) for before, after in zip(found, placed, strict=True)), *near)
    if near and config.dedup != "none":
        before = len(usable)
        usable = duplicates.exact(usable)
        log.stage("dedup", before, len(usable))
    usable = lineage.collapse(usable, contained(usable), CONTAINED)
    usable = _read(usable, long_chunks, lineage, log)
    if config.dedup in ("near", "semantic"):
        before = len(usable)
        usable = yield from duplicates.similar(usable, can_embed=can_embed)
        log.stage(f"{config.dedup} dedup", before, len(usable))
    return near, usable


def _read(
    candidates: Sequence[Candidate], long_chunks: LongChunks, lineage: Lineage, log: Log
) -> tuple[Candidate, ...]:
    """`candidates`, of those that are too long only the part that is read."""
    if max([len(each.chunk.text) for each in candidates], default=0) <= READ_CHARS:
        return tuple(candidates)
    parts = [long_chunks.read(each) for each in candidates]
    for before, after in zip(candidates, parts, strict=True):
        if before is not after:
            whole, read, begin = len(before.chunk.text), len(after.chunk.text), after.read_from
            place = f"{read:,} are read, from {begin:,} on, for the words of the query"
            which = place if begin else f"the first {read:,} are read"
            log.notes.append(f"chunk {before.chunk.id!r}: of {whole:,} characters only {which}")
    return tuple(lineage.change(before, after) for before, after in zip(candidates, parts, strict=True))


def _expand(
    hits: Sequence[Candidate],
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    scope: Scope | None,
    log: Log,
    *,
    finds_offsets: bool,
) -> Generator[FetchChunks, Sequence[Chunk], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The hits with their place in the document, and their neighbours."""
    chunks = [hit.chunk for hit in hits]
    fetched = _Fetched([], [], [], set(), set(), set())
    # Where nobody knows the filter, another tenant's chunks may stand between.
    by_offset = reach * (1 if scope is None else 2) if finds_offsets else 0
    if reach:
        fetched = yield from _fetch(chunks, admitted, config, reach, by_offset, scope, log)
    if fetched.refused:
        unnamed = f"{len(fetched.refused):,} neighbours by names with characters that databases refuse"
        log.notes.append(f"store: not asked for {unnamed}")
    chunks, found = _in_documents(chunks, fetched)
    blanks: dict[str, set[int]] = defaultdict(set)
    for chunk in (*(hit.chunk for hit in admitted.empty), *fetched.empty):
        if chunk.index is not None:
            blanks[chunk.document_id].add(chunk.index)
    sure = with_doubtful_places([*chunks, *found])
    chunks, found = [*sure[: len(hits)]], [*sure[len(hits) :]]
    # Places are told by id; what stands in the context and in the trace keeps the id that it came with.
    named = with_own_ids(sure)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in named:
        by_document[chunk.document_id].append(chunk)
    for chunk in fetched.between:
        if chunk.prev_id or chunk.next_id or not is_covered(chunk, by_document[chunk.document_id]):
            by_document[chunk.document_id].append(chunk)
    answered = Answered(fetched.whole, fetched.beside, by_offset)
    places = {
        (document_id, chunk_id): place
        for document_id, members in by_document.items()
        for chunk_id, place in spread(
            members, positions(members, blanks[document_id], config.keys.page, answered)
        ).items()
    }
    placed = tuple(
        Candidate(chunk, hit.rank, hit.score, position=places[chunk.document_id, name.id])
        for hit, chunk, name in zip(hits, chunks, named[: len(hits)], strict=True)
    )
    near = neighbours(placed, found, places, reach, config.neighbour_decay, scope)
    if scope is not None and log.round_trips:
        log.unscoped = tuple(scope.differing)
        if scope.left_out:
            differing = ", ".join(shown(key, 80) for key in scope.differing)
            log.notes.append(f"store: {scope.left_out:,} left out, not their hit's by their metadata: {differing}")
    return placed, near


def _in_documents(hits: list[Chunk], fetched: _Fetched) -> tuple[list[Chunk], list[Chunk]]:
    """The hits, and of what was fetched the chunks that may stand beside them, with the offsets of their documents.

    What they were cut from was fetched for these offsets alone.
    """
    parents = parents_of((*hits, *fetched.chunks))
    if not parents:
        return hits, fetched.chunks
    known = {chunk.id: chunk for chunk in (*fetched.between, *fetched.chunks, *hits)}
    beside = [in_document(chunk, known) for chunk in fetched.chunks if chunk.id not in parents]
    return [in_document(chunk, known) for chunk in hits], beside


class _Fetched(NamedTuple):
    """What the store had: chunks with text and without, and the documents that it gave whole, by what it calls them."""

    chunks: list[Chunk]
    between: list[Chunk]
    """Those that may not be read but have a place among those that may, told by their links or offsets."""
    empty: list[Chunk]
    whole: set[str]
    refused: set[Place]
    """What databases can't be asked for: each place once, however many round trips it was wanted in."""
    beside: set[str]
    """The hits that it was asked for what is beside, by offset."""


def _fetch(
    chunks: Sequence[Chunk],
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    by_offset: int,
    scope: Scope | None,
    log: Log,
) -> Generator[FetchChunks, Sequence[Chunk], _Fetched]:
    """What is near `chunks`, in one round trip, or in as many as following links takes.

    `by_offset` chunks on each side are asked for where only offsets tell the place; none if the store can't tell.
    """
    # What was retrieved is never fetched again, copies and empty chunks included.
    known = by_id([hit.chunk for hit in (*admitted.candidates, *admitted.empty)])
    fetched = _Fetched([], [], [], set(), set(), set())
    if scope is not None:
        scope.add_hits(chunks)
    asked: set[Place] = set()
    without_index = [chunk for chunk in chunks if chunk.index is None]
    pages = config.keys.page
    while True:
        wanted = index_refs(chunks, reach, known.values())
        if without_index:
            missing = {chunk_id for _, _, chunk_id, _ in asked if chunk_id} - known.keys()
            wanted += link_refs(without_index, known, config.window, beside=by_offset, pages=pages, missing=missing)
        refs = _storable([ref for ref in wanted if _place(ref) not in asked], fetched)
        if not refs:
            return fetched
        asked.update(map(_place, refs))
        log.round_trips += 1
        try:
            strict = config.on_store_error == "raise"
            answer, empty, notes = admit_fetched((yield FetchChunks(refs)), strict=strict)
        except Exception as error:
            if config.on_store_error == "raise":
                raise StoreError(f"neighbours could not be fetched: {failure(error)}") from error
            log.notes.append(f"store: no neighbours ({failure(error)}), the hits stand without them")
            return fetched
        log.notes += notes
        fetched.empty.extend(chunk for chunk in empty if scope is None or scope.admits(chunk))
        _keep(_asked_for(answer, asked, log), known, fetched, scope)
        if without_index:
            given = {chunk.lookup_id for chunk in (*answer, *empty)}
            fetched.whole.update(each for each in given if (each, None, None, None) in asked)
            offsets = {(ref.document_id, ref.beside.start, ref.beside.part) for ref in refs if ref.beside}
            beside = (each for each in known.values() if (each.lookup_id, each.start, part_of(each)) in offsets)
            fetched.beside.update(each.id for each in beside)


def _keep(answer: Iterable[Chunk], known: dict[str, Chunk], fetched: _Fetched, scope: Scope | None) -> None:
    """Add what is new in `answer` to what is `known`, and to what was `fetched` by whether it may be read."""
    between: list[Chunk] = []
    for chunk in answer:
        name = chunk.id
        if name in known and known[name].document_id != chunk.document_id:
            name = name_in(name, chunk.document_id)
        if name not in known:
            if scope is None or scope.admits(chunk):
                known[name] = chunk
                fetched.chunks.append(chunk)
            elif chunk.index is None:
                between.append(chunk)
    # Another tenant's chunk may have the id of one that may be read: it comes after.
    fetched.between.extend(known.setdefault(chunk.id, chunk) for chunk in between if chunk.id not in known)


def _storable(refs: Sequence[ChunkRef], fetched: _Fetched) -> tuple[ChunkRef, ...]:
    """Those that a database can be asked for: one that refuses a name fails for all that is asked for beside it."""
    names = {name for ref in refs for name in (ref.document_id, ref.chunk_id) if name}
    refused = {name for name in names if not is_storable(name)}
    if not refused:
        return tuple(refs)
    found = tuple(ref for ref in refs if ref.document_id not in refused and ref.chunk_id not in refused)
    fetched.refused.update({*map(_place, refs)} - {*map(_place, found)})
    return found


def _asked_for(chunks: Sequence[Chunk], asked: Collection[Place], log: Log) -> list[Chunk]:
    """Those of `chunks` that were asked for; however many others there are, they make one note."""
    others = [chunk for chunk in chunks if not _was_asked_for(chunk, asked)]
    if others:
        by_offset = {beside.document_id or document_id for document_id, _, _, beside in asked if beside is not None}
        others = [chunk for chunk in others if chunk.lookup_id not in by_offset and chunk.document_id not in by_offset]
    if not others:
        return list(chunks)
    first = shown(others[0].id, 80)
    many = f"{len(others):,} chunks were not asked for, left out; the first is {first}"
    log.notes.append(f"store: chunk {first} was not asked for, left out" if len(others) == 1 else f"store: {many}")
    strangers = {*map(id, others)}
    return [chunk for chunk in chunks if id(chunk) not in strangers]


def _was_asked_for(chunk: Chunk, asked: Collection[Place]) -> bool:
    document_id = chunk.document_id if chunk.origin is None else chunk.lookup_id
    return (
        (document_id, chunk.index, None, None) in asked
        or (document_id, None, chunk.id, None) in asked
        or (document_id, None, None, None) in asked
    )


def _place(ref: ChunkRef) -> Place:
    return ref.document_id, ref.index, ref.chunk_id, ref.beside
