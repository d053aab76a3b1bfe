"""Public fakes, so that users can test their chains without a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ctxassembly.types import Chunk, ChunkRef


class MemoryStore:
    """A store of chunks in memory. `requests` keeps what each call asked for."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.requests: list[tuple[ChunkRef, ...]] = []
        self._chunks: dict[ChunkRef, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            for ref in {
                ChunkRef(chunk.document_id),
                ChunkRef(chunk.document_id, chunk.index),
                ChunkRef(chunk.document_id, chunk_id=chunk.id),
            }:
                self._chunks[ref].append(chunk)

    @property
    def round_trips(self) -> int:
        """How many calls there were."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, each once."""
        self.requests.append(tuple(refs))
        found = (chunk for ref in refs for chunk in self._chunks.get(ref, ()))
        return list({id(chunk): chunk for chunk in found}.values())

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The same, awaited."""
        return self.fetch(refs)
