"""Filters that are too deep or too large are refused at once, wherever a chain reads them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from qdrant_client import models

from ctxassembly import ConfigError, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    VectorStoreNeighbors,
)
from langchain_samples import chunks, documents, memory_store, vector_store
from vector_stores import chroma, faiss

FOUND = documents("gastro", count=3, tenant="ours")
QUESTION = "When does it end?"


def of_qdrant(filters: Any) -> models.Filter:
    return models.Filter(must=filters)


def condition_of_qdrant(at: int) -> models.FieldCondition:
    return models.FieldCondition(key="tenant", match=models.MatchValue(value=str(at)))


MAPPINGS: dict[str, tuple[Any, str]] = {
    "deep": (reduce(lambda inner, _: {"$and": [inner]}, range(5_000), {"tenant": "ours"}), "50 levels, got 5001$"),
    "wide": ({"$or": [{"tenant": str(at)} for at in range(3_000)]}, "1000 conditions, got 3000$"),
    "long in": ({"tenant": {"$in": [str(at) for at in range(100_001)]}}, "100000 values in lists, got 100001$"),
}
QDRANTS: dict[str, tuple[Any, str]] = {
    "deep": (reduce(lambda inner, _: models.Filter(must=[inner]), range(200), condition_of_qdrant(1)), "levels"),
    "wide": (of_qdrant([condition_of_qdrant(at) for at in range(3_000)]), "1000 conditions, got 3000$"),
    "long in": (
        of_qdrant([models.FieldCondition(key="tenant", match=models.MatchAny(any=[str(at) for at in range(100_001)]))]),
        "100000 values in lists, got 100001$",
    ),
}


def of_index(condition: Any) -> Any:
    retriever = ContextRetriever(MemoryIndex(chunks(FOUND)), config=RetrievalConfig(strategy="keyword"))
    return retriever.invoke(QUESTION, filter=condition)


def of_search(condition: Any) -> Any:
    search = chroma(FOUND).as_retriever(search_kwargs={"filter": condition})
    return ContextAssemblyRetriever(retriever=search, assembler=ContextAssembler(store=memory_store(FOUND)))


READERS: dict[str, Callable[[Any], Any]] = {
    "neighbors of Chroma": lambda condition: VectorStoreNeighbors(chroma(FOUND), filter=condition),
    "neighbors of FAISS": lambda condition: VectorStoreNeighbors(faiss(FOUND), filter=condition),
    "neighbors of a store in memory": lambda condition: VectorStoreNeighbors(vector_store(FOUND), filter=condition),
    "an assembler": lambda condition: ContextAssembler(store=memory_store(FOUND), filter=condition),
    "a retriever over Chroma": of_search,
    "a retriever over an index": of_index,
}
CASES = [(reader, name, MAPPINGS) for reader in READERS for name in MAPPINGS]
CASES += [(reader, name, QDRANTS) for reader in ("an assembler", "neighbors of a store in memory") for name in QDRANTS]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
@pytest.mark.parametrize(("reader", "name", "filters"), CASES, ids=lambda value: value if type(value) is str else "")
def test_a_filter_beyond_the_limits_is_refused_at_once(reader: str, name: str, filters: Any) -> None:
    condition, words = filters[name]
    began = time.monotonic()
    # pydantic quotes what a component is built with in a few characters of its own.
    with pytest.raises(ConfigError, match=words.rstrip("$")) as caught:
        READERS[reader](condition)
    assert time.monotonic() - began < 3
    assert "filter must be a filter of at most" in str(caught.value)
    assert len(str(caught.value)) < 400
