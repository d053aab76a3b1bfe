"""What the store has near the hits: asked for in as few round trips as it takes, and of the answer what was asked for.

What one request finds isn't thrown away because another fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctxassembly.assembly.adjacency.chains import adopted, at_home, one_document
from ctxassembly.assembly.adjacency.offsets import part_of
from ctxassembly.assembly.adjacency.parted import by_id, name_in
from ctxassembly.assembly.gathering.admit import Admitted, admit_fetched
from ctxassembly.assembly.gathering.expand import index_refs, link_refs
from ctxassembly.assembly.gathering.missing import own_places
from ctxassembly.assembly.gathering.scope import Scope
from ctxassembly.data.chunks import Beside, Chunk, ChunkRef
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import StoreError
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.shown import failure, shown
from ctxassembly.tracing.log import Log
from ctxassembly.wording.clean import is_storable

Place = tuple[str, "int | None", "str | None", "Beside | None"]
"""What a `ChunkRef` says, which is quicker to look up."""


@dataclass(slots=True)
class Fetched:
    """What the store had, and what is known of how it was asked."""

    chunks: list[Chunk] = field(default_factory=list)
    between: list[Chunk] = field(default_factory=list)
    """Those that may not be read but have a place among those that may, told by their links or offsets."""
    empty: list[Chunk] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)
    """The documents that it gave whole, by what it calls them."""
    beside: set[str] = field(default_factory=set)
    """The hits that it was asked for what is beside, by offset."""
    refused: set[Place] = field(default_factory=set)
    """What databases can't be asked for: each place once, however many round trips it was wanted in."""
    answered: dict[str, set[str]] = field(default_factory=dict)
    """The ids of all that it answered with, by document id."""
    incomplete: bool = False
    """Whether it failed to answer some of what it was asked."""
    unanswerable: str | None = None
    """The error of a store that has no way to be asked."""


class _Answer(NamedTuple):
    """What came for `refs`, with text and without, and the errors in place of what didn't."""

    found: list[Chunk]
    empty: list[Chunk]
    refs: list[ChunkRef]
    failed: list[Exception]


def fetch(
    chunks: Sequence[Chunk],
    admitted: Admitted,
    config: AssemblyConfig,
    reach: int,
    by_offset: int,
    scope: Scope | None,
    log: Log,
) -> Generator[FetchChunks, Sequence[Chunk], Fetched]:
    """What is near `chunks`, in one round trip, or in as many as following links takes.

    `by_offset` chunks on each side are asked for where only offsets tell the place; none if the store can't tell.
    """
    chunks, known = _known(chunks, admitted)
    fetched = Fetched()
    if scope is not None:
        scope.add_hits(chunks)
    asked: set[Place] = set()
    told: set[Place] = set()
    without_index = [chunk for chunk in chunks if chunk.index is None]
    pages = config.keys.page
    while True:
        wanted = index_refs(chunks, reach, known.values())
        if wanted and not asked:
            wanted += own_places(chunks)
        if without_index:
            absent = {chunk_id for _, _, chunk_id, _ in told if chunk_id} - known.keys()
            wanted += link_refs(without_index, known, config.window, beside=by_offset, pages=pages, missing=absent)
        refs = _storable([ref for ref in wanted if _place(ref) not in asked], fetched)
        if not refs:
            return fetched
        asked.update(map(_place, refs))
        answer = yield from _answer(refs, config, log)
        told.update(map(_place, answer.refs))
        found = _asked_for(adopted(answer.found, refs), asked, log)
        fetched.empty.extend(chunk for chunk in answer.empty if scope is None or scope.admits(chunk))
        _keep(found, known, fetched, scope)
        seen = (*found, *answer.empty)
        for chunk in seen:
            fetched.answered.setdefault(chunk.document_id, set()).add(chunk.id)
        if without_index:
            given = {chunk.lookup_id for chunk in seen}
            fetched.whole.update(each for each in given if (each, None, None, None) in told)
            offsets = {(ref.document_id, ref.beside.start, ref.beside.part) for ref in answer.refs if ref.beside}
            beside = (each for each in known.values() if (each.lookup_id, each.start, part_of(each)) in offsets)
            fetched.beside.update(each.id for each in beside)
        if answer.failed:
            fetched.incomplete = True
            if not seen:
                unable = (failure(each) for each in answer.failed if isinstance(each, NotImplementedError))
                fetched.unanswerable = next(unable, None)
                return fetched


def _known(chunks: Sequence[Chunk], admitted: Admitted) -> tuple[Sequence[Chunk], dict[str, Chunk]]:
    """`chunks`, and all that was retrieved by id: it is never fetched again, copies and empty chunks included.

    Those that name no document are of one where they are linked to each other: by its own one each would be asked for.
    """
    retrieved = [hit.chunk for hit in (*admitted.candidates, *admitted.empty)]
    if homes := one_document(retrieved, ()):
        retrieved, chunks = [at_home(each, homes) for each in retrieved], [at_home(each, homes) for each in chunks]
    return chunks, by_id(retrieved)


def _answer(
    refs: Sequence[ChunkRef], config: AssemblyConfig, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], _Answer]:
    """What the store has of `refs`.

    References of several kinds are asked for together, and each kind on its own where that fails: a store that can't
    search for a document has chunks by their ids all the same. One that can't be reached isn't asked again.
    """
    answer = _Answer([], [], [], [])
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
                answer.failed.append(error)
        else:
            log.notes += notes
            answer.found.extend(usable)
            answer.empty.extend(blank)
            answer.refs.extend(part)
    came = answer.found or answer.empty
    stand = "what else was asked for came" if came else "the hits stand without them"
    log.notes += dict.fromkeys(f"store: no neighbours ({failure(each)}), {stand}" for each in answer.failed)
    return answer


def _by_kind(refs: Iterable[ChunkRef]) -> dict[tuple[bool, ...], list[ChunkRef]]:
    """Those that name a place, a chunk, an offset to stand beside, and those that name a document alone."""
    kinds: dict[tuple[bool, ...], list[ChunkRef]] = defaultdict(list)
    for ref in refs:
        kinds[ref.index is None, ref.chunk_id is None, ref.beside is None].append(ref)
    return kinds


def _keep(answer: Iterable[Chunk], known: dict[str, Chunk], fetched: Fetched, scope: Scope | None) -> None:
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


def _storable(refs: Sequence[ChunkRef], fetched: Fetched) -> tuple[ChunkRef, ...]:
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
