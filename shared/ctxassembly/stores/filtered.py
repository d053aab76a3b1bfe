"""A store under a filter that it can't apply itself: what the filter excludes never comes in as a neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.types import Chunk, ChunkRef


@dataclass(frozen=True)
class FilteredStore:
    """A store whose answers are filtered after the fetch."""

    store: Any
    passing: Callable[[Iterable[Chunk]], list[Chunk]]
    """Those of the chunks that pass the filter."""

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter."""
        return self.passing(self.store.fetch(refs))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited; a store with `fetch` alone is called in a thread."""
        if hasattr(self.store, "afetch"):
            return self.passing(await self.store.afetch(refs))
        return self.passing(await asyncio.to_thread(self.store.fetch, refs))
