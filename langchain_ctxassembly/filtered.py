"""A store under a filter: what the filter excludes never comes in as a neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from langchain_core.documents import Document

from ctxassembly.types import Chunk, ChunkRef
from langchain_ctxassembly.filters import Filter, as_predicate


def filtered(store: Any, condition: Filter | None) -> Any:
    """`store` under `condition`, on top of a filter of its own.

    A store that is a dataclass with a field `filter` applies the condition itself, in its query. For another it is
    applied to what it answers, and must have a form that `as_predicate` can evaluate.

    Raises:
        ConfigError: `condition` has a form that can't be evaluated.
    """
    if not condition or store is None:
        return store
    names = {each.name for each in fields(store)} if is_dataclass(store) else set()
    if "filter" not in names:
        return FilteredStore(store, condition)
    own = store.filter
    if not own:
        return replace(store, filter=condition)
    if isinstance(own, dict) and isinstance(condition, dict):
        return replace(store, filter={"$and": [own, condition]})
    return FilteredStore(store, condition)


@dataclass(frozen=True)
class FilteredStore:
    """A store whose answers are filtered after the fetch."""

    store: Any
    filter: Filter

    def __post_init__(self) -> None:
        as_predicate(self.filter)

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter."""
        return self._admitted(self.store.fetch(refs))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited; a store with `fetch` alone is called in a thread."""
        if hasattr(self.store, "afetch"):
            return self._admitted(await self.store.afetch(refs))
        return await asyncio.to_thread(self.fetch, refs)

    def _admitted(self, chunks: Iterable[Chunk]) -> list[Chunk]:
        passes = as_predicate(self.filter)
        return [
            chunk
            for chunk in chunks
            if passes(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))
        ]
