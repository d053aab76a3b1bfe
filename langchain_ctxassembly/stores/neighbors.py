"""The store of neighbors that goes with a vector store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from langchain_ctxassembly.stores.identity import is_postgres
from langchain_ctxassembly.stores.vectorstore import VectorStoreNeighbors, can_get_by_ids


def make_neighbor_store(vectorstore: Any, keys: MetadataKeys) -> Any:
    """Return a store of neighbors made from `vectorstore`.

    PGVectorStore and PGVector give a `PGVectorNeighbors`. Chroma, Qdrant and all with `get_by_ids` give a
    `VectorStoreNeighbors`, which finds neighbors in Chroma and Qdrant by document and index in their metadata,
    elsewhere if the chunks were stored under `{document_id}#{index}`. The rest give one that has none, and says so.
    """
    if is_postgres(vectorstore):
        from langchain_ctxassembly.stores.postgres import PGVectorNeighbors

        return PGVectorNeighbors(vectorstore, keys=keys)
    return VectorStoreNeighbors(vectorstore, keys=keys) if can_get_by_ids(vectorstore) else NoNeighbors(vectorstore)


@dataclass(frozen=True)
class NoNeighbors:
    """The neighbors of a vector store that can't be queried for any; the trace says so."""

    vectorstore: Any
    holds_filter: bool = True
    """It has no neighbors, so none comes past a filter."""

    @property
    def remedies(self) -> Mapping[Problem, str]:
        """The line to write if neighbors can't be found."""
        return {"method": "say where they come from, ContextAssemblyRetriever.from_vectorstore(vectorstore, store=...)"}

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Raise, since there is nothing to query.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self.vectorstore).__name__} has no get_by_ids")

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        return self.fetch(refs)
