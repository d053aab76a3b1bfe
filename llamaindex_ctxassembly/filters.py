"""The caller's filter on neighbours, for stores that can't be asked to apply it."""

from __future__ import annotations

from collections.abc import Iterable

from llama_index.core.vector_stores.types import FilterCondition, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from ctxassembly.types import Chunk


def allowed(filters: MetadataFilters, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Those of `chunks` that `filters` allow."""
    return [chunk for chunk in chunks if allows(filters, chunk)]


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
