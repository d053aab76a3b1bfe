"""For tests of your own: a store and an index in memory, and the cases that every store of neighbors must pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.memory import MemoryIndex, MemoryStore

__all__ = ["MemoryIndex", "MemoryStore", "StoreCase", "store_cases"]


@dataclass(frozen=True, slots=True)
class StoreCase:
    """One request to a store, and the chunks that it must answer with.

    >>> case = StoreCase((ChunkRef("gastro", 1),), (Chunk("gastro#1", "gastro", "Rest.", 1),))
    >>> case.check([Chunk("gastro#1", "gastro", "Rest.", 1)])
    """

    refs: tuple[ChunkRef, ...]
    expected: tuple[Chunk, ...]
    can_be_empty: bool = False
    """True if the store may leave such references unanswered: those by id, or to whole documents."""

    def check(self, found: Sequence[Chunk]) -> None:
        """Compare an answer by id, document, index, text and metadata. Order doesn't count, nor what comes twice.

        Raises:
            AssertionError: the answer is another one. It names the references and both sets of chunks.
        """
        if not isinstance(found, Sequence) or not all(isinstance(chunk, Chunk) for chunk in found):
            raise AssertionError(f"{self.refs} must give a list of chunks, gave {safe_repr(found)}")
        got, wanted = sorted({*map(_comparable, found)}), sorted({*map(_comparable, self.expected)})
        if got != wanted and (found or not self.can_be_empty):
            raise AssertionError(f"{self.refs} must give {wanted}, gave {got}")


def store_cases(chunks: Iterable[Chunk]) -> Iterator[StoreCase]:
    """Yield cases for a store of exactly these `chunks`, each with an index and an id of its own.

    They ask by index, for several documents in one call, by id and for whole documents; for chunks that don't exist;
    twice for the same chunk; and for nothing. An async store is given the same cases: `case.check(await
    store.afetch(case.refs))`. Filters, offsets and titles are not asked for.

    >>> from ctxassembly import MemoryStore
    >>> chunks = [Chunk(f"{name}#{at}", name, f"Part {at} of {name}.", at) for name in "ab" for at in range(3)]
    >>> store = MemoryStore(chunks)
    >>> for case in store_cases(chunks):
    ...     case.check(store.fetch(case.refs))
    """
    all_chunks = tuple(chunks)
    documents: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in all_chunks:
        documents[chunk.lookup_id].append(chunk)
    yield StoreCase((), ())
    yield StoreCase(tuple(ChunkRef(chunk.lookup_id, chunk.index) for chunk in all_chunks), all_chunks)
    yield StoreCase((ChunkRef("no such document", 0),), ())
    yield StoreCase((ChunkRef("no such document", chunk_id="no such chunk"),), ())
    yield StoreCase((ChunkRef("no such document"),), ())
    for document_id, members in documents.items():
        first = min(members, key=lambda chunk: chunk.index or 0)
        existing = ChunkRef(document_id, first.index)
        missing = ChunkRef(document_id, 1 + max(chunk.index or 0 for chunk in members))
        yield StoreCase((existing, missing, existing), (first,))
        yield StoreCase((ChunkRef(document_id, chunk_id=first.id),), (first,), can_be_empty=True)
        yield StoreCase((ChunkRef(document_id),), (*members,), can_be_empty=True)


def _comparable(chunk: Chunk) -> tuple[str, ...]:
    """Return the fields that a store must return as they were stored; types count: 1 is not "1"."""
    metadata = sorted(chunk.metadata.items(), key=lambda entry: str(entry[0]))
    return tuple(map(repr, (chunk.id, chunk.lookup_id, chunk.index, chunk.text, metadata)))
