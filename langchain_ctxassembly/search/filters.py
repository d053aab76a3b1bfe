"""Stores held to filters: no chunk that a filter excludes comes in as a neighbour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from langchain_core.documents import Document

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore, Scoped
from langchain_ctxassembly.search.caller_filter import Search
from langchain_ctxassembly.stores.filters import Test, both, kind_of, passes
from langchain_ctxassembly.stores.identity import reads_the_same


def held(store: Any, condition: Any, search: Search | None) -> Any:
    """`store` held to its own filter, to `condition` and to the filter of `search`, all three.

    Without a `search`, nobody knows how the caller filters: the store is held to `condition` only. A search without a
    filter says nothing about a store over other documents: the search may be in the collection of one tenant, and the
    store hold everybody's.

    Raises:
        ConfigError: a filter has a form that can't be applied. That of `search` is ignored if the store has a filter of
            its own, which then takes its place.
    """
    given, store = store, filtered(store, condition, getattr(store, "vectorstore", None))
    if store is None or search is None or (search.has_no_filter and not reads_the_same(given, search.vectorstore)):
        return store
    holds_its_own = getattr(store, "holds_filter", None) is True
    try:
        found = filtered(store, search.filter, search.vectorstore)
    except ConfigError:
        if holds_its_own:
            return store
        raise
    if holds_its_own:
        return found
    return Scoped(found, holds_filter=is_filter(search.filter) if search.is_all else None)


def filtered(store: Any, condition: Any, vectorstore: Any = None) -> Any:
    """`store` held to `condition`, in the form of `vectorstore`, on top of a filter of its own.

    A dataclass with a field `filter`, over a vector store of the same kind, applies the condition in its own query. To
    the chunks of any other store it is applied after the fetch, as the vector store would.

    Raises:
        ConfigError: `condition` has a form that can't be applied.
    """
    if store is None or not is_filter(condition):
        return store
    if not _reads_it_itself(store, vectorstore):
        return _after_the_fetch(store, passes(vectorstore, condition))
    if not is_filter(store.filter):
        return replace(store, filter=condition)
    together = both(store.filter, condition)
    if together is not None:
        return replace(store, filter=together)
    return _after_the_fetch(store, passes(vectorstore, condition))


def _reads_it_itself(store: Any, vectorstore: Any) -> bool:
    names = {field.name for field in fields(store)} if is_dataclass(store) else set()
    if "filter" not in names:
        return False
    return "vectorstore" not in names or vectorstore is None or kind_of(store.vectorstore) is kind_of(vectorstore)


def _after_the_fetch(store: Any, test: Test) -> FilteredStore:
    return FilteredStore(store, partial(_passing, test))


def _passing(test: Test, chunks: Iterable[Chunk]) -> list[Chunk]:
    return [
        chunk for chunk in chunks if test(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))
    ]
