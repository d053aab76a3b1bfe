"""Filters of an index in PostgreSQL and of one in memory, beyond the cases that every index passes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from index_cases import EVERYONE, ROWS

from ctxassembly import Chunk, ChunkRef, ConfigError, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.data.requests import SearchChunks
from ctxassembly.retrieval import Question
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import embed, embed_query

STORED = [
    Chunk(id_, "doc", f"Ferritin is measured, as {id_} says.", at, metadata=metadata)
    for at, (id_, metadata) in enumerate(ROWS.items())
]


@pytest.fixture(scope="module", params=["postgres", "memory"])
def index(request: pytest.FixtureRequest) -> PostgresIndex | MemoryIndex:
    if request.param == "memory":
        return MemoryIndex(STORED, embed([chunk.text for chunk in STORED]))
    index = PostgresIndex.create(request.getfixturevalue("module_database_url"), dimensions=16)
    index.add(STORED, embed=embed, progress=False)
    return index


def names(found: Any) -> str:
    return "".join(sorted(getattr(one, "chunk", one).id for one in found))


def test_a_filter_holds_in_rescue_too(index: Any):
    config = RetrievalConfig(strategy="keyword", limit=10)
    for tenant, expected in (("ours", "a"), ("theirs", "")):
        question = Question("ferritin a", filter={"tenant": tenant, "year": 2020})
        assert names(retrieve(question, config, index=index).hits) == expected


@pytest.mark.parametrize(
    "condition",
    [
        {"tenant": "a\0b"},
        {"tenant": {"$in": ["a\0b"]}},
        {"tenant": {"$gt": "a\0b"}},
        {"a\0b": "x"},
        {"n": {"$in": [None]}},
    ],
    ids=repr,
)
def test_what_postgresql_cannot_hold_is_an_error(module_database_url: str, condition: Any):
    index = PostgresIndex.create(module_database_url, "empty", dimensions=16)
    with pytest.raises(ConfigError, match=r"without NUL|a string, a number or a boolean"):
        index.with_filter(condition)


MANY = [f"tenant {at}" for at in range(99_999)]
TOO_MUCH: dict[str, tuple[Any, str]] = {
    "deep": (reduce(lambda inner, _: {"$not": inner}, range(5_000), {"tenant": "ours"}), r"levels, got \d+$"),
    "deep operand": ({"tenant": reduce(lambda inner, _: [inner], range(5_000), ["ours"])}, r"levels, got 5001$"),
    "wide": ({"$or": [{"tenant": f"tenant {at}"} for at in range(3_000)]}, r"1000 conditions, got 3000$"),
    "long in": ({"tenant": {"$in": [*MANY, "ours", "one more"]}}, r"100000 values in lists, got 100001$"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_filter_beyond_the_limits_is_refused_without_being_shown(index: Any, name: str):
    condition, words = TOO_MUCH[name]
    for ask in (
        lambda: index.search(SearchChunks(10, embed_query("ferritin"), None, condition)),
        lambda: index.with_filter(condition),
    ):
        with pytest.raises(ConfigError, match=words) as caught:
            ask()
        assert len(str(caught.value)) < 100


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"$or": [{"tenant": "ours"}, *({"year": {"$gt": 3_000 + at}} for at in range(999))]}, "a"),
        ({"tenant": {"$in": [*MANY, "ours"]}}, "a"),
        ({"tenant": {"$nin": [*MANY, "ours"]}}, "bcd"),
        ({"chunk_index": {"$in": [*range(1, 100_000)]}}, "bcdef"),
        ({"document_id": {"$in": [*MANY, "doc"]}}, EVERYONE),
    ],
    ids=["wide", "in", "nin", "integers", "texts"],
)
def test_a_filter_within_the_limits_holds(index: Any, condition: Any, expected: str):
    assert names(index.with_filter(condition).fetch([ChunkRef("doc")])) == expected
