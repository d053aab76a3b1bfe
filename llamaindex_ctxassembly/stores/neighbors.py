"""The store of neighbors of a postprocessor, with and without a filter."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

from ctxassembly.answering.cache import HiddenFilter, object_token
from ctxassembly.config.hints import check_store
from ctxassembly.data.metadata_keys import MetadataKeys, with_keys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore
from llamaindex_ctxassembly.stores.docstore import DocstoreNeighbors
from llamaindex_ctxassembly.stores.filters import filter_chunks, normalize_filters
from llamaindex_ctxassembly.stores.vectorstore import VectorStoreNeighbors


def make_neighbor_store(
    docstore: BaseDocumentStore | None, vector_store: BasePydanticVectorStore | None, store: Any, keys: MetadataKeys
) -> Any:
    """Return the store over whichever of the three is given, without a filter; None if none is.

    Raises:
        ConfigError: more than one of them is given, or one that can't be queried for neighbors.
    """
    sources = {"docstore": docstore, "vector_store": vector_store, "store": store}
    given_names = [name for name, one in sources.items() if one is not None]
    if len(given_names) > 1:
        raise ConfigError("store, docstore and vector_store", "one of the three at most", " and ".join(given_names))
    if docstore is not None:
        return DocstoreNeighbors(docstore, keys=keys)
    if vector_store is not None:
        if not _is_instance_of(vector_store, "llama_index.vector_stores.postgres.base", "PGVectorStore"):
            return VectorStoreNeighbors(vector_store, keys=keys)
        from llamaindex_ctxassembly.stores.postgres import PGVectorNeighbors

        return PGVectorNeighbors(vector_store, keys=keys)
    check_store(store)
    return with_keys(store, keys)


def location_key(node_store: Any) -> Any:
    """Return the location of a vector store or a docstore, for the key of a cached answer.

    A table has a name in every process, any other place a token of the object. One of the caller's own class may filter
    by itself: it is hidden.
    """
    if not type(node_store).__module__.startswith("llama_index."):
        return HiddenFilter(type(node_store).__name__, node_store)
    if not _is_instance_of(node_store, "llama_index.vector_stores.postgres.base", "PGVectorStore"):
        return object_token(node_store)
    from sqlalchemy import make_url

    url = make_url(node_store.connection_string).render_as_string(hide_password=True)
    return [url, node_store.schema_name, node_store.table_name]


def restrict_store(filters: MetadataFilters | None, store: Any) -> Any:
    """Return `store` filtered by `filters`, in addition to its own filter; unchanged if they have no condition.

    PGVectorNeighbors applies them in its query. To the chunks of other stores they are applied after the fetch.

    Raises:
        ConfigError: the filters can't be translated.
    """
    normalized = normalize_filters(filters)
    if normalized is None or store is None:
        return store
    if not _is_instance_of(store, "llamaindex_ctxassembly.stores.postgres", "PGVectorNeighbors"):
        return FilteredStore(store, filter_chunks=partial(filter_chunks, normalized))
    return replace(
        store, filter=normalized if store.filter is None else MetadataFilters(filters=[store.filter, normalized])
    )


def _is_instance_of(value: object, module: str, name: str) -> bool:
    """Return True if `value` is of the class with that name, whose package needn't be installed."""
    return (module, name) in {(kind.__module__, kind.__name__) for kind in type(value).__mro__}
