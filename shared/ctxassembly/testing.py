"""For tests of others: a store in memory, to try a chain without a database, and cases that any store must pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxassembly.data.chunks import Chunk, ChunkRef, PartName
from ctxassembly.shown import shown


class MemoryStore:
    """A store of chunks in memory. `requests` has the references of each call.

    >>> store = MemoryStore([Chunk("a#0", "a", "First.", 0), Chunk("a#1", "a", "Second.", 1)])
    >>> [chunk.text for chunk in store.fetch([ChunkRef("a", 1), ChunkRef("a", 2)])], store.round_trips
    (['Second.'], 1)
    """

    finds_offsets = True

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.requests: list[tuple[ChunkRef, ...]] = []
        self._chunks: dict[ChunkRef, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            for ref in {
                ChunkRef(chunk.lookup_id),
                ChunkRef(chunk.document_id),
                ChunkRef(chunk.lookup_id, chunk.index),
                ChunkRef(chunk.lookup_id, chunk_id=chunk.id),
            }:
                self._chunks[ref].append(chunk)

    @property
    def round_trips(self) -> int:
        """Number of calls."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, each once."""
        self.requests.append(tuple(refs))
        found = (chunk for ref in refs for chunk in (self._beside(ref) if ref.beside else self._chunks.get(ref, ())))
        return list({id(chunk): chunk for chunk in found}.values())

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The same as `fetch`, awaited."""
        return self.fetch(refs)

    def _beside(self, ref: ChunkRef) -> list[Chunk]:
        """The chunks around an offset, as `Beside` describes them."""
        if ref.beside is None:
            return []
        start, each_side, part, page, document_id = ref.beside
        here = (_page(part, page) or 0, start)
        placed: list[tuple[tuple[int, int], Chunk]] = []
        for chunk in self._chunks.get(ChunkRef(document_id or ref.document_id), ()):
            own = _part_of(chunk)
            number = _page(own, page)
            # Nobody has checked the chunks: `start` may be anything.
            if type(chunk.start) is int and number is not None and (page is not None or own == part):
                placed.append(((number, chunk.start), chunk))
        placed.sort(key=lambda entry: entry[0])
        before = [chunk for at, chunk in placed if at < here]
        after = [chunk for at, chunk in placed if at > here]
        return [*before[-each_side:], *after[:each_side]]


@dataclass(frozen=True, slots=True)
class StoreCase:
    """One request to a store, and the chunks that it must answer with."""

    refs: tuple[ChunkRef, ...]
    expected: tuple[Chunk, ...]
    may_be_empty: bool = False
    """True if the store may leave such references unanswered: those by id, or to whole documents."""

    def check(self, found: Sequence[Chunk]) -> None:
        """Compare an answer by id, document, index, text and metadata. Order doesn't count, nor what comes twice.

        Raises:
            AssertionError: the answer is another one. It names the references and both sets of chunks.
        """
        if not isinstance(found, Sequence) or not all(isinstance(chunk, Chunk) for chunk in found):
            raise AssertionError(f"{self.refs} must give a list of chunks, gave {shown(found)}")
        got, wanted = sorted({*map(_compared, found)}), sorted({*map(_compared, self.expected)})
        if got != wanted and (found or not self.may_be_empty):
            raise AssertionError(f"{self.refs} must give {wanted}, gave {got}")


def store_cases(chunks: Iterable[Chunk]) -> Iterator[StoreCase]:
    """Cases for a store that holds exactly `chunks`, each with an index and an id of its own.

    They ask by index, for several documents in one call, by id and for whole documents; for chunks that don't exist;
    twice for the same chunk; and for nothing. An async store is given the same cases: `case.check(await
    store.afetch(case.refs))`. Filters and offsets are not asked for.

    >>> chunks = [Chunk(f"{name}#{at}", name, f"Part {at} of {name}.", at) for name in "ab" for at in range(3)]
    >>> store = MemoryStore(chunks)
    >>> for case in store_cases(chunks):
    ...     case.check(store.fetch(case.refs))
    """
    held = tuple(chunks)
    documents: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in held:
        documents[chunk.lookup_id].append(chunk)
    yield StoreCase((), ())
    yield StoreCase(tuple(ChunkRef(chunk.lookup_id, chunk.index) for chunk in held), held)
    yield StoreCase((ChunkRef("no such document", 0),), ())
    yield StoreCase((ChunkRef("no such document", chunk_id="no such chunk"),), ())
    yield StoreCase((ChunkRef("no such document"),), ())
    for document_id, members in documents.items():
        first = min(members, key=lambda chunk: chunk.index or 0)
        there = ChunkRef(document_id, first.index)
        beyond = ChunkRef(document_id, 1 + max(chunk.index or 0 for chunk in members))
        yield StoreCase((there, beyond, there), (first,))
        yield StoreCase((ChunkRef(document_id, chunk_id=first.id),), (first,), may_be_empty=True)
        yield StoreCase((ChunkRef(document_id),), (*members,), may_be_empty=True)


def _compared(chunk: Chunk) -> tuple[str, ...]:
    """The fields that a store must hand back as they were stored; types count, as 1 is not "1"."""
    metadata = sorted(chunk.metadata.items(), key=lambda entry: str(entry[0]))
    return tuple(map(repr, (chunk.id, chunk.lookup_id, chunk.index, chunk.text, metadata)))


def _page(part: PartName, name: str | None) -> int | None:
    """The page number under `name`, kept as an int or a string; 0 without a name, None if it is no number."""
    if name is None:
        return 0
    number = str(dict(part).get(name))
    return int(number) if number.isdecimal() else None


def _part_of(chunk: Chunk) -> PartName:
    return chunk.origin.part if chunk.origin else ()
