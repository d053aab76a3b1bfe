"""Stores held to the caller's filter: no chunk that it excludes comes in as a neighbor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.concurrency import to_async
from ctxassembly.data.chunks import Chunk, ChunkRef


@dataclass(frozen=True)
class FilteredStore:
    """A store that can't apply the filter itself. Fetched chunks are filtered here.

    >>> from ctxassembly import Chunk, ChunkRef, MemoryStore
    >>> chunks = [Chunk("a#0", "a", "Public."), Chunk("a#1", "a", "Secret.", metadata={"level": 2})]
    >>> store = FilteredStore(MemoryStore(chunks), lambda found: [chunk for chunk in found if not chunk.metadata])
    >>> [chunk.text for chunk in store.fetch([ChunkRef("a")])]
    ['Public.']
    """

    store: Any
    filter_chunks: Callable[[Iterable[Chunk]], list[Chunk]]
    """A function from chunks to those that pass the filter."""
    holds_filter: bool = True

    @property
    def remedies(self) -> Any:
        """The remedies of the store."""
        return getattr(self.store, "remedies", None)

    @property
    def finds_offsets(self) -> bool:
        """True if the store finds offsets."""
        return getattr(self.store, "finds_offsets", False) is True

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter."""
        return self.filter_chunks(self.store.fetch(refs))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited; a store with `fetch` alone is called in a thread."""
        return self.filter_chunks(await _afetch(self.store, refs))


@dataclass(frozen=True)
class ScopedStore:
    """A store with the adapter's knowledge of how the caller's search filters."""

    store: Any
    holds_filter: bool | None
    """True, False or None, with the meaning that `ctxassembly.protocols.Store` gives them."""

    @property
    def remedies(self) -> Any:
        """The remedies of the store."""
        return getattr(self.store, "remedies", None)

    @property
    def finds_offsets(self) -> bool:
        """True if the store finds offsets."""
        return getattr(self.store, "finds_offsets", False) is True

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`."""
        found: Sequence[Chunk] = self.store.fetch(refs)
        return found

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The same, awaited; a store with `fetch` alone is called in a thread."""
        return await _afetch(self.store, refs)


async def _afetch(store: Any, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
    found: Sequence[Chunk] = await (store.afetch if hasattr(store, "afetch") else to_async(store.fetch))(refs)
    return found
