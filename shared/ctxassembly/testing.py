"""Public fakes, so that users can test their chains without a database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxassembly.types import Chunk, ChunkRef


class MemoryStore:
    """A store of chunks in memory. `round_trips` counts the calls, `requests` keeps what they asked for."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._chunks = tuple(chunks)
        self.requests: list[tuple[ChunkRef, ...]] = []

    @property
    def round_trips(self) -> int:
        """How many calls there were."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, in the order in which they are stored."""
        self.requests.append(tuple(refs))
        asked = frozenset(refs)
        return [chunk for chunk in self._chunks if not asked.isdisjoint(_refs_to(chunk))]

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The same, awaited."""
        return self.fetch(refs)


def _refs_to(chunk: Chunk) -> list[ChunkRef]:
    refs = [ChunkRef(chunk.document_id), ChunkRef(chunk.document_id, chunk_id=chunk.id)]
    return refs if chunk.index is None else [*refs, ChunkRef(chunk.document_id, chunk.index)]
