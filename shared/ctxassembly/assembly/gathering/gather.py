"""Hits -> all that may be used: their neighbours fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are told by meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from ctxassembly.assembly.adjacency.chains import at_home, one_document
from ctxassembly.assembly.adjacency.kin import in_document, parents_of
from ctxassembly.assembly.adjacency.parted import spread, with_doubtful_places, with_own_ids
from ctxassembly.assembly.adjacency.places import Answered, contained, is_covered, positions
from ctxassembly.assembly.duplicates.collapse import Duplicates
from ctxassembly.assembly.gathering.admit import Admitted
from ctxassembly.assembly.gathering.expand import neighbours
from ctxassembly.assembly.gathering.fetching import Fetched, fetch
from ctxassembly.assembly.gathering.long_chunks import READ_CHARS, LongChunks
from ctxassembly.assembly.gathering.missing import Lack, missing, untold
from ctxassembly.assembly.gathering.scope import Scope
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.marks import is_marked
from ctxassembly.data.reasons import CONTAINED
from ctxassembly.data.requests import FetchChunks, Request
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.shown import shown
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.log import Log


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
    remedies: Mapping[Lack, str] | None = None,
) -> Generator[Request, Sequence[Any], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The neighbours of what was admitted, `reach` on each side, and what of both can be used: hits first.

    Following links takes a round trip for each step: there the window is all that is fetched. `scope` says which chunks
    may be read where nobody knows how the caller filters, `long_chunks` how much of each, `finds_offsets` whether the
    store can be asked by offset, `remedies` what it has to say where neighbours can't be found.
    """
    hits = admitted.candidates
    if not config.enabled:
        return (), _read(hits, long_chunks, lineage, log)
    found = hits
    if config.dedup != "none":
        found = duplicates.exact(hits)
        duplicates.note_hashes(found)
        log.stage("dedup", len(hits), len(found))
    placed, near = yield from _expand(
        found, admitted, config, reach, scope, log, finds_offsets=finds_offsets, remedies=remedies
    )
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
    remedies: Mapping[Lack, str] | None,
) -> Generator[FetchChunks, Sequence[Chunk], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The hits with their place in the document, and their neighbours."""
    chunks = [hit.chunk for hit in hits]
    fetched = Fetched()
    # Where nobody knows the filter, another tenant's chunks may stand between.
    by_offset = reach * (1 if scope is None else 2) if finds_offsets else 0
    alone = {hit.rank for hit in hits if is_marked(hit.chunk, "no_neighbours", config.keys)}
    bringing = [hit.chunk for hit in hits if hit.rank not in alone]
    if reach and bringing:
        fetched = yield from fetch(bringing, admitted, config, reach, by_offset, scope, log)
    if fetched.refused:
        unnamed = f"{len(fetched.refused):,} neighbours by names with characters that databases refuse"
        log.notes.append(f"store: not asked for {unnamed}")
    answered = fetched.answered if reach and not fetched.incomplete else None
    log.miss(missing(bringing, config.keys, answered, fetched.beside, fetched.unanswerable, remedies))
    if log.missing is None and (doubt := untold(bringing, answered, remedies)) is not None:
        log.notes.append(doubt)
    chunks, found = _in_documents(_chained(chunks, fetched), fetched)
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
    known = Answered(fetched.whole, fetched.beside, by_offset)
    places = {
        (document_id, chunk_id): place
        for document_id, members in by_document.items()
        for chunk_id, place in spread(members, positions(members, blanks[document_id], config.keys.page, known)).items()
    }
    placed = tuple(
        Candidate(hit.key, chunk, hit.rank, hit.score, position=places[chunk.document_id, name.id])
        for hit, chunk, name in zip(hits, chunks, named[: len(hits)], strict=True)
    )
    bringing_hits = [hit for hit in placed if hit.rank not in alone] if alone else placed
    # Keys go on where those of the hits end.
    keyed = enumerate(found, len(admitted.hits))
    near = neighbours(bringing_hits, keyed, places, reach, config.neighbour_decay, scope)
    if scope is not None and (near or scope.left_out):
        _note_scope(scope, log)
    return placed, near


def _note_scope(scope: Scope, log: Log) -> None:
    """Note that chunks came of which only their metadata say whose they are, and what was left out for it."""
    log.unscoped = tuple(scope.differing)
    if scope.left_out:
        differing = ", ".join(shown(key, 80) for key in scope.differing)
        log.notes.append(f"store: {scope.left_out:,} left out, not their hit's by their metadata: {differing}")


def _chained(hits: list[Chunk], fetched: Fetched) -> list[Chunk]:
    """The hits, those that name no document but are linked to each other as of one; what was fetched follows them."""
    homes = one_document(hits, fetched.chunks)
    if not homes:
        return hits
    for chunks in (fetched.chunks, fetched.between):
        chunks[:] = [at_home(chunk, homes) for chunk in chunks]
    return [at_home(hit, homes) for hit in hits]


def _in_documents(hits: list[Chunk], fetched: Fetched) -> tuple[list[Chunk], list[Chunk]]:
    """The hits, and of what was fetched the chunks that may stand beside them, with the offsets of their documents.

    What they were cut from was fetched for these offsets alone.
    """
    parents = parents_of((*hits, *fetched.chunks))
    if not parents:
        return hits, fetched.chunks
    known = {chunk.id: chunk for chunk in (*fetched.between, *fetched.chunks, *hits)}
    beside = [in_document(chunk, known) for chunk in fetched.chunks if chunk.id not in parents]
    return [in_document(chunk, known) for chunk in hits], beside
