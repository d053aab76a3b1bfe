"""The caller's filter: a test of chunks, stores restricted to it, and what chunks share where it is unknown."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ctxassembly.assembly.expansion.access import MetadataAccess
from ctxassembly.concurrency import to_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.enrichment import SharedValues
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.metadata_keys import MetadataKeys


@dataclass(frozen=True)
class FilteredStore:
    """A store that can't apply the filter itself. Fetched chunks are filtered here.

    >>> from ctxassembly import Chunk, ChunkRef, MemoryStore
    >>> chunks = [Chunk("a#0", "a", "Public."), Chunk("a#1", "a", "Secret.", metadata={"level": 2})]
    >>> store = FilteredStore(MemoryStore(chunks), filter_chunks=lambda all: [one for one in all if not one.metadata])
    >>> [chunk.text for chunk in store.fetch([ChunkRef("a")])]
    ['Public.']
    """

    store: Any
    filter_chunks: Callable[[Iterable[Chunk]], list[Chunk]]
    """A function from chunks to those that pass the filter."""
    holds_filter: ClassVar[bool] = True

    @property
    def remedies(self) -> Any:
        """The remedies of the store."""
        return getattr(self.store, "remedies", None)

    @property
    def finds_offsets(self) -> bool:
        """True if the store finds offsets."""
        return getattr(self.store, "finds_offsets", False) is True

    @property
    def finds_titles(self) -> bool:
        """True if the store finds documents by their titles."""
        return getattr(self.store, "finds_titles", False) is True

    @property
    def fetch(self) -> Callable[[Sequence[ChunkRef]], list[Chunk]]:
        """The function that returns the chunks that exist among `refs` and pass the filter.

        Raises:
            AttributeError: the store can only be awaited, and so can this one.
        """
        fetch = self.store.fetch
        return lambda refs: self.filter_chunks(fetch(refs))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`; a store with `fetch` alone is called in a thread."""
        afetch = self.store.afetch if hasattr(self.store, "afetch") else to_async(self.store.fetch)
        return self.filter_chunks(await afetch(refs))


def chunk_predicate(*filters: Any) -> Callable[[Chunk], bool]:
    """Return the test that a chunk passes all `filters`, functions or mappings; None excludes nothing.

    A chunk's document id, index and offset count as metadata, under the names of a table's columns.

    >>> passes = chunk_predicate({"tenant": "a"}, {"chunk_index": {"$lt": 2}})
    >>> passes(Chunk("1", "d", "", 0, metadata={"tenant": "a"})), passes(Chunk("2", "d", "", 0))
    (True, False)

    Raises:
        ConfigError: a filter has another form.
    """
    tests = [_one_predicate(condition) for condition in filters if condition is not None]
    return lambda chunk: all(test(chunk) for test in tests)


class _FilterRow(NamedTuple):
    """A chunk as a filter reads it."""

    metadata: Mapping[str, Any]


def _one_predicate(condition: Any) -> Callable[[Chunk], bool]:
    predicate: Callable[[Any], bool] = as_predicate(condition)
    if callable(condition):
        return predicate

    def test(chunk: Chunk) -> bool:
        columns = {"document_id": chunk.document_id, "chunk_index": chunk.index, "start_index": chunk.start}
        return predicate(_FilterRow(ChainMap(columns, dict(chunk.metadata))))

    return test


def shared_values(keys: MetadataKeys, varying_keys: Sequence[str]) -> Callable[[Chunk], SharedValues]:
    """Return the function from a chunk to what its neighbors have to share with it, where the filter is unknown."""
    config = AssemblyConfig(keys=keys, varying_keys=tuple(varying_keys))
    return lambda chunk: MetadataAccess(config).shared_values(chunk)  # it would keep all chunks
