"""The store of neighbours that goes with a vector store, under the filter of its search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxassembly.errors import ConfigError
from ctxassembly.keys import MetadataKeys
from langchain_ctxassembly.detect import is_postgres
from langchain_ctxassembly.filtered import filtered
from langchain_ctxassembly.vectorstore import VectorStoreNeighbours, can_get_by_ids

NO_FILTER = frozenset({"k", "fetch_k", "lambda_mult", "score_threshold", "hybrid_search_config"})
"""Arguments of a search that exclude no document by what it is."""


def neighbours_of(vectorstore: Any, store: Any, search_kwargs: Mapping[str, Any], keys: MetadataKeys) -> Any:
    """`store`, or where it is None one made from `vectorstore`, held to the search's `filter`.

    PGVectorStore and PGVector give a `PGVectorNeighbours`. Others with `get_by_ids` give a `VectorStoreNeighbours`,
    which finds neighbours if the chunks were stored under `{document_id}#{index}`. The rest give None: no neighbours.

    Raises:
        ConfigError: an argument of the search might filter, and a store made from `vectorstore` could not know how;
            or the filter has a form that can't be evaluated.
    """
    if store is None:
        if is_postgres(vectorstore):
            from langchain_ctxassembly.postgres import PGVectorNeighbours

            store = PGVectorNeighbours(vectorstore, keys=keys)
        elif can_get_by_ids(vectorstore):
            store = VectorStoreNeighbours(vectorstore, keys=keys)
        if store is not None and (unknown := sorted(search_kwargs.keys() - NO_FILTER - {"filter"})):
            known = ", ".join(sorted(NO_FILTER | {"filter"}))
            raise ConfigError("search_kwargs", f"out of {known} unless store= is given, since it may filter", unknown)
    return filtered(store, search_kwargs.get("filter"))
