"""The search for what is near the hits: in as few round trips as it takes, and only what was asked for is kept.

Chunks with an index take one round trip: the indexes around the hits are known beforehand. Links take one round trip a
step, since a chunk names only the next one; so they are followed as far as `window`, not through the wider pool. All
kinds of references go together. Where that fails each kind goes alone, so nothing is lost because another kind fails.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from ctxassembly.assembly.adjacency.linked import adopt_documents, assign_document, merge_linked
from ctxassembly.assembly.adjacency.positions import chunk_section
from ctxassembly.assembly.expansion.access import MetadataAccess
from ctxassembly.assembly.expansion.admit import AdmittedHits, admit_chunks
from ctxassembly.assembly.expansion.mentions import find_mentioned, mention_refs
from ctxassembly.assembly.expansion.references import index_refs, link_refs
from ctxassembly.assembly.expansion.stored import StoredHits
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import StoreError
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tracing import TraceRecorder
from ctxassembly.wording.unicode import is_storable


class StoreTraits(NamedTuple):
    """The properties that a store may have, as `ctxassembly.protocols.Store` describes them."""

    holds_filter: bool | None = None
    finds_offsets: bool = False
    remedies: Mapping[Any, str] | None = None
    finds_titles: bool = False


class FetchPolicy(NamedTuple):
    """The neighbors that one assembly may ask for and read."""

    window: int = 0
    """Chunks on each side of a hit; 0 asks for none."""
    store: StoreTraits = StoreTraits()
    access: MetadataAccess | None = None
    """Decides which chunks may be read; None if all that the store returns may be."""
    offset_window: int = 0
    """Chunks to request on each side if only offsets give the position; 0 if the store doesn't find offsets."""
    finds_titles: bool = False
    """True if documents may be asked for that the best hits mention by title."""


def fetch_policy(config: AssemblyConfig, query: str | None, store: StoreTraits | None) -> FetchPolicy:
    """Return the surroundings that `config` asks for and `store` can give; none without a store."""
    if store is None:
        return FetchPolicy()
    access = MetadataAccess(config) if config.neighbors == "auto" and store.holds_filter is None else None
    window = config.fetch_window(query)
    # If the filter is unknown, another tenant's chunks may be in between: request twice as many.
    offset_window = window * (1 if access is None else 2) if store.finds_offsets else 0
    # Metadata can't tell whether another document than the hit's may be read.
    finds_titles = store.finds_titles and access is None and config.has_competing_candidates(query)
    return FetchPolicy(window, store, access, offset_window, finds_titles)


@dataclass(slots=True)
class Fetched:
    """All that the store returned for one assembly, and how it was asked."""

    chunks: list[Chunk] = field(default_factory=list)
    hidden_between: list[Chunk] = field(default_factory=list)
    """Chunks that may not be read, but whose links or offsets place them between chunks that may."""
    empty: list[Chunk] = field(default_factory=list)
    mentioned: list[tuple[int, Chunk]] = field(default_factory=list)
    """The first chunks of documents that the best hits mention by title, each with the place of the hit."""
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
    returned_ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The ids of all chunks that came, by document id."""
    has_others: bool = False
    """True if the store returned chunks other than the hits, which are requested along with their neighbors."""
    errors: list[Exception] = field(default_factory=list)
    """The errors of the store."""


def fetch_neighbors(
    hits: Sequence[Chunk], admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], Fetched]:
    """Fetch what is near `hits`, in one round trip, or in as many as following links takes."""
    search = _Search(hits, admitted, config, policy)
    while refs := search.next_refs():
        chunks, answered, errors = yield from _ask_store(refs, config, log)
        search.fetched.errors += errors
        if not search.record(refs, chunks, answered, log) and errors:
            break
    return search.fetched


class _Search:
    """The state of one search: the chunks known so far, what was asked for, and what came of it."""

    def __init__(
        self, hits: Sequence[Chunk], admitted: AdmittedHits, config: AssemblyConfig, policy: FetchPolicy
    ) -> None:
        # What was retrieved is never fetched again, copies and empty chunks included.
        retrieved = [hit.chunk for hit in (*admitted.candidates, *admitted.empty)]
        # Linked chunks without a document, as documents of their own, would each be asked for.
        if document_map := merge_linked(retrieved, ()):
            retrieved = [assign_document(chunk, document_map) for chunk in retrieved]
            hits = [assign_document(hit, document_map) for hit in hits]
        self.fetched = Fetched()
        self._hits, self._config, self._policy = hits, config, policy
        self._known: dict[tuple[str, str], Chunk] = {}
        for chunk in retrieved:
            self._known.setdefault((chunk.document_id, chunk.id), chunk)
        self._stored = StoredHits(hits)
        self._without_index = [hit for hit in hits if hit.index is None]
        self._requested: set[ChunkRef] = set()
        if policy.access is not None:
            policy.access.add_hits(hits)

    def next_refs(self) -> tuple[ChunkRef, ...]:
        """Return the references of the next round trip; none if nothing is left to ask for."""
        config, policy, is_first = self._config, self._policy, not self._requested
        wanted = list[ChunkRef]()
        mentions: tuple[ChunkRef, ...] = ()
        if is_first:  # all around an index is known beforehand
            wanted += index_refs(self._hits, policy.window, (*self._hits, *self._known.values()))
            wanted += [ref for ref in _beginnings(self._hits) if ref not in wanted]
        if self._without_index:
            offsets = policy.offset_window, config.keys.page
            wanted += link_refs(self._without_index, self._known, config.window, *offsets)
        # Titles are asked for once, together with the hits: whether the store holds these is known from its answer.
        if is_first and wanted:
            wanted += self._stored.refs(wanted)
            if policy.finds_titles:
                mentions = mention_refs(self._hits, config.keys)
        # One name that databases refuse would fail the request.
        names = {name for ref in wanted for name in (ref.document_id, ref.chunk_id) if name}
        refused = {name for name in names if not is_storable(name)}
        if refused:
            self.fetched.refused_refs.update(ref for ref in wanted if not refused.isdisjoint(ref[:3:2]))
        refs = [ref for ref in wanted if ref not in self._requested and ref not in self.fetched.refused_refs]
        self._requested.update(refs)
        return (*refs, *mentions) if refs else ()

    def record(
        self, refs: Sequence[ChunkRef], chunks: Sequence[Chunk], answered: Sequence[ChunkRef], log: TraceRecorder
    ) -> bool:
        """Keep the ones of `chunks` that `refs`, of which these were `answered`, ask for; True if there are any."""
        fetched, keys = self.fetched, self._config.keys
        returned, others = self._split(adopt_documents(chunks, refs))
        names = [chunk.document_id if chunk.origin is None else chunk.lookup_id for chunk in returned]
        is_stored_hit = self._stored.record(returned, names)
        fetched.known_documents = self._stored.known_documents()
        self._go_on_without(self._stored.unstored_hits())
        if refs[-1].named_in is not None:
            fetched.mentioned, others = find_mentioned(others, self._hits, fetched.known_documents, keys)
        if others:
            first = safe_repr(others[0].id, 80)
            many = f"{len(others):,} chunks were not asked for, left out; the first is {first}"
            log.notes.append(f"store: {many}" if others[1:] else f"store: chunk {first} was not asked for, left out")
        # A document of which the store holds no hit is another one, whatever its id.
        known = fetched.known_documents
        placed = zip(returned, names, is_stored_hit, strict=True)
        self._keep([(chunk, is_hit) for chunk, name, is_hit in placed if chunk.document_id in known or name in known])
        for chunk in returned:
            fetched.returned_ids[chunk.document_id].add(chunk.id)
        # A whole document, or what is around an offset, has the hits in it anyway.
        wide = [ref for ref in answered if {ref.index, ref.chunk_id, ref.named_in} == {None}]
        fetched.has_others = fetched.has_others or bool(returned and wide) or not all(is_stored_hit)
        self._record_complete(wide, {*names})
        return bool(returned)

    def _keep(self, chunks: Iterable[tuple[Chunk, bool]]) -> None:
        """Keep the ones of `chunks` that may be read; each comes with whether a hit that the store holds is there."""
        fetched, known, access = self.fetched, self._known, self._policy.access
        between = list[Chunk]()
        for chunk, is_hit in chunks:
            key, is_empty = (chunk.document_id, chunk.id), not chunk.text or chunk.text.isspace()
            if not is_empty and (is_hit or key in known):
                continue
            if access is not None and not access.allows(chunk):
                between += [chunk] if chunk.index is None and not is_empty else []
            elif is_empty:
                fetched.empty.append(chunk)
            else:
                known[key] = chunk
                fetched.chunks.append(chunk)
        # Another tenant's chunk may have the id of one that may be read: it comes after.
        for chunk in between:
            if known.setdefault((chunk.document_id, chunk.id), chunk) is chunk:
                fetched.hidden_between.append(chunk)

    def _split(self, chunks: Iterable[Chunk]) -> tuple[list[Chunk], list[Chunk]]:
        """Return the ones of `chunks` that were asked for, and all others."""
        found, others, requested = list[Chunk](), list[Chunk](), self._requested
        # Only the store knows which chunks are next to an offset: all chunks of that document count as requested.
        offsets = [ref for ref in requested if ref.around_offset] if self._without_index else []
        by_offset = {ref.around_offset.document_id or ref.document_id for ref in offsets if ref.around_offset}
        for chunk in chunks:
            name = chunk.document_id if chunk.origin is None else chunk.lookup_id
            is_requested = (  # plain tuples equal references of the same fields
                (name, chunk.index, None, None, None) in requested
                or (name, None, chunk.id, None, None) in requested
                or (name, None, None, None, None) in requested
                or not by_offset.isdisjoint((name, chunk.document_id))
            )
            (found if is_requested else others).append(chunk)
        return found, others

    def _go_on_without(self, unstored: list[Chunk]) -> None:
        """Look for nothing more around hits that the store doesn't hold."""
        self.fetched.unstored_hits = unstored
        strangers = {*map(id, unstored)}
        for hit in unstored:
            key = hit.document_id, hit.id
            if self._known.get(key) is hit:  # another hit's neighbor may have the same id
                del self._known[key]
        self._without_index = [hit for hit in self._without_index if id(hit) not in strangers]

    def _record_complete(self, wide: Iterable[ChunkRef], returned: set[str]) -> None:
        """Record the documents and offsets that were answered in full: what didn't come doesn't exist."""
        around = {
            (ref.document_id, ref.around_offset.start, ref.around_offset.section): None
            for ref in wide
            if ref.around_offset
        }
        for chunk in self._known.values() if around else ():
            if (chunk.lookup_id, chunk.start, chunk_section(chunk)) in around:
                self.fetched.offset_answered.add(chunk.id)
        whole = (ref.document_id for ref in wide if ref.around_offset is None)
        self.fetched.complete_documents.update(name for name in whole if name in returned)


def _beginnings(hits: Sequence[Chunk]) -> Iterator[ChunkRef]:
    """Yield references to the first chunks of documents whose title, or the head of whose table, may be needed there.

    A title is if another document has a text of this one, and a head if a hit has rows.
    """
    times = Counter(hit.text.strip() for hit in hits)
    seen = {hit.lookup_id for hit in hits if hit.index == 0}
    needed = (hit.lookup_id for hit in hits if hit.index and (times[hit.text.strip()] > 1 or _has_rows(hit.text)))
    yield from (ChunkRef(name, 0) for name in dict.fromkeys(needed) if name not in seen)


def _has_rows(text: str) -> bool:
    """Return True if a text has a row with tags or bars, or two of separated values.

    A comma with a blank after it is one of prose.
    """
    if "</td" in text or "</tr" in text:
        return True
    lines = text.split("\n")
    if "|" in text and any(line.count("|") > 1 for line in lines):
        return True
    separated = ["\t" in line or ";" in line or "," in line.replace(", ", "") for line in lines[:-1]]
    return any(both == (True, True) for both in pairwise(separated))


def _ask_store(
    refs: Sequence[ChunkRef], config: AssemblyConfig, log: TraceRecorder
) -> Generator[FetchChunks, Sequence[Chunk], tuple[list[Chunk], list[ChunkRef], list[Exception]]]:
    """Return the store's answer to `refs`, the references that were answered, and the errors.

    References of several kinds are asked for together, and each kind on its own where that fails: a store that can't
    search for a document has chunks by their ids all the same. One that can't be reached isn't asked again.
    """
    chunks, answered, errors = list[Chunk](), list[ChunkRef](), list[Exception]()
    pending = [list(refs)]
    while pending:
        batch = pending.pop(0)
        log.round_trips += 1
        try:
            strict = config.on_store_error == "raise"
            admitted, notes = admit_chunks((yield FetchChunks(tuple(batch))), strict=strict)
        except Exception as error:
            if config.on_store_error == "raise":
                raise StoreError(f"neighbors could not be fetched: {describe_error(error)}") from error
            kinds = {} if isinstance(error, OSError) else _group_by_kind(batch)
            if len(kinds) > 1:
                pending = [*kinds.values()]
            else:
                errors.append(error)
        else:
            log.notes += notes
            chunks += admitted
            answered += batch
    for reason in dict.fromkeys(map(describe_error, errors)):
        consequence = "what else was asked for came" if chunks else "the hits are kept without them"
        log.notes.append(f"store: no neighbors ({reason}), {consequence}")
    return chunks, answered, errors


def _group_by_kind(refs: Iterable[ChunkRef]) -> dict[tuple[bool, ...], list[ChunkRef]]:
    """Return references by kind: to an index, to a chunk id, next to an offset, to a document, to titles."""
    kinds: dict[tuple[bool, ...], list[ChunkRef]] = defaultdict(list)
    for ref in refs:
        kinds[tuple(value is None for value in ref[1:])].append(ref)
    return kinds
