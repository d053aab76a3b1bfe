"""Filter dialects of vector stores: how each reads a filter, and how the filter is applied to its chunks.

A search and the neighbors of its hits must be filtered alike, but each vector store has a filter language of its own:
the same mapping means different things to FAISS and to Chroma. So a filter is never translated. The vector store
applies it in its own query where it has one (`select`, `find_by_index`, `find_ids_by_offset`); else the chunks that
came are tested one by one, as that vector store would test them (`predicate`). A filter that neither way can apply is a
ConfigError.

A vector store is known by the name of its class, so that none is imported that isn't in use already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from ctxassembly.data import filters
from ctxassembly.data.filters import as_predicate, check_size, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from langchain_ctxassembly.stores.identity import is_langchain_class
from langchain_ctxassembly.stores.metadata_queries import (
    IndexQuery,
    OffsetTarget,
    chroma_by_index,
    chroma_documents,
    chroma_ids_by_offset,
    qdrant_by_index,
    qdrant_documents,
    qdrant_ids_by_offset,
)

Predicate = Callable[[Document], bool]


@dataclass(frozen=True)
class FilterDialect:
    """One kind of vector store: its ways to apply a filter, and to find chunks by metadata."""

    predicate: Callable[[Any, Any], Predicate]
    """From a vector store and a filter to a test: True for a document that the vector store itself would let pass.

    Raises ConfigError if the filter has another form."""
    select: Callable[[Any, Sequence[str], Any], list[Document]] | None = None
    """From a vector store, ids and a filter or None: the documents under those ids that pass, by one query; None if the
    vector store has no such query. It is also used where `get_by_ids` isn't implemented."""
    is_native: Callable[[Any], bool] = lambda _: False
    """True for a filter in the form that `select`, `find_by_index` and `find_ids_by_offset` take."""
    find_by_index: Callable[[Any, Sequence[IndexQuery], MetadataKeys, Any], list[Document]] | None = None
    """From a vector store, places, the keys of their metadata and a filter or None: the documents at these places that
    pass; None if the vector store can't be asked by metadata."""
    find_ids_by_offset: Callable[[Any, Sequence[OffsetTarget], MetadataKeys, Any], list[Any]] | None = None
    """From the same arguments, with offsets instead of indexes: the ids of the documents next to them that pass."""


def dialect_of(vectorstore: Any) -> FilterDialect:
    """Return the kind of `vectorstore`, also if its class is derived from one that is known."""
    names = (parent.__name__ for parent in type(vectorstore).__mro__ if is_langchain_class(parent))
    return next((DIALECTS[name] for name in names if name in DIALECTS), GENERIC)


def predicate(vectorstore: Any, condition: Any) -> Predicate:
    """Return a test for documents from any store: True for those that a filter of `vectorstore` lets pass.

    Raises:
        ConfigError: `condition` is too large, or has a form that can't be evaluated. It is never ignored.
    """
    check_size(condition)
    return dialect_of(vectorstore).predicate(vectorstore, condition)


def check_filter(vectorstore: Any, condition: Any) -> None:
    """Raise a ConfigError if `get_documents` could not apply `condition`."""
    check_size(condition)
    if is_filter(condition) and not dialect_of(vectorstore).is_native(condition):
        predicate(vectorstore, condition)


def get_documents(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """Return the documents under `ids` that pass `condition`: by the vector store's own query where it has one."""
    dialect = dialect_of(vectorstore)
    if is_filter(condition) and dialect.select and dialect.is_native(condition):
        return dialect.select(vectorstore, ids, condition)
    try:
        documents = vectorstore.get_by_ids(ids)
    except NotImplementedError:
        if dialect.select is None:
            raise
        documents = dialect.select(vectorstore, ids, None)
    return _filter_documents(vectorstore, documents, condition)


async def aget_documents(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """Async version of `get_documents`. A dialect's `select` has no async form and runs in a thread."""
    dialect = dialect_of(vectorstore)
    if is_filter(condition) and dialect.select and dialect.is_native(condition):
        return await asyncio.to_thread(dialect.select, vectorstore, ids, condition)
    try:
        documents = await vectorstore.aget_by_ids(ids)
    except NotImplementedError:
        if dialect.select is None:
            raise
        documents = await asyncio.to_thread(dialect.select, vectorstore, ids, None)
    return _filter_documents(vectorstore, documents, condition)


def can_find_by_metadata(vectorstore: Any) -> bool:
    """Return True if `vectorstore` can be queried by document and index in the metadata, whatever the ids are."""
    return dialect_of(vectorstore).find_by_index is not None


def find_by_index(
    vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
) -> list[Document]:
    """Return the documents at the places that pass `condition`; none unless the vector store `can_find_by_metadata`."""
    dialect = dialect_of(vectorstore)
    if dialect.find_by_index is None:
        return []
    if not is_filter(condition):
        return dialect.find_by_index(vectorstore, queries, keys, None)
    if dialect.is_native(condition):
        return dialect.find_by_index(vectorstore, queries, keys, condition)
    return _filter_documents(vectorstore, dialect.find_by_index(vectorstore, queries, keys, None), condition)


def find_by_offset(
    vectorstore: Any, targets: Sequence[OffsetTarget], keys: MetadataKeys, condition: Any
) -> list[Document]:
    """Return the documents next to the offsets that pass `condition`; none without `can_find_by_metadata`."""
    dialect = dialect_of(vectorstore)
    if dialect.find_ids_by_offset is None:
        return []
    own = condition if is_filter(condition) and dialect.is_native(condition) else None
    ids = dialect.find_ids_by_offset(vectorstore, targets, keys, own)
    return get_documents(vectorstore, ids, condition) if ids else []


def and_filters(first: Any, second: Any) -> Any:
    """Return one filter that means both `first` and `second`; None if their form has no AND known here."""
    if _is_qdrant_filter(first) and _is_qdrant_filter(second):
        return type(first)(must=[first, second])
    return filters.and_filters(first, second)


def _filter_documents(vectorstore: Any, documents: Sequence[Document], condition: Any) -> list[Document]:
    if not is_filter(condition):
        return list(documents)
    accepts = predicate(vectorstore, condition)
    return [document for document in documents if accepts(document)]


def _generic_predicate(vectorstore: Any, condition: Any) -> Predicate:  # noqa: ARG001 - one signature for all kinds
    return as_predicate(condition, "Document")


# FAISS: a function of the metadata, or a mapping. It reads a mapping unlike any other store, so its own private reading
# is called: a FAISS without it can't be filtered here.


def _faiss_predicate(vectorstore: Any, condition: Any) -> Predicate:
    read = getattr(vectorstore, "_create_filter_func", None)
    if read is None:
        raise ConfigError("filter", "one that this FAISS can evaluate; give store= a filter of its own", condition)
    try:
        test = read(condition)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError("filter", "a function of the metadata, or a mapping as FAISS reads it", condition) from error
    return lambda document: bool(test(document.metadata))


# Chroma: a mapping, `where` in its own words.


def _chroma_select(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    return list(chroma_documents(vectorstore.get(ids=list(ids), where=condition)))


# Qdrant: a `models.Filter` over payloads, in which the metadata is under a key of its own.


def _is_qdrant_filter(condition: Any) -> bool:
    kind = type(condition)
    return kind.__name__ == "Filter" and kind.__module__.partition(".")[0] == "qdrant_client"


def _qdrant_select(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    from qdrant_client import models

    has_ids = models.HasIdCondition(has_id=list(ids))
    query_filter = models.Filter(must=[has_ids, *([condition] if condition is not None else [])])
    return list(qdrant_documents(vectorstore, query_filter))


def _qdrant_predicate(vectorstore: Any, condition: Any) -> Predicate:
    if not _is_qdrant_filter(condition):
        return as_predicate(condition, "Document")
    # What Qdrant's local mode decides by.
    from qdrant_client.local.payload_filters import check_filter

    content, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key

    def test(document: Document) -> bool:
        payload = {content: document.page_content, metadata: dict(document.metadata)}
        return bool(check_filter(condition, payload, document.metadata.get("_id", document.id or ""), {}))

    return test


GENERIC = FilterDialect(_generic_predicate)
"""A function Document -> bool, or a mapping as `as_predicate` describes it. `InMemoryVectorStore` takes the first."""
POSTGRES = FilterDialect(_generic_predicate)
"""Applied in SQL by `PGVectorNeighbors`; elsewhere by `as_predicate`, as far as it knows the operators."""
CHROMA = FilterDialect(
    _generic_predicate,
    _chroma_select,
    lambda condition: isinstance(condition, Mapping),
    chroma_by_index,
    chroma_ids_by_offset,
)
QDRANT = FilterDialect(_qdrant_predicate, _qdrant_select, _is_qdrant_filter, qdrant_by_index, qdrant_ids_by_offset)
DIALECTS: Mapping[str, FilterDialect] = {
    "AsyncPGVectorStore": POSTGRES,
    "Chroma": CHROMA,
    "FAISS": FilterDialect(_faiss_predicate),
    "PGVector": POSTGRES,
    "PGVectorStore": POSTGRES,
    "Qdrant": FilterDialect(_qdrant_predicate),
    "QdrantVectorStore": QDRANT,
}
"""By the name of the class."""
