"""The store of neighbours that goes with a vector store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.assembly.expansion.diagnostics import Lack
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from langchain_ctxassembly.stores.identity import is_postgres
from langchain_ctxassembly.stores.vectorstore import VectorStoreNeighbours, can_get_by_ids


def neighbours_of(vectorstore: Any, keys: MetadataKeys) -> Any:
    """A store of neighbours made from `vectorstore`.

    PGVectorStore and PGVector give a `PGVectorNeighbours`. Chroma, Qdrant and all with `get_by_ids` give a
    `VectorStoreNeighbours`, which finds neighbours in Chroma and Qdrant by document and index in their metadata,
    elsewhere if the chunks were stored under `{document_id}#{index}`. The rest give one that has none, and says so.
    """
    if is_postgres(vectorstore):
        from langchain_ctxassembly.stores.postgres import PGVectorNeighbours

        return PGVectorNeighbours(vectorstore, keys=keys)
    return VectorStoreNeighbours(vectorstore, keys=keys) if can_get_by_ids(vectorstore) else NoNeighbours(vectorstore)


@dataclass(frozen=True)
class NoNeighbours:
    """Stands for a vector store that has no way to be asked for neighbours: then the trace says so."""

    vectorstore: Any
    holds_filter: bool = True
    """It has no neighbours, so none comes past a filter."""

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """The line to write if neighbours can't be found."""
        return {"method": "say where they come from, ContextAssemblyRetriever.from_vectorstore(vectorstore, store=...)"}

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Nothing.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self.vectorstore).__name__} has no get_by_ids")

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        return self.fetch(refs)
