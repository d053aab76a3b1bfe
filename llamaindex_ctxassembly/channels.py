"""LlamaIndex retrievers as channels of a retrieval: whoever outgrows one search keeps the rest."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever

from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combined, is_filter
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.convert.nodes import to_hits
from llamaindex_ctxassembly.stores.filters import both


def as_channel(channel: str, given: Any, keys: MetadataKeys) -> Callable[[str, int, Any], Any]:
    """The search of `given`: a function stays as it is, a retriever is asked by `retrieve`.

    A vector index' retriever takes the number of chunks and the filters of the call. Any other retriever gives as many
    as it was set up for, and is refused filters: it would not apply them.

    Raises:
        ConfigError: `given` is neither.
    """
    if isinstance(given, BaseRetriever):
        return partial(_searched, channel, given, keys)
    if not callable(given):
        raise ConfigError(f"channels[{channel!r}]", "a LlamaIndex retriever or a function", given)
    return given  # type: ignore[no-any-return]


def _searched(
    channel: str, retriever: BaseRetriever, keys: MetadataKeys, query: str, limit: int, filters: Any
) -> list[Hit]:
    own = set_up(f"channels[{channel!r}]", retriever, limit, filters)
    return [hit for node in own.retrieve(query) for hit in to_hits(node, keys)][:limit]


def set_up(parameter: str, retriever: BaseRetriever, limit: int | None, filters: Any) -> BaseRetriever:
    """`retriever` for one call: with that number of chunks, if it has one, and with `filters` beside its own.

    Raises:
        ConfigError: it takes no filters, or its own are of another form; the error is that of `parameter`.
    """
    # A copy: another call may use the retriever at the same time.
    own: Any = copy(retriever)
    if limit is not None and hasattr(own, "_similarity_top_k"):
        own._similarity_top_k = limit  # noqa: SLF001
    if is_filter(filters):
        if not hasattr(own, "_filters"):
            allowed = f"one whose search takes filters, where a call has some; {type(own).__name__} would ignore them"
            raise ConfigError(parameter, allowed, retriever)
        allowed = "without filters of its own, where a call has some of another form"
        kept = own._filters  # noqa: SLF001
        own._filters = combined(kept, filters, parameter, allowed, both, kept)  # noqa: SLF001
    return own  # type: ignore[no-any-return]
