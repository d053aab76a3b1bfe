"""LlamaIndex retrievers as channels of a retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from ctxassembly.answering.cache import HiddenFilter
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.convert.nodes import read_nodes
from llamaindex_ctxassembly.stores.filters import and_filters
from llamaindex_ctxassembly.stores.neighbors import location_key, make_neighbor_store

_SEARCH_METHODS = frozenset({"retrieve", "aretrieve", "_retrieve", "_aretrieve", "_build_vector_store_query"})
"""The methods of a vector index' retriever by which it searches."""
_OTHER_FORM = "without filters of its own, where a call has some of another form"


def as_channel(channel: str, retriever: Any, keys: MetadataKeys) -> Callable[[str, int, Any], Any]:
    """Return the search of `retriever`: a function stays as it is, a retriever is asked by `retrieve`.

    A vector index' retriever takes the number of chunks and the filters of the call. Any other retriever gives as many
    as it was set up for, and is refused filters: it would not apply them.

    Raises:
        ConfigError: `retriever` is neither.
    """
    if isinstance(retriever, BaseRetriever):
        return partial(_search, channel, retriever, keys)
    if not callable(retriever):
        raise ConfigError(f"channels[{channel!r}]", "a LlamaIndex retriever or a function", retriever)
    return retriever  # type: ignore[no-any-return]


def _search(
    channel: str, retriever: BaseRetriever, keys: MetadataKeys, query: str, limit: int, filters: Any
) -> list[Hit]:
    own = configure_retriever(f"channels[{channel!r}]", retriever, limit, filters)
    return read_nodes(own.retrieve(query), keys).hits[:limit]


@dataclass(frozen=True)
class VisibleSearch:
    """The search of a vector index' retriever, by what it excludes."""

    retriever: VectorIndexRetriever
    filters: Any
    """The retriever's own filters and the filters of the call."""

    @property
    def is_exhaustive(self) -> bool:
        """True if nothing but the filters is known to exclude nodes."""
        kind = type(self.retriever._vector_store)  # noqa: SLF001
        return not any(self.arguments.values()) and kind.__module__.partition(".")[0] == "llama_index"

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The other restrictions of the search. An index passes its retriever the ids of all its nodes."""
        own: Any = self.retriever
        nodes = getattr(own._index.index_struct, "nodes_dict", {})  # noqa: SLF001 - there is no public way in
        has_all = len(own._node_ids or ()) == len(nodes) and set(own._node_ids or ()) == set(nodes.values())  # noqa: SLF001
        return {"node_ids": None if has_all else own._node_ids, "doc_ids": own._doc_ids, "kwargs": own._kwargs}  # noqa: SLF001

    def node_store(self, keys: MetadataKeys) -> Any:
        """Return the nodes that it searches, as a store of chunks."""
        index, vector_store = self.retriever._index, self.retriever._vector_store  # noqa: SLF001
        keeps_text = isinstance(vector_store, BasePydanticVectorStore) and vector_store.stores_text
        docstore = None if keeps_text else index.docstore
        return make_neighbor_store(docstore, vector_store if keeps_text else None, None, keys)


def current_search(retriever: BaseRetriever, filters: Any = None) -> VisibleSearch | None:
    """Return the search of `retriever` with its own filters and the `filters` of a call; None if it can't be seen.

    Only the search of a vector index' retriever can be seen: any other retriever may filter by itself.
    """
    if not isinstance(retriever, VectorIndexRetriever):
        return None
    derived = takewhile(lambda kind: kind is not VectorIndexRetriever, type(retriever).__mro__)
    if any(not _SEARCH_METHODS.isdisjoint(vars(kind)) for kind in derived):
        return None
    own_filters = retriever._filters  # noqa: SLF001
    return VisibleSearch(
        retriever, combine_filters(own_filters, filters, "retriever", _OTHER_FORM, and_filters, own_filters)
    )


def search_key(retriever: BaseRetriever, filters: Any = None) -> Any:
    """Return the same search for the key of a cached answer."""
    search = current_search(retriever, filters)
    if search is None:
        return HiddenFilter(type(retriever).__name__, retriever)
    location, held = location_key(search.retriever._vector_store), search.retriever._index.index_struct  # noqa: SLF001
    # One that keeps its own list of nodes may share its store with others.
    index = held.index_id if getattr(held, "nodes_dict", None) else None
    return {"place": location, "index": index, "filters": search.filters, "arguments": search.arguments}


def configure_retriever(parameter: str, retriever: BaseRetriever, limit: int | None, filters: Any) -> BaseRetriever:
    """Return `retriever` for one call: with `limit` chunks, if it has a limit, and `filters` in addition to its own.

    Raises:
        ConfigError: the retriever takes no filters, or its own have another form; the error names `parameter`.
    """
    # A copy: another call may use the retriever at the same time.
    configured: Any = copy(retriever)
    if limit is not None and hasattr(configured, "_similarity_top_k"):
        configured._similarity_top_k = limit  # noqa: SLF001
    if is_filter(filters):
        if not hasattr(configured, "_filters"):
            allowed = (
                f"one whose search takes filters, where a call has some; {type(configured).__name__} would ignore them"
            )
            raise ConfigError(parameter, allowed, retriever)
        own_filters = configured._filters  # noqa: SLF001
        configured._filters = combine_filters(own_filters, filters, parameter, _OTHER_FORM, and_filters, own_filters)  # noqa: SLF001
    return configured  # type: ignore[no-any-return]
