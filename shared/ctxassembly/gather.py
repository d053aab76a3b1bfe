"""Hits -> all that may be used: their neighbours fetched, duplicates collapsed.

The part of the flow that asks for I/O: chunks from the store, and vectors where duplicates are told by meaning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.admit import Admitted, admit_fetched
from ctxassembly.chains import adopted, at_home, one_document
from ctxassembly.config import AssemblyConfig
from ctxassembly.cut import READ_CHARS, within_reach
from ctxassembly.duplicates import Duplicates
from ctxassembly.errors import StoreError
from ctxassembly.expand import index_refs, is_covered, link_refs, neighbours, positions
from ctxassembly.lineage import Lineage
from ctxassembly.log import Log
from ctxassembly.missing import Lack, missing
from ctxassembly.neutral import is_storable
from ctxassembly.requests import FetchChunks, Request
from ctxassembly.scope import Scope
from ctxassembly.shown import failure, shown
from ctxassembly.types import Candidate, Chunk, ChunkRef

Place = tuple[str, "int | None", "str | None"]
"""What a `ChunkRef` says, which is quicker to look up."""


def gather(
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    scope: Scope | None,
    lineage: Lineage,
    duplicates: Duplicates,
    can_embed: bool,
    log: Log,
    remedies: Mapping[Lack, str] | None = None,
) -> Generator[Request, Sequence[Any], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The neighbours of what was admitted, `reach` on each side, and what of both can be used: hits first.

    Following links takes a round trip for each step: there the window is all that is fetched. `scope` says which chunks
    may be read where nobody knows how the caller filters.
    """
    hits = admitted.candidates
    if not config.enabled:
        return (), _within_reach(hits, config, lineage, log)
    found = hits
    if config.dedup != "none":
        found = duplicates.exact(hits)
        log.stage("dedup", len(hits), len(found))
    placed, near = yield from _expand(found, admitted, config, reach, scope, log, remedies)
    log.stage("expand", len(placed), len(placed) + len(near))
    usable = (*(lineage.change(before, after) for before, after in zip(found, placed, strict=True)), *near)
    if near and config.dedup != "none":
        before = len(usable)
        usable = duplicates.exact(usable)
        log.stage("dedup", before, len(usable))
    usable = _within_reach(usable, config, lineage, log)
    if config.dedup in ("near", "semantic"):
        before = len(usable)
        usable = yield from duplicates.similar(usable, can_embed=can_embed)
        log.stage(f"{config.dedup} dedup", before, len(usable))
    return near, usable


def _within_reach(
    candidates: Sequence[Candidate], config: AssemblyConfig, lineage: Lineage, log: Log
) -> tuple[Candidate, ...]:
    """`candidates`, of those that can't stand whole only what may be read."""
    known = isinstance(config.encoding, str)  # else nobody knows how long a token is
    if not known or max([len(each.chunk.text) for each in candidates], default=0) <= READ_CHARS:
        return tuple(candidates)
    reached = [within_reach(each, config.token_limit) for each in candidates]
    for before, after in zip(candidates, reached, strict=True):
        if before is not after:
            sizes = f"of {len(before.chunk.text):,} characters only the first {len(after.chunk.text):,} are read"
            log.notes.append(f"chunk {before.chunk.id!r}: {sizes}")
    return tuple(lineage.change(before, after) for before, after in zip(candidates, reached, strict=True))


def _expand(
    hits: Sequence[Candidate],
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    scope: Scope | None,
    log: Log,
    remedies: Mapping[Lack, str] | None,
) -> Generator[FetchChunks, Sequence[Chunk], tuple[tuple[Candidate, ...], tuple[Candidate, ...]]]:
    """The hits with their place in the document, and their neighbours."""
    chunks = [hit.chunk for hit in hits]
    fetched = _Fetched([], [], [], set(), {})
    if reach:
        fetched = yield from _fetch(chunks, admitted, config, reach, scope, log)
    answered = fetched.answered if reach and not fetched.incomplete else None
    log.miss(missing(chunks, config.keys, answered, fetched.refused, remedies))
    if homes := one_document(chunks, fetched.chunks):
        hits = [hit._replace(chunk=at_home(hit.chunk, homes)) for hit in hits]
        chunks = [hit.chunk for hit in hits]
        fetched.chunks[:] = [at_home(chunk, homes) for chunk in fetched.chunks]
    blanks: dict[str, set[int]] = defaultdict(set)
    for chunk in (*(hit.chunk for hit in admitted.empty), *fetched.empty):
        if chunk.index is not None:
            blanks[chunk.document_id].add(chunk.index)
    by_document: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in (*chunks, *fetched.chunks):
        by_document[chunk.document_id].append(chunk)
    for chunk in fetched.between:
        if chunk.prev_id or chunk.next_id or not is_covered(chunk, by_document[chunk.document_id]):
            by_document[chunk.document_id].append(chunk)
    places = {
        (document_id, chunk_id): place
        for document_id, members in by_document.items()
        for chunk_id, place in positions(members, document_id in fetched.whole, blanks[document_id]).items()
    }
    placed = tuple(
        Candidate(hit.chunk, hit.rank, hit.score, position=places[hit.chunk.document_id, hit.chunk.id]) for hit in hits
    )
    near = neighbours(placed, fetched.chunks, places, reach, config.neighbour_decay, scope)
    if scope is not None and (near or scope.left_out):
        _note_scope(scope, log)
    return placed, near


def _note_scope(scope: Scope, log: Log) -> None:
    """Note that chunks came of which only their metadata say whose they are, and what was left out for it."""
    log.unscoped = tuple(scope.differing)
    if scope.left_out:
        differing = ", ".join(shown(key, 80) for key in scope.differing)
        log.notes.append(f"store: {scope.left_out:,} left out, not their hit's by their metadata: {differing}")


class _Fetched(NamedTuple):
    """What the store had: chunks with text and without, and the documents that it was asked for whole."""

    chunks: list[Chunk]
    between: list[Chunk]
    """Those that may not be read but have a place among those that may, told by their links or offsets."""
    empty: list[Chunk]
    whole: set[str]
    answered: dict[str, set[str]]
    """The ids of all that it answered with, by document id."""
    incomplete: bool = False
    """Whether it failed to answer some of what it was asked."""
    refused: str | None = None
    """The error of one that has no way to be asked."""


def _fetch(
    chunks: Sequence[Chunk], admitted: Admitted, config: AssemblyConfig, reach: int, scope: Scope | None, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], _Fetched]:
    """What is near `chunks`, in one round trip, or in as many as following links takes."""
    # What was retrieved is never fetched again, copies and empty chunks included.
    known = {hit.chunk.id: hit.chunk for hit in reversed((*admitted.candidates, *admitted.empty))}
    fetched = _Fetched([], [], [], set(), {})
    if scope is not None:
        scope.add_hits(chunks)
    asked: set[Place] = set()
    while True:
        wanted = (*index_refs(chunks, reach, known.values()), *link_refs(chunks, known, config.window))
        refs = _storable([ref for ref in wanted if (ref.document_id, ref.index, ref.chunk_id) not in asked], log)
        if not refs:
            return fetched
        asked.update((ref.document_id, ref.index, ref.chunk_id) for ref in refs)
        fetched.whole.update(ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None)
        answer, empty, failed = yield from _answer(refs, config, log)
        if failed:
            unable = [failure(each) for each in failed if isinstance(each, NotImplementedError)]
            fetched = fetched._replace(
                refused=unable[0] if unable and not (answer or empty) else fetched.refused, incomplete=True
            )
        answer = _asked_for(adopted(answer, refs), asked, log)
        for chunk in (*answer, *empty):
            fetched.answered.setdefault(chunk.document_id, set()).add(chunk.id)
        fetched.empty.extend(chunk for chunk in empty if scope is None or scope.admits(chunk))
        _keep(answer, known, fetched, scope)


def _answer(
    refs: Sequence[ChunkRef], config: AssemblyConfig, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], tuple[list[Chunk], list[Chunk], list[Exception]]]:
    """What the store has of `refs`, with text and without, and the errors that it raised.

    References of several kinds are asked for together, and each kind on its own where that fails: a store that can't
    search for a document has chunks by their ids all the same. One that can't be reached isn't asked again.
    """
    found: list[Chunk] = []
    empty: list[Chunk] = []
    failed: list[Exception] = []
    waiting = [list(refs)]
    while waiting:
        part = waiting.pop(0)
        log.round_trips += 1
        try:
            strict = config.on_store_error == "raise"
            usable, blank, notes = admit_fetched((yield FetchChunks(tuple(part))), strict=strict)
        except Exception as error:
            if config.on_store_error == "raise":
                raise StoreError(f"neighbours could not be fetched: {failure(error)}") from error
            kinds = {} if isinstance(error, OSError) else _by_kind(part)
            if len(kinds) > 1:
                waiting = [*kinds.values()]
            else:
                failed.append(error)
        else:
            log.notes += notes
            found += usable
            empty += blank
    stand = "the hits stand without them" if not (found or empty) else "what else was asked for came"
    log.notes += dict.fromkeys(f"store: no neighbours ({failure(each)}), {stand}" for each in failed)
    return found, empty, failed


def _by_kind(refs: Iterable[ChunkRef]) -> dict[tuple[bool, bool], list[ChunkRef]]:
    """Those that name a place, those that name a chunk, and those that name a document alone."""
    kinds: dict[tuple[bool, bool], list[ChunkRef]] = defaultdict(list)
    for ref in refs:
        kinds[ref.index is None, ref.chunk_id is None].append(ref)
    return kinds


def _keep(answer: Iterable[Chunk], known: dict[str, Chunk], fetched: _Fetched, scope: Scope | None) -> None:
    """Add what is new in `answer` to what is `known`, and to what was `fetched` by whether it may be read."""
    between: list[Chunk] = []
    for chunk in answer:
        if chunk.id not in known:
            if scope is None or scope.admits(chunk):
                known[chunk.id] = chunk
                fetched.chunks.append(chunk)
            elif chunk.index is None:
                between.append(chunk)
    # Another tenant's chunk may have the id of one that may be read: it comes after.
    fetched.between.extend(known.setdefault(chunk.id, chunk) for chunk in between if chunk.id not in known)


def _storable(refs: Sequence[ChunkRef], log: Log) -> tuple[ChunkRef, ...]:
    """Those that a database can be asked for: one that refuses a name fails for all that is asked for beside it."""
    names = {name for ref in refs for name in (ref.document_id, ref.chunk_id) if name}
    refused = {name for name in names if not is_storable(name)}
    if not refused:
        return tuple(refs)
    found = tuple(ref for ref in refs if ref.document_id not in refused and ref.chunk_id not in refused)
    if len(found) < len(refs):
        unnamed = f"{len(refs) - len(found):,} neighbours by names with characters that databases refuse"
        log.notes.append(f"store: not asked for {unnamed}")
    return found


def _asked_for(chunks: Sequence[Chunk], asked: Container[Place], log: Log) -> list[Chunk]:
    """Those of `chunks` that were asked for; however many others there are, they make one note."""
    others = [chunk for chunk in chunks if not _was_asked_for(chunk, asked)]
    if not others:
        return list(chunks)
    first = shown(others[0].id, 80)
    many = f"{len(others):,} chunks were not asked for, left out; the first is {first}"
    log.notes.append(f"store: chunk {first} was not asked for, left out" if len(others) == 1 else f"store: {many}")
    return [chunk for chunk in chunks if _was_asked_for(chunk, asked)]


def _was_asked_for(chunk: Chunk, asked: Container[Place]) -> bool:
    document_id = chunk.document_id
    return (
        (document_id, chunk.index, None) in asked
        or (document_id, None, chunk.id) in asked
        or (document_id, None, None) in asked
    )
