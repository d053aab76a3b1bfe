"""The store of neighbours of a postprocessor, and the same store held to a filter."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters

from ctxassembly.answering.cache_key import Hidden, token_of
from ctxassembly.config.hints import check_store
from ctxassembly.data.metadata_keys import MetadataKeys, keyed
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore
from llamaindex_ctxassembly.stores.docstore import DocstoreNeighbours
from llamaindex_ctxassembly.stores.filters import allowed, conditions
from llamaindex_ctxassembly.stores.vectorstore import VectorStoreNeighbours


def neighbours_of(
    docstore: BaseDocumentStore | None, vector_store: BasePydanticVectorStore | None, store: Any, keys: MetadataKeys
) -> Any:
    """The store over whichever of the three is given, without a filter; None if none is.

    Raises:
        ConfigError: more than one of them is given, or one that can't be asked for neighbours.
    """
    three = {"docstore": docstore, "vector_store": vector_store, "store": store}
    given = [name for name, one in three.items() if one is not None]
    if len(given) > 1:
        raise ConfigError("store, docstore and vector_store", "one of the three at most", " and ".join(given))
    if docstore is not None:
        return DocstoreNeighbours(docstore, keys=keys)
    if vector_store is not None:
        if not _is(vector_store, "llama_index.vector_stores.postgres.base", "PGVectorStore"):
            return VectorStoreNeighbours(vector_store, keys=keys)
        from llamaindex_ctxassembly.stores.postgres import PGVectorNeighbours

        return PGVectorNeighbours(vector_store, keys=keys)
    check_store(store)
    return keyed(store, keys)


def place_of(kept_in: Any) -> Any:
    """The name of a vector store or a docstore, for the key of a kept answer.

    A table has a name in every process, any other place a token of the object. One of the caller's own class may filter
    by itself: it is hidden.
    """
    if not type(kept_in).__module__.startswith("llama_index."):
        return Hidden(type(kept_in).__name__, kept_in)
    if not _is(kept_in, "llama_index.vector_stores.postgres.base", "PGVectorStore"):
        return token_of(kept_in)
    from sqlalchemy import make_url

    url = make_url(kept_in.connection_string).render_as_string(hide_password=True)
    return [url, kept_in.schema_name, kept_in.table_name]


def under(filters: MetadataFilters | None, store: Any) -> Any:
    """`store` held to `filters`, on top of a filter of its own; unchanged if they have no condition.

    PGVectorNeighbours applies them in its query. To the chunks of other stores they are applied after the fetch.

    Raises:
        ConfigError: the filters can't be translated.
    """
    kept = conditions(filters)
    if kept is None or store is None:
        return store
    if not _is(store, "llamaindex_ctxassembly.stores.postgres", "PGVectorNeighbours"):
        return FilteredStore(store, partial(allowed, kept))
    return replace(store, filter=kept if store.filter is None else MetadataFilters(filters=[store.filter, kept]))


def _is(given: object, module: str, name: str) -> bool:
    """True if `given` is of the class with that name, whose package needn't be installed."""
    return (module, name) in {(kind.__module__, kind.__name__) for kind in type(given).__mro__}
