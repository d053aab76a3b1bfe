"""Stores with filters: no chunk that a filter excludes is added as a neighbor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from langchain_core.documents import Document

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore, ScopedStore
from langchain_ctxassembly.search.caller_filter import VisibleSearch
from langchain_ctxassembly.stores.filters import Predicate, and_filters, kind_of, predicate
from langchain_ctxassembly.stores.identity import has_same_documents


def restrict_store(store: Any, condition: Any, search: VisibleSearch | None) -> Any:
    """Return `store` with its own filter, `condition` and the filter of `search`, all three.

    Without a `search` the caller's filter is unknown, and only `condition` applies. A search without a
    filter says nothing about a store over other documents: the search may be in the collection of one tenant, and the
    store hold everybody's.

    Raises:
        ConfigError: a filter has a form that can't be applied. The filter of `search` is ignored if the store has its
            own filter, which then replaces it.
    """
    original, store = store, apply_filter(store, condition, getattr(store, "vectorstore", None))
    if (
        store is None
        or search is None
        or (search.has_no_filter and not has_same_documents(original, search.vectorstore))
    ):
        return store
    has_own_filter = getattr(store, "holds_filter", None) is True
    try:
        restricted = apply_filter(store, search.filter, search.vectorstore)
    except ConfigError:
        if has_own_filter:
            return store
        raise
    if has_own_filter:
        return restricted
    return ScopedStore(restricted, holds_filter=is_filter(search.filter) if search.is_exhaustive else None)


def apply_filter(store: Any, condition: Any, vectorstore: Any = None) -> Any:
    """Return `store` filtered by `condition`, in the form of `vectorstore`, in addition to its own filter.

    A dataclass with a field `filter`, over a vector store of the same kind, applies the condition in its own query. To
    the chunks of any other store it is applied after the fetch, as the vector store would.

    Raises:
        ConfigError: `condition` has a form that can't be applied.
    """
    if store is None or not is_filter(condition):
        return store
    if not _can_apply_filter(store, vectorstore):
        return _filter_after_fetch(store, predicate(vectorstore, condition))
    if not is_filter(store.filter):
        return replace(store, filter=condition)
    combined = and_filters(store.filter, condition)
    if combined is not None:
        return replace(store, filter=combined)
    return _filter_after_fetch(store, predicate(vectorstore, condition))


def _can_apply_filter(store: Any, vectorstore: Any) -> bool:
    names = {field.name for field in fields(store)} if is_dataclass(store) else set()
    if "filter" not in names:
        return False
    return "vectorstore" not in names or vectorstore is None or kind_of(store.vectorstore) is kind_of(vectorstore)


def _filter_after_fetch(store: Any, accepts: Predicate) -> FilteredStore:
    return FilteredStore(store, filter_chunks=partial(_filter_chunks, accepts))


def _filter_chunks(accepts: Predicate, chunks: Iterable[Chunk]) -> list[Chunk]:
    return [
        chunk
        for chunk in chunks
        if accepts(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))
    ]
