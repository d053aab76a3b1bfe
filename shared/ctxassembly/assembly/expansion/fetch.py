"""The search for what is near the hits: in as few round trips as it takes, and only what was asked for is kept.

Chunks with an index take one round trip: the indexes around the hits are known beforehand. Links take one round trip a
step, since a chunk names only the next one; so they are followed as far as `window`, not through the wider pool. All
kinds of references go together. Where that fails each kind goes alone, so nothing is lost because another kind fails.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctxassembly.assembly.adjacency.positions import adopted, at_home, one_document, part_of
from ctxassembly.assembly.adjacency.shared_ids import by_id, name_in
from ctxassembly.assembly.expansion.access import Scope
from ctxassembly.assembly.expansion.admit import Admitted, admit_fetched
from ctxassembly.assembly.expansion.diagnostics import Lack, under_filter
from ctxassembly.assembly.expansion.references import index_refs, link_refs
from ctxassembly.assembly.expansion.store_identity import Own, is_of, own_refs
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Beside, Chunk, ChunkRef
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import failure, shown
from ctxassembly.tracing.recorder import Log
from ctxassembly.wording.unicode import is_storable


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """The properties that a store may have beside `fetch`, as `ctxassembly.Store` describes them."""

    holds_filter: bool | None = None
    finds_offsets: bool = False
    remedies: Mapping[Lack, str] | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The neighbours that one assembly may ask for and read."""

    reach: int = 0
    """Chunks on each side of a hit; 0 asks for none."""
    scope: Scope | None = None
    """Decides which chunks may be read; None if all that the store returns may be."""
    finds_offsets: bool = False
    remedies: Mapping[Lack, str] | None = None
    is_filtered: bool = False
    """True if the store holds a filter, which may exclude all that is near the hits."""

    @property
    def by_offset(self) -> int:
        """Chunks on each side to ask for where only offsets tell the position; 0 if the store doesn't find offsets."""
        # Where the filter is unknown, another tenant's chunks may stand between: ask for twice as many.
        return self.reach * (1 if self.scope is None else 2) if self.finds_offsets else 0


def surroundings(config: AssemblyConfig, query: str | None, store: StoreTraits | None) -> Surroundings:
    """The surroundings that `config` asks for and `store` can give; none without a store."""
    if store is None:
        return Surroundings()
    return Surroundings(
        config.reach(query),
        Scope(config) if config.neighbours == "auto" and store.holds_filter is None else None,
        store.finds_offsets,
        under_filter(store.remedies) if store.holds_filter else store.remedies,
        is_filtered=bool(store.holds_filter),
    )


RefKey = tuple[str, "int | None", "str | None", "Beside | None"]
"""The fields of a `ChunkRef`, which are quicker to look up."""


@dataclass(slots=True)
class Fetched:
    """All that the store returned for one assembly, and how it was asked."""

    chunks: list[Chunk] = field(default_factory=list)
    between: list[Chunk] = field(default_factory=list)
    """Those that may not be read but have a position among those that may, told by their links or offsets."""
    empty: list[Chunk] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)
    """The lookup ids of the documents that came whole."""
    beside: set[str] = field(default_factory=set)
    """The ids of the chunks whose surroundings were asked for by offset."""
    refused: set[RefKey] = field(default_factory=set)
    """References that databases refuse, each once, however many round trips it was wanted in."""
    strangers: list[Chunk] = field(default_factory=list)
    """The hits that the store doesn't hold, although it has chunks of a document with the id of theirs."""
    known_documents: set[str] = field(default_factory=set)
    """The ids of the documents of which the store holds a hit, its own ids and those that group its documents."""
    answered: dict[str, set[str]] = field(default_factory=dict)
    """The ids of all chunks that came, by document id."""
    has_others: bool = False
    """True if something else came than the hits themselves, asked for beside their neighbours."""
    incomplete: bool = False
    """True if the store failed to answer some references."""
    failure: tuple[Lack, str] | None = None
    """The error of the store: it failed, or has no way to be asked."""


class _Answer(NamedTuple):
    """The answer to one round trip: chunks with text and without, the references answered, and the errors."""

    found: list[Chunk]
    empty: list[Chunk]
    refs: list[ChunkRef]
    failed: list[Exception]


def fetch(
    hits: Sequence[Chunk], admitted: Admitted, config: AssemblyConfig, around: Surroundings, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], Fetched]:
    """Fetch what is near `hits`, in one round trip, or in as many as following links takes."""
    search = _Search(hits, admitted, config, around)
    while refs := search.next_refs():
        answer = yield from _answer(refs, config, log)
        any_came = search.enter(refs, answer, log)
        if answer.failed:
            search.fetched.failure = search.fetched.failure or _failure(answer.failed, any_came=any_came)
            if not any_came:
                break
    return search.fetched


def _failure(errors: Sequence[Exception], *, any_came: bool) -> tuple[Lack, str]:
    unable = next((error for error in errors if isinstance(error, NotImplementedError) and not any_came), None)
    return ("failed", failure(errors[0])) if unable is None else ("method", failure(unable))


class _Search:
    """The state of one search: the chunks known so far, what was asked for, and what came of it."""

    def __init__(self, hits: Sequence[Chunk], admitted: Admitted, config: AssemblyConfig, around: Surroundings) -> None:
        self.fetched = Fetched()
        self._config = config
        self._around = around
        self._hits, self._known = _known(hits, admitted)
        self._own = Own(self._hits)
        self._without_index = [hit for hit in self._hits if hit.index is None]
        self._asked: set[RefKey] = set()
        self._answered: set[RefKey] = set()
        if around.scope is not None:
            around.scope.add_hits(self._hits)

    def next_refs(self) -> tuple[ChunkRef, ...]:
        """The references of the next round trip; none if nothing is left to ask for."""
        wanted: tuple[ChunkRef, ...] = ()
        if not self._asked:  # all around an index is known beforehand
            wanted = index_refs(self._hits, self._around.reach, self._known.values())
        if self._without_index:
            absent = {chunk_id for _, _, chunk_id, _ in self._answered if chunk_id} - self._known.keys()
            wanted += link_refs(
                self._without_index,
                self._known,
                self._config.window,
                beside=self._around.by_offset,
                pages=self._config.keys.page,
                missing=absent,
            )
        if not self._asked:
            wanted += own_refs(self._hits, wanted)
        refs = _storable([ref for ref in wanted if _key(ref) not in self._asked], self.fetched)
        self._asked.update(map(_key, refs))
        return refs

    def enter(self, refs: Sequence[ChunkRef], answer: _Answer, log: Log) -> bool:
        """Keep what `answer` has of `refs`; True if it has anything."""
        fetched, scope = self.fetched, self._around.scope
        self._answered.update(map(_key, answer.refs))
        found = _asked_for(adopted(answer.found, refs), self._asked, log)
        came = (*found, *answer.empty)
        self._note_strangers(came)
        # A document of which the store holds no hit is another one, whatever its id.
        documents = fetched.known_documents
        near = [chunk for chunk in found if is_of(chunk, documents) and not self._own.is_at_hit(chunk)]
        empty = [chunk for chunk in answer.empty if is_of(chunk, documents)]
        fetched.empty.extend(chunk for chunk in empty if scope is None or scope.admits(chunk))
        _keep(near, self._known, fetched, scope)
        # A whole document, or what is around an offset, has the hits in it anyway.
        asks_widely = any(ref.index is None and ref.chunk_id is None for ref in refs)
        for chunk in came:
            fetched.answered.setdefault(chunk.document_id, set()).add(chunk.id)
            fetched.has_others = fetched.has_others or asks_widely or not self._own.is_at_hit(chunk)
        if self._without_index:
            self._note_what_is_known(came, answer.refs)
        fetched.incomplete = fetched.incomplete or bool(answer.failed)
        return bool(came)

    def _note_strangers(self, came: Iterable[Chunk]) -> None:
        """Enter the hits that the store holds, and go on without the others."""
        own, fetched = self._own, self.fetched
        own.enter(came)
        fetched.known_documents, fetched.strangers = own.known_documents(), own.strangers()
        for hit in fetched.strangers:
            if self._known.get(hit.id) is hit:  # its id may be that of a neighbour of another hit
                del self._known[hit.id]
        strangers = {*map(id, fetched.strangers)}
        self._without_index = [hit for hit in self._without_index if id(hit) not in strangers]

    def _note_what_is_known(self, came: Iterable[Chunk], refs: Iterable[ChunkRef]) -> None:
        """Note the documents and offsets of which the store told all: what it didn't return isn't there."""
        lookup_ids = {chunk.lookup_id for chunk in came}
        self.fetched.whole.update(name for name in lookup_ids if (name, None, None, None) in self._answered)
        offsets = {(ref.document_id, ref.beside.start, ref.beside.part) for ref in refs if ref.beside}
        beside = (chunk for chunk in self._known.values() if (chunk.lookup_id, chunk.start, part_of(chunk)) in offsets)
        self.fetched.beside.update(chunk.id for chunk in beside)


def _known(hits: Sequence[Chunk], admitted: Admitted) -> tuple[Sequence[Chunk], dict[str, Chunk]]:
    """`hits`, and all retrieved chunks by id: these are never fetched again, copies and empty chunks included.

    Chunks that name no document but are linked to each other come back as of one document: as documents of their own
    each would be asked for.
    """
    retrieved = [hit.chunk for hit in (*admitted.candidates, *admitted.empty)]
    if homes := one_document(retrieved, ()):
        retrieved, hits = [at_home(chunk, homes) for chunk in retrieved], [at_home(hit, homes) for hit in hits]
    return hits, by_id(retrieved)


def _answer(
    refs: Sequence[ChunkRef], config: AssemblyConfig, log: Log
) -> Generator[FetchChunks, Sequence[Chunk], _Answer]:
    """The store's answer to `refs`.

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
    log.notes += dict.fromkeys(f"store: no neighbours ({failure(error)}), {stand}" for error in answer.failed)
    return answer


def _by_kind(refs: Iterable[ChunkRef]) -> dict[tuple[bool, ...], list[ChunkRef]]:
    """References by kind: to an index, to a chunk's id, to the chunks beside an offset, to a whole document."""
    kinds: dict[tuple[bool, ...], list[ChunkRef]] = defaultdict(list)
    for ref in refs:
        kinds[ref.index is None, ref.chunk_id is None, ref.beside is None].append(ref)
    return kinds


def _keep(came: Iterable[Chunk], known: dict[str, Chunk], fetched: Fetched, scope: Scope | None) -> None:
    """Add the new chunks of those that `came` to `known`, and to `fetched` by whether they may be read."""
    between: list[Chunk] = []
    for chunk in came:
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
    """`refs` without those that databases refuse, which fail the whole request; these are entered in `fetched`."""
    names = {name for ref in refs for name in (ref.document_id, ref.chunk_id) if name}
    refused = {name for name in names if not is_storable(name)}
    if not refused:
        return tuple(refs)
    storable = tuple(ref for ref in refs if ref.document_id not in refused and ref.chunk_id not in refused)
    fetched.refused.update({*map(_key, refs)} - {*map(_key, storable)})
    return storable


def _asked_for(chunks: Sequence[Chunk], asked: Collection[RefKey], log: Log) -> list[Chunk]:
    """The chunks among `chunks` that were asked for; one note tells of all others."""
    others = [chunk for chunk in chunks if not _was_asked_for(chunk, asked)]
    if others:
        # Which chunks stand beside an offset, only the store can say: all of that document count as asked for.
        by_offset = {beside.document_id or document_id for document_id, _, _, beside in asked if beside is not None}
        others = [chunk for chunk in others if chunk.lookup_id not in by_offset and chunk.document_id not in by_offset]
    if not others:
        return list(chunks)
    first = shown(others[0].id, 80)
    many = f"{len(others):,} chunks were not asked for, left out; the first is {first}"
    log.notes.append(f"store: chunk {first} was not asked for, left out" if len(others) == 1 else f"store: {many}")
    strangers = {*map(id, others)}
    return [chunk for chunk in chunks if id(chunk) not in strangers]


def _was_asked_for(chunk: Chunk, asked: Collection[RefKey]) -> bool:
    document_id = chunk.document_id if chunk.origin is None else chunk.lookup_id
    return (
        (document_id, chunk.index, None, None) in asked
        or (document_id, None, chunk.id, None) in asked
        or (document_id, None, None, None) in asked
    )


def _key(ref: ChunkRef) -> RefKey:
    return ref.document_id, ref.index, ref.chunk_id, ref.beside
