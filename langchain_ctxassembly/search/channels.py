"""LangChain retrievers as channels of a retrieval."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStoreRetriever

from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from langchain_ctxassembly.convert.documents import read_documents
from langchain_ctxassembly.search.scored import ScoredRetriever
from langchain_ctxassembly.stores.filters import and_filters


def as_channel(channel: str, retriever: Any, keys: MetadataKeys) -> Callable[[str, int, Any], Any]:
    """Return the search of `retriever`: a function stays as it is, a retriever is asked by `invoke`.

    A vector store's retriever takes the number of chunks and the filter of the call, in addition to its own. Any
    other retriever gives as many as it was set up for, and is refused a filter: it would not apply it.

    Raises:
        ConfigError: `retriever` is neither.
    """
    if isinstance(retriever, BaseRetriever):
        return partial(_search, channel, retriever, keys)
    if not callable(retriever):
        raise ConfigError(f"channels[{channel!r}]", "a LangChain retriever or a function", retriever)
    return retriever  # type: ignore[no-any-return]


def _search(
    channel: str, retriever: BaseRetriever, keys: MetadataKeys, query: str, limit: int, condition: Any
) -> list[Hit]:
    options: dict[str, Any] = {}
    if isinstance(retriever, (VectorStoreRetriever, ScoredRetriever)):
        options["k"], own = limit, retriever.search_kwargs.get("filter")
        if is_filter(condition):
            # LangChain would put it in the place of the retriever's own.
            allowed = "without a filter of its own, where a call has another one"
            options["filter"] = combine_filters(own, condition, f"channels[{channel!r}]", allowed, and_filters, own)
    elif is_filter(condition):
        allowed = f"one whose search takes a filter, where a call has one; {type(retriever).__name__} would ignore it"
        raise ConfigError(f"channels[{channel!r}]", allowed, retriever)
    return read_documents(retriever.invoke(query, **options), keys).hits[:limit]
