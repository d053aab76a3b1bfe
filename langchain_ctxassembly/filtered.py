"""A store under a filter: what the filter excludes never comes in as a neighbour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from langchain_core.documents import Document

from ctxassembly.stores.filtered import FilteredStore
from ctxassembly.types import Chunk
from langchain_ctxassembly.filters import Filter, as_predicate


def filtered(store: Any, condition: Filter | None) -> Any:
    """`store` under `condition`, on top of a filter of its own.

    A store that is a dataclass with a field `filter` applies the condition itself, in its query. For another it is
    applied to what it answers, and must have a form that `as_predicate` can evaluate.

    Raises:
        ConfigError: `condition` has a form that can't be evaluated.
    """
    if not condition or store is None:
        return store
    names = {each.name for each in fields(store)} if is_dataclass(store) else set()
    if "filter" not in names:
        return _after_the_fetch(store, condition)
    own = store.filter
    if not own:
        return replace(store, filter=condition)
    if isinstance(own, dict) and isinstance(condition, dict):
        return replace(store, filter={"$and": [own, condition]})
    return _after_the_fetch(store, condition)


def _after_the_fetch(store: Any, condition: Filter) -> FilteredStore:
    as_predicate(condition)  # a form that it can't evaluate is an error now, not at the first fetch
    return FilteredStore(store, partial(_passing, condition))


def _passing(condition: Filter, chunks: Iterable[Chunk]) -> list[Chunk]:
    passes = as_predicate(condition)
    return [
        chunk
        for chunk in chunks
        if passes(Document(id=chunk.id, page_content=chunk.text, metadata=dict(chunk.metadata)))
    ]
