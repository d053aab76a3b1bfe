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

from ctxassembly.assembly.adjacency.positions import adopt_documents, assign_document, chunk_section, merge_linked
from ctxassembly.assembly.expansion.access import MetadataAccess
from ctxassembly.assembly.expansion.admit import AdmittedHits, admit_chunks
from ctxassembly.assembly.expansion.diagnostics import Problem, describe_problem
from ctxassembly.assembly.expansion.mentions import find_mentioned, mention_refs
from ctxassembly.assembly.expansion.references import index_by_id, index_refs, link_refs, scoped_id
from ctxassembly.assembly.expansion.store_identity import StoredHits, is_in_documents
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tracing import TraceRecorder
from ctxassembly.wording.unicode import is_storable


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """The properties that a store may have, as `ctxassembly.protocols.Store` describes them."""

    holds_filter: bool | None = None
    finds_offsets: bool = False
    remedies: Mapping[Problem, str] | None = None
    finds_titles: bool = False


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """The neighbors that one assembly may ask for and read."""

    window: int = 0
    """Chunks on each side of a hit; 0 asks for none."""
    store: StoreTraits = StoreTraits()
    access: MetadataAccess | None = None
    """Decides which chunks may be read; None if all that the store returns may be."""
    finds_titles: bool = False
    """True if documents may be asked for that the best hits mention by title."""

    @property
    def offset_window(self) -> int:
        """Chunks to request on each side if only offsets give the position; 0 if the store doesn't find offsets."""
        # If the filter is unknown, another tenant's chunks may be in between: request twice as many.
        return self.window * (1 if self.access is None else 2) if self.store.finds_offsets else 0


def fetch_policy(config: AssemblyConfig, query: str | None, store: StoreTraits | None) -> FetchPolicy:
    """Return the surroundings that `config` asks for and `store` can give; none without a store."""
    if store is None:
        return FetchPolicy()
    access = MetadataAccess(config) if config.neighbors == "auto" and store.holds_filter is None else None
    # Metadata can't tell whether another document than the hit's may be read.
    finds_titles = store.finds_titles and access is None and config.has_competing_candidates(query)
    return FetchPolicy(config.fetch_window(query), store, access, finds_titles=finds_titles)


@dataclass(slots=True)
class FetchedChunks:
    """All that the store returned for one assembly, and how it was asked."""

    chunks: list[Chunk] = field(default_factory=list)
    hidden_between: list[Chunk] = field(default_factory=list)
    """Chunks that may not be read, but whose links or offsets place them between chunks that may."""
    empty: list[Chunk] = field(default_factory=list)
    complete_documents: set[str] = field(default_factory=set)
    """The lookup ids of the documents that came whole."""
    offset_answered: set[str] = field(default_factory=set)
    """The ids of the chunks whose surroundings were asked for by offset."""
    refused_refs: set[ChunkRef] = field(default_factory=set)
    """References that databases refuse, each once, however many round trips it was wanted in."""
    unstored_hits: list[Chunk] = field(default_factory=list)
    """The hits that the store doesn't hold, although it has chunks of a document with the id of theirs."""
    known_documents: set[str] = field(default_factory=set)
    """The ids of the documents of which the store holds a hit, its own ids and those that group its documents."""
    returned_ids: dict[str, set[str]] = field(default_factory=dict)
    """The ids of all chunks that came, by document id."""
    has_others: bool = False
    """True if the store returned chunks other than the hits, which are requested along with their neighbors."""
    mentioned: list[tuple[int, Chunk]] = field(default_factory=list)
    """The first chunks of documents that the best hits mention by title, each with the place of the hit."""
    is_incomplete: bool = False
    """True if the store failed to answer some references."""
    failure: str | None = None
    """The message that says that the store failed, or has no way to be asked."""


class _Reply(NamedTuple):
    """The answer to one round trip: chunks with text and without, the references answered, and the errors."""

    chunks: list[Chunk]
    empty: list[Chunk]
    refs: list[ChunkRef]
    errors: list[Exception]


def fetch_neighbors(
    hits: Sequence[Chunk], admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], FetchedChunks]:
    """Fetch what is near `hits`, in one round trip, or in as many as following links takes."""
    fetcher = _Fetcher(hits, admitted, config, policy)
    while refs := fetcher.next_refs():
        reply = yield from _ask_store(refs, config, log)
        any_came = fetcher.record(refs, reply, log)
        if reply.errors:
            fetcher.fetched.is_incomplete = True
            failure = _describe_failure(reply.errors, policy, any_came=any_came)
            fetcher.fetched.failure = fetcher.fetched.failure or failure
            if not any_came:
                break
    return fetcher.fetched


def _describe_failure(errors: Sequence[Exception], policy: FetchPolicy, *, any_came: bool) -> str:
    unable = next((error for error in errors if isinstance(error, NotImplementedError) and not any_came), None)
    if unable is None:
        return describe_problem("failed", f"The store failed ({describe_error(errors[0])})", policy.store.remedies)
    problem = f"The store can't find adjacent chunks ({describe_error(unable)})"
    return describe_problem("method", problem, policy.store.remedies)


class _Fetcher:
    """The state of one search: the chunks known so far, what was asked for, and what came of it."""

    def __init__(
        self, hits: Sequence[Chunk], admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy
    ) -> None:
        self.fetched = FetchedChunks()
        self._config = config
        self._policy = policy
        self._hits, self._known = _known_chunks(hits, admitted)
        self._stored_hits = StoredHits(self._hits)
        self._without_index = [hit for hit in self._hits if hit.index is None]
        self._requested: set[ChunkRef] = set()
        self._answered: set[ChunkRef] = set()
        if policy.access is not None:
            policy.access.add_hits(self._hits)

    def next_refs(self) -> tuple[ChunkRef, ...]:
        """Return the references of the next round trip; none if nothing is left to ask for."""
        # All around an index is known beforehand.
        wanted = () if self._requested else index_refs(self._hits, self._policy.window, self._known.values())
        if self._without_index:
            wanted += link_refs(
                self._without_index,
                self._known,
                self._config.window,
                per_side=self._policy.offset_window,
                page_keys=self._config.keys.page,
            )
        # Titles are asked for once, together with the hits: whether the store holds these is known from its answer.
        mentions: tuple[ChunkRef, ...] = ()
        if not self._requested:
            wanted += self._stored_hits.refs(wanted)
            if wanted and self._policy.finds_titles:
                mentions = mention_refs(self._hits, self._config.keys)
        refs = _drop_unstorable([ref for ref in wanted if ref not in self._requested], self.fetched)
        self._requested.update(refs)
        return (*refs, *mentions) if refs else ()

    def record(self, refs: Sequence[ChunkRef], reply: _Reply, log: TraceRecorder) -> bool:
        """Keep what `reply` has of `refs`; True if it has anything."""
        fetched, access = self.fetched, self._policy.access
        if [ref for ref in refs if ref.named_in is not None]:
            by_place, others = list[Chunk](), list[Chunk]()
            for chunk in reply.chunks:
                (by_place if _is_requested(chunk, self._requested) else others).append(chunk)
            self._update_unstored((*by_place, *reply.empty))
            fetched.mentioned, others = find_mentioned(others, self._hits, fetched.known_documents, self._config.keys)
            reply = reply._replace(chunks=[*by_place, *others], refs=[*filter(_is_by_place, reply.refs)])
            refs = [*filter(_is_by_place, refs)]
        found = _only_requested(adopt_documents(reply.chunks, refs), self._requested, log)
        returned = (*found, *reply.empty)
        are_stored_hits = self._update_unstored(returned)
        # A document of which the store holds no hit is another one, whatever its id.
        documents = fetched.known_documents
        near = [
            chunk
            for chunk, is_stored_hit in zip(found, are_stored_hits, strict=False)
            if not is_stored_hit and is_in_documents(chunk, documents)
        ]
        empty = [chunk for chunk in reply.empty if is_in_documents(chunk, documents)]
        fetched.empty += [chunk for chunk in empty if access is None or access.allows(chunk)]
        _add_new(near, self._known, fetched, access)
        # A whole document, or what is around an offset, has the hits in it anyway.
        wide_refs = [ref for ref in refs if ref.index is None and ref.chunk_id is None]
        fetched.has_others = fetched.has_others or bool(returned and wide_refs) or not all(are_stored_hits)
        for chunk in returned:
            fetched.returned_ids.setdefault(chunk.document_id, set()).add(chunk.id)
        if self._without_index:
            self._record_complete(returned, reply.refs)
        return bool(returned)

    def _update_unstored(self, returned: Sequence[Chunk]) -> list[bool]:
        """Enter the hits that the store holds, and go on without the others; see `StoredHits.record`."""
        own, fetched = self._stored_hits, self.fetched
        are_stored_hits = own.record(returned)
        fetched.known_documents, fetched.unstored_hits = own.known_documents(), own.unstored_hits()
        for hit in fetched.unstored_hits:
            if self._known.get(hit.id) is hit:  # another hit's neighbor may have the same id
                del self._known[hit.id]
        strangers = {*map(id, fetched.unstored_hits)}
        self._without_index = [hit for hit in self._without_index if id(hit) not in strangers]
        return are_stored_hits

    def _record_complete(self, returned: Iterable[Chunk], refs: Iterable[ChunkRef]) -> None:
        """Record the documents and offsets that the store answered in full: what it didn't return doesn't exist."""
        self._answered.update(refs)
        lookup_ids = {chunk.lookup_id for chunk in returned}
        self.fetched.complete_documents.update(name for name in lookup_ids if ChunkRef(name) in self._answered)
        around = ((ref.document_id, ref.around_offset) for ref in refs if ref.around_offset)
        offsets = {(document_id, offset.start, offset.section) for document_id, offset in around}
        answered = (
            chunk for chunk in self._known.values() if (chunk.lookup_id, chunk.start, chunk_section(chunk)) in offsets
        )
        self.fetched.offset_answered.update(chunk.id for chunk in answered)


def _known_chunks(hits: Sequence[Chunk], admitted: AdmittedHits) -> tuple[Sequence[Chunk], dict[str, Chunk]]:
    """Return `hits`, and all retrieved chunks by id: these are never fetched again, copies and empty chunks included.

    Chunks that name no document but are linked to each other come back as of one document: as documents of their own
    each would be asked for.
    """
    retrieved = [hit.chunk for hit in (*admitted.candidates, *admitted.empty)]
    if document_map := merge_linked(retrieved, ()):
        retrieved, hits = (
            [assign_document(chunk, document_map) for chunk in retrieved],
            [assign_document(hit, document_map) for hit in hits],
        )
    return hits, index_by_id(retrieved)


def _ask_store(
    refs: Sequence[ChunkRef], config: AssemblyConfig, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], _Reply]:
    """Return the store's answer to `refs`.

    References of several kinds are asked for together, and each kind on its own where that fails: a store that can't
    search for a document has chunks by their ids all the same. One that can't be reached isn't asked again.
    """
    reply = _Reply([], [], [], [])
    pending = [list(refs)]
    while pending:
        batch = pending.pop(0)
        log.round_trips += 1
        try:
            strict = config.on_store_error == "raise"
            usable, blank, notes = admit_chunks((yield FetchChunks(tuple(batch))), strict=strict)
        except Exception as error:
            if config.on_store_error == "raise":
                raise StoreError(f"neighbors could not be fetched: {describe_error(error)}") from error
            kinds = {} if isinstance(error, OSError) else _group_by_kind(batch)
            if len(kinds) > 1:
                pending = [*kinds.values()]
            else:
                reply.errors.append(error)
        else:
            log.notes += notes
            reply.chunks.extend(usable)
            reply.empty.extend(blank)
            reply.refs.extend(batch)
    for reason in dict.fromkeys(map(describe_error, reply.errors)):
        any_came = reply.chunks or reply.empty
        consequence = "what else was asked for came" if any_came else "the hits are kept without them"
        log.notes.append(f"store: no neighbors ({reason}), {consequence}")
    return reply


def _is_by_place(ref: ChunkRef) -> bool:
    return ref.named_in is None


def _group_by_kind(refs: Iterable[ChunkRef]) -> dict[tuple[bool, ...], list[ChunkRef]]:
    """Return references by kind: to an index, to a chunk id, next to an offset, to a document, to titles."""
    kinds: dict[tuple[bool, ...], list[ChunkRef]] = defaultdict(list)
    for ref in refs:
        kinds[ref.index is None, ref.chunk_id is None, ref.around_offset is None, _is_by_place(ref)].append(ref)
    return kinds


def _add_new(
    chunks: Iterable[Chunk], known: dict[str, Chunk], fetched: FetchedChunks, access: MetadataAccess | None
) -> None:
    """Add the new ones of `chunks` to `known`, and to `fetched` by whether they may be read."""
    between: list[Chunk] = []
    for chunk in chunks:
        name = chunk.id
        if name in known and known[name].document_id != chunk.document_id:
            name = scoped_id(name, chunk.document_id)
        if name not in known:
            if access is None or access.allows(chunk):
                known[name] = chunk
                fetched.chunks.append(chunk)
            elif chunk.index is None:
                between.append(chunk)
    # Another tenant's chunk may have the id of one that may be read: it comes after.
    fetched.hidden_between.extend(known.setdefault(chunk.id, chunk) for chunk in between if chunk.id not in known)


def _drop_unstorable(refs: Sequence[ChunkRef], fetched: FetchedChunks) -> tuple[ChunkRef, ...]:
    """Return `refs` without those that databases refuse, which would fail the request; record these in `fetched`."""
    names = {name for ref in refs for name in (ref.document_id, ref.chunk_id) if name}
    unstorable = {name for name in names if not is_storable(name)}
    if not unstorable:
        return tuple(refs)
    storable = tuple(ref for ref in refs if ref.document_id not in unstorable and ref.chunk_id not in unstorable)
    fetched.refused_refs.update({*refs} - {*storable})
    return storable


def _only_requested(chunks: Sequence[Chunk], requested: Collection[ChunkRef], log: TraceRecorder) -> list[Chunk]:
    """Return the chunks among `chunks` that were asked for; one note counts all others."""
    unrequested = [chunk for chunk in chunks if not _is_requested(chunk, requested)]
    if unrequested:
        # Only the store knows which chunks are next to an offset: all chunks of that document count as requested.
        by_offset = {ref.around_offset.document_id or ref.document_id for ref in requested if ref.around_offset}
        unrequested = [one for one in unrequested if by_offset.isdisjoint((one.lookup_id, one.document_id))]
    if not unrequested:
        return list(chunks)
    first = safe_repr(unrequested[0].id, 80)
    many = f"{len(unrequested):,} chunks were not asked for, left out; the first is {first}"
    log.notes.append(f"store: chunk {first} was not asked for, left out" if len(unrequested) == 1 else f"store: {many}")
    unrequested_ids = {*map(id, unrequested)}
    return [chunk for chunk in chunks if id(chunk) not in unrequested_ids]


def _is_requested(chunk: Chunk, requested: Collection[ChunkRef]) -> bool:
    document_id = chunk.document_id if chunk.origin is None else chunk.lookup_id
    # Plain tuples equal references of the same fields.
    return (
        (document_id, chunk.index, None, None, None) in requested
        or (document_id, None, chunk.id, None, None) in requested
        or (document_id, None, None, None, None) in requested
    )
