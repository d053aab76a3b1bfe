"""The caller's filter on neighbours, for stores that can't be asked to apply it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from ctxassembly.types import Chunk, ChunkRef


@dataclass(frozen=True)
class FilteredStore:
    """A store whose answers are filtered after the fetch."""

    store: Any
    filter: MetadataFilters

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter."""
        return self._allowed(self.store.fetch(refs))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited; a store with `fetch` alone is called in a thread."""
        if hasattr(self.store, "afetch"):
            return self._allowed(await self.store.afetch(refs))
        return self._allowed(await asyncio.to_thread(self.store.fetch, refs))

    def _allowed(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        return [chunk for chunk in chunks if allows(self.filter, chunk)]


def allows(filters: MetadataFilters, chunk: Chunk) -> bool:
    """Whether a retriever with `filters` could return `chunk`, by the rules of LlamaIndex's simple vector store.

    Nested filters, which that store refuses, work here. An empty list of filters allows every chunk.
    """
    if not filters.filters:
        return True
    # Vector stores write these three over whatever the node has: a filter on them is about its document.
    metadata = {**chunk.metadata, **dict.fromkeys(("document_id", "doc_id", "ref_doc_id"), chunk.document_id)}
    verdicts = [
        allows(each, chunk)
        if isinstance(each, MetadataFilters)
        else build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[each]))(chunk.id)
        for each in filters.filters
    ]
    if filters.condition is FilterCondition.OR:
        return any(verdicts)
    if filters.condition is FilterCondition.NOT:
        return not any(verdicts)
    return all(verdicts)
