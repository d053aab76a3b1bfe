"""The store of neighbours that goes with a vector store."""

from __future__ import annotations

from typing import Any

from ctxassembly.keys import MetadataKeys
from langchain_ctxassembly.detect import is_postgres
from langchain_ctxassembly.vectorstore import VectorStoreNeighbours, can_get_by_ids


def neighbours_of(vectorstore: Any, keys: MetadataKeys) -> Any:
    """A store of neighbours made from `vectorstore`.

    PGVectorStore and PGVector give a `PGVectorNeighbours`. Others with `get_by_ids` give a `VectorStoreNeighbours`,
    which finds neighbours in Chroma and Qdrant by document and index in their metadata, elsewhere if the chunks were
    stored under `{document_id}#{index}`. The rest give None: no neighbours.
    """
    if is_postgres(vectorstore):
        from langchain_ctxassembly.postgres import PGVectorNeighbours

        return PGVectorNeighbours(vectorstore, keys=keys)
    return VectorStoreNeighbours(vectorstore, keys=keys) if can_get_by_ids(vectorstore) else None
