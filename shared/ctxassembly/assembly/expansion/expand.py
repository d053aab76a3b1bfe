"""Hits -> all candidates that may be used: their neighbours fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are told by meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ctxassembly.assembly.adjacency.hierarchy import in_document, parents_of
from ctxassembly.assembly.adjacency.positions import Answered, at_home, contained, is_covered, one_document, positions
from ctxassembly.assembly.adjacency.shared_ids import spread, with_doubtful_places, with_own_documents, with_own_ids
from ctxassembly.assembly.dedup.dedup import Duplicates
from ctxassembly.assembly.expansion.access import Scope
from ctxassembly.assembly.expansion.admit import Admitted
from ctxassembly.assembly.expansion.diagnostics import missing, not_held, proof, untold
from ctxassembly.assembly.expansion.fetch import Fetched, Surroundings, fetch
from ctxassembly.assembly.expansion.long_chunks import READ_CHARS, LongChunks
from ctxassembly.assembly.expansion.references import neighbours
from ctxassembly.assembly.expansion.store_identity import is_of
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import CONTAINED, Candidate
from ctxassembly.data.chunks import Chunk, is_marked
from ctxassembly.data.id_clashes import renamed
from ctxassembly.data.requests import FetchChunks, Request
from ctxassembly.safe_repr import shown
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.recorder import Log, by_reason

Candidates = tuple[Candidate, ...]


def gather(
    admitted: Admitted,
    config: AssemblyConfig,
    around: Surroundings,
    duplicates: Duplicates,
    long_chunks: LongChunks,
    log: Log,
) -> Generator[Request, Sequence[Any], tuple[Candidates, Candidates]]:
    """The neighbours of the admitted hits, and all candidates of both that may be used: hits first.

    What becomes of each on the way is entered in the lineage of `duplicates`.
    """
    hits, lineage = admitted.candidates, duplicates.lineage
    if not config.enabled:
        return (), _read(hits, long_chunks, lineage, log)
    found = hits
    # A copy of a hit brings no neighbours of its own, so copies go before the store is asked.
    if config.dedup != "none":
        yield from log.begin("dedup", len(hits))
        found = duplicates.exact(hits)
        duplicates.note_hashes(found)
        yield from log.end(len(found), partial(_copies, hits, found, lineage))
    yield from log.begin("expand", len(found))
    placed, near = yield from _expand(found, admitted, config, around, log)
    yield from log.end(len(placed) + len(near))
    usable = (*(lineage.change(before, after) for before, after in zip(found, placed, strict=True)), *near)
    # Neighbours bring copies of their own.
    if near and config.dedup != "none":
        yield from log.begin("dedup", len(usable))
        before, usable = usable, duplicates.exact(usable)
        yield from log.end(len(usable), partial(_copies, before, usable, lineage))
    usable = lineage.collapse(usable, contained(usable), CONTAINED)
    usable = _read(usable, long_chunks, lineage, log)
    if config.dedup in ("near", "semantic"):
        yield from log.begin(f"{config.dedup} dedup", len(usable))
        before, usable = usable, (yield from duplicates.similar(usable))
        yield from log.end(len(usable), partial(_copies, before, usable, lineage))
    return near, usable


def _copies(before: Candidates, after: Candidates, lineage: Lineage) -> Mapping[str, Any]:
    """The reasons of those that are gone `after` a stage, as it tells them."""
    copies, there = lineage.copies(), {candidate.key for candidate in after}
    return by_reason(copies[candidate.key][1] for candidate in before if candidate.key not in there)


def _read(candidates: Candidates, long_chunks: LongChunks, lineage: Lineage, log: Log) -> Candidates:
    """`candidates`, with the chunks that are too long reduced to the part that is read."""
    if max([len(candidate.chunk.text) for candidate in candidates], default=0) <= READ_CHARS:
        return candidates
    parts = [long_chunks.read(candidate) for candidate in candidates]
    for before, after in zip(candidates, parts, strict=True):
        if before is not after:
            whole, read, begin = len(before.chunk.text), len(after.chunk.text), after.read_from
            middle = f"{read:,} are read, from {begin:,} on, for the words of the query"
            which = middle if begin else f"the first {read:,} are read"
            log.notes.append(f"chunk {before.chunk.id!r}: of {whole:,} characters only {which}")
    return tuple(lineage.change(before, after) for before, after in zip(candidates, parts, strict=True))


def _expand(
    hits: Candidates, admitted: Admitted, config: AssemblyConfig, around: Surroundings, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], tuple[Candidates, Candidates]]:
    """The hits with their position in the document, and their neighbours."""
    alone = {hit.rank for hit in hits if is_marked(hit.chunk, "no_neighbours", config.keys)}
    fetched = yield from _fetch([hit.chunk for hit in hits if hit.rank not in alone], admitted, config, around, log)
    own = _apart([hit.chunk for hit in hits], fetched, config)
    chunks, found = _in_documents(_chained(own, fetched), fetched)
    sure = with_doubtful_places([*chunks, *found])
    chunks, found = [*sure[: len(hits)]], [*sure[len(hits) :]]
    # Positions are told by id. In the context and in the trace a chunk keeps the id that it came with.
    named = with_own_ids(sure)
    at = _positions(named, admitted, fetched, around, config)
    placed = tuple(
        Candidate(hit.key, chunk, hit.rank, hit.score, position=at[chunk.document_id, name.id])
        for hit, chunk, name in zip(hits, chunks, named[: len(hits)], strict=True)
    )
    asking = [hit for hit in placed if hit.rank not in alone] if alone else placed
    # The keys of neighbours follow those of all hits, copies included.
    keyed = enumerate(found, len(admitted.hits))
    near = neighbours(asking, keyed, at, around.reach, config.neighbour_decay, around.scope)
    if around.scope is not None and (near or around.scope.left_out):
        _note_scope(around.scope, log)
    return placed, near


def _fetch(
    chunks: Sequence[Chunk], admitted: Admitted, config: AssemblyConfig, around: Surroundings, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], Fetched]:
    """The store's answer on what is near `chunks`, with notes on what they or the store lack."""
    fetched = Fetched()
    if around.reach and chunks:
        fetched = yield from fetch(chunks, admitted, config, around, log)
    if fetched.refused:
        unnamed = f"{len(fetched.refused):,} neighbours by names with characters that databases refuse"
        log.notes.append(f"store: not asked for {unnamed}")
    # A store that failed to answer is noted already; what it lacks can't be told.
    answered = fetched.answered if around.reach and not fetched.incomplete else None
    if answered and not around.is_filtered and not fetched.has_others and proof(chunks) is not None:
        answered = {}  # under a filter all that is next to the hits may belong to others
    every = [hit.chunk for hit in admitted.candidates]
    if not answered and len(chunks) < len(every) and proof(every) is None:
        answered = None  # what stands next to the hits are copies, for which no store is asked
    lack = not_held(fetched.strangers, len(chunks), around.remedies)
    known = (chunks, config.keys, answered, fetched.beside)
    log.missing = lack or missing(*known, fetched.failure, around.remedies)
    # A failure of the store is noted already, with its whole message.
    note = log.missing if lack or fetched.failure is None else missing(*known, None, around.remedies)
    log.notes += [note] if note else []
    if log.missing is None and (doubt := untold(chunks, answered, around.remedies)) is not None:
        log.notes.append(doubt)
    return fetched


def _apart(hits: Sequence[Chunk], fetched: Fetched, config: AssemblyConfig) -> list[Chunk]:
    """The hits, of which those that the store doesn't hold are of other documents than those that it holds."""
    strangers = {id(hit) for hit in fetched.strangers if is_of(hit, fetched.known_documents)}
    taken = {hit.document_id for hit in hits}
    known = [renamed(hit, 1, taken) if id(hit) in strangers else hit for hit in hits] if strangers else hits
    return [*with_own_documents(known, lambda hit: Scope(config).signature(hit).fixed)]


def _chained(hits: list[Chunk], fetched: Fetched) -> list[Chunk]:
    """The hits, and in `fetched` the chunks, with one document for all that name none but are linked to each other."""
    homes = one_document(hits, fetched.chunks)
    if not homes:
        return hits
    for chunks in (fetched.chunks, fetched.between):
        chunks[:] = [at_home(chunk, homes) for chunk in chunks]
    return [at_home(hit, homes) for hit in hits]


def _in_documents(hits: list[Chunk], fetched: Fetched) -> tuple[list[Chunk], list[Chunk]]:
    """The hits and the fetched chunks that may stand beside them, both with the offsets of their documents.

    Parents are left out: they were fetched for these offsets alone.
    """
    parents = parents_of((*hits, *fetched.chunks))
    if not parents:
        return hits, fetched.chunks
    known = {chunk.id: chunk for chunk in (*fetched.between, *fetched.chunks, *hits)}
    found = [in_document(chunk, known) for chunk in fetched.chunks if chunk.id not in parents]
    return [in_document(chunk, known) for chunk in hits], found


def _positions(
    chunks: Iterable[Chunk], admitted: Admitted, fetched: Fetched, around: Surroundings, config: AssemblyConfig
) -> Mapping[tuple[str, str], int]:
    """The positions of `chunks`, hits and fetched ones, by document id and chunk id."""
    blanks: dict[str, set[int]] = defaultdict(set)
    for chunk in (*(hit.chunk for hit in admitted.empty), *fetched.empty):
        if chunk.index is not None:
            blanks[chunk.document_id].add(chunk.index)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        by_document[chunk.document_id].append(chunk)
    # Chunks that may not be read keep those apart between which they stand.
    for chunk in fetched.between:
        if chunk.prev_id or chunk.next_id or not is_covered(chunk, by_document[chunk.document_id]):
            by_document[chunk.document_id].append(chunk)
    known = Answered(fetched.whole, fetched.beside, around.by_offset)
    return {
        (document_id, chunk_id): position
        for document_id, members in by_document.items()
        for chunk_id, position in spread(
            members, positions(members, blanks[document_id], config.keys.page, known)
        ).items()
    }


def _note_scope(scope: Scope, log: Log) -> None:
    """Note that only metadata decided which neighbours may be read, and how many were left out for it."""
    log.unscoped = tuple(scope.differing)
    if scope.left_out:
        differing = ", ".join(shown(key, 80) for key in scope.differing)
        log.notes.append(f"store: {scope.left_out:,} left out, not their hit's by their metadata: {differing}")
