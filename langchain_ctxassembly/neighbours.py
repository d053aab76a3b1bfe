"""The store of neighbours that goes with a vector store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxassembly.errors import ConfigError
from ctxassembly.keys import MetadataKeys
from langchain_ctxassembly.detect import is_postgres
from langchain_ctxassembly.vectorstore import VectorStoreNeighbours, can_get_by_ids

KNOWN = frozenset({"filter", "k", "fetch_k", "lambda_mult", "score_threshold", "hybrid_search_config"})
"""Arguments of a search of which only the filter excludes documents by what they are."""


def neighbours_of(vectorstore: Any, search_kwargs: Mapping[str, Any], keys: MetadataKeys) -> Any:
    """A store of neighbours made from `vectorstore`, for a search with `search_kwargs`.

    PGVectorStore and PGVector give a `PGVectorNeighbours`. Others with `get_by_ids` give a `VectorStoreNeighbours`,
    which finds neighbours if the chunks were stored under `{document_id}#{index}`. The rest give None: no neighbours.

    Raises:
        ConfigError: an argument of the search might filter, and the store could not know how.
    """
    if is_postgres(vectorstore):
        from langchain_ctxassembly.postgres import PGVectorNeighbours

        store: Any = PGVectorNeighbours(vectorstore, keys=keys)
    elif can_get_by_ids(vectorstore):
        store = VectorStoreNeighbours(vectorstore, keys=keys)
    else:
        return None
    if unknown := sorted(search_kwargs.keys() - KNOWN):
        allowed = f"out of {', '.join(sorted(KNOWN))} unless store= is given, since others may filter"
        raise ConfigError("search_kwargs", allowed, unknown)
    return store
