"""A filter holds in every channel and for neighbors: each operator is tried in each, of both indexes."""

from __future__ import annotations

import time
from functools import reduce
from typing import Any

import pytest
from index_cases import EVERYONE, FILTER_CASES, ROWS

from ctxassembly import Chunk, ChunkRef, ConfigError, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.retrieval import Question
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import embed, embed_query

WRONG: list[tuple[Any, str]] = [
    ({"$and": []}, "a non-empty list"),
    ({"$or": [{}]}, "filter must be a .*mapping"),
    ({"$nor": [{"a": 1}]}, "made of metadata keys"),
    ({7: "x"}, "made of metadata keys"),
]
WRONG_IN_SQL: list[tuple[Any, str]] = [
    ("tenant = 'ours'", "filter must be a .*mapping"),
    ([{"tenant": "ours"}], "filter must be a .*mapping"),
    ({"tenant": {}}, "a value or operators"),
    ({"tenant": {"$regex": "x"}}, "a value or operators out of"),
    ({"tenant": {"$in": "ours"}}, "a list of values"),
    ({"tenant": {"$exists": 1}}, "True or False"),
    ({"tenant": None}, "a value"),
    ({"tenant": {"$in": [None]}}, "a string, a number or a boolean"),
    ({"tenant": {"$gt": True}}, "a number, a string or a date"),
    ({"tenant": {"$between": [1]}}, "a list of two"),
    ({"tenant": {"$like": 3}}, "a string"),
    ({"tenant": {"$like": "a\\"}}, "doesn't end in an escape"),
    ({"tenant": float("nan")}, "a finite number"),
    ({"tenant": "a\0b"}, "without NUL"),
    ({"tenant": {"$in": ["a\0b"]}}, "without NUL"),
    ({"tenant": {"$gt": "a\0b"}}, "without NUL"),
    ({"a\0b": "x"}, "without NUL"),
]


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


@pytest.mark.parametrize(("condition", "expected"), FILTER_CASES, ids=lambda value: str(value)[:60])
def test_a_filter_holds_in_every_channel_and_for_neighbors(index: Any, condition: Any, expected: str):
    words = index.find_terms(FindTerms("ferritin measured", 32, 4))
    vector = embed_query("ferritin")
    assert names(index.search(SearchChunks(10, vector, None, condition))) == expected
    assert names(index.search(SearchChunks(10, None, words, condition))) == expected
    assert names(index.search(SearchChunks(10, vector, words, condition))) == expected
    held = index.with_filter(condition)
    assert names(held.fetch([ChunkRef("doc")])) == expected
    assert names(held.fetch([ChunkRef("doc", at) for at in range(6)])) == expected
    assert names(held.search(SearchChunks(10, vector, words, None))) == expected


def test_a_filter_holds_in_rescue_too(index: Any):
    config = RetrievalConfig(strategy="keyword", limit=10)
    for tenant, expected in (("ours", "a"), ("theirs", "")):
        question = Question("ferritin a", filter={"tenant": tenant, "year": 2020})
        assert names(retrieve(question, config, index=index).hits) == expected


def test_a_filter_of_the_index_and_one_of_the_request_hold_both(index: Any):
    held = index.with_filter({"year": {"$gte": 2020}})
    request = SearchChunks(10, embed_query("ferritin"), None, {"ok": True})
    assert names(held.search(request)) == "a"
    assert names(held.with_filter({"tenant": "theirs"}).fetch([ChunkRef("doc")])) == "b"
    assert names(held.with_filter({}).fetch([ChunkRef("doc")])) == "abf"
    assert names(index.with_filter({}).with_filter({"tenant": "theirs"}).fetch([ChunkRef("doc")])) == "b"
    assert (index.holds_filter, index.with_filter(None).holds_filter, held.holds_filter) == (None, False, True)


def check_refused(index: Any, condition: Any, message: str) -> None:
    for ask in (
        lambda: index.search(SearchChunks(10, embed_query("x"), None, condition)),
        lambda: index.with_filter(condition),
    ):
        with pytest.raises(ConfigError, match=message):
            ask()


@pytest.mark.parametrize(("condition", "message"), WRONG, ids=lambda value: repr(value)[:60])
def test_a_filter_that_cannot_be_read_is_an_error(index: Any, condition: Any, message: str):
    check_refused(index, condition, message)


@pytest.mark.parametrize(("condition", "message"), WRONG_IN_SQL, ids=lambda value: repr(value)[:60])
@pytest.mark.parametrize("index", ["postgres"], indirect=True)
def test_nor_can_one_be_that_postgresql_cannot_hold(index: Any, condition: Any, message: str):
    check_refused(index, condition, message)


def nested(levels: int) -> Any:
    condition: Any = {"tenant": "ours"}
    for level in range(levels):
        condition = {("$and", "$or")[level % 2]: [condition, {"tenant": "ours"}]}
    return condition


def around_itself() -> Any:
    condition: Any = {}
    condition["$not"] = condition
    return condition


def doubled(times: int) -> Any:
    condition: Any = {"tenant": "ours"}
    for _ in range(times):
        condition = {"$and": [condition, condition]}
    return condition


MANY = [f"tenant {at}" for at in range(99_999)]
TOO_MUCH: dict[str, tuple[Any, str]] = {
    "deep": (nested(5_000), r"levels, got \d+$"),
    "deep not": (reduce(lambda inner, _: {"$not": inner}, range(5_000), {"tenant": "ours"}), r"levels, got \d+$"),
    "deep operand": ({"tenant": reduce(lambda inner, _: [inner], range(5_000), ["ours"])}, r"levels, got 5001$"),
    "deep key": ({".".join("a" * 5_000): "ours"}, r"levels, got 5000$"),
    "around itself": (around_itself(), r"levels, got \d+$"),
    "doubled": (doubled(40), r"conditions, got \d+$"),
    "wide": ({"$or": [{"tenant": f"tenant {at}"} for at in range(3_000)]}, r"1000 conditions, got 3000$"),
    "many keys": ({f"key {at}": at for at in range(3_000)}, r"1000 conditions, got 3000$"),
    "long in": ({"tenant": {"$in": [*MANY, "ours", "one more"]}}, r"100000 values in lists, got 100001$"),
}
WITHIN: dict[str, tuple[Any, str]] = {
    "deep": (nested(48), "a"),
    "wide": ({"$or": [{"tenant": "ours"}, *({"year": {"$gt": 3_000 + at}} for at in range(999))]}, "a"),
    "long in": ({"tenant": {"$in": [*MANY, "ours"]}}, "a"),
    "long nin": ({"tenant": {"$nin": [*MANY, "ours"]}}, "bcd"),
    "long in of lists": ({"tags": {"$in": [*MANY, "x"]}}, "f"),
    "long in of a column": ({"chunk_index": {"$in": [*range(1, 100_000)]}}, "bcdef"),
    "long in of a column of text": ({"document_id": {"$in": [*MANY, "doc"]}}, EVERYONE),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_filter_beyond_the_limits_is_refused_at_once_without_being_shown(index: Any, name: str):
    condition, words = TOO_MUCH[name]
    began = time.process_time()
    with pytest.raises(ConfigError, match=words) as caught:
        index.search(SearchChunks(10, embed_query("ferritin"), None, condition))
    with pytest.raises(ConfigError, match=words):
        index.with_filter(condition).search(SearchChunks(10, embed_query("ferritin"), None))
    with pytest.raises(ConfigError, match=words):
        retrieve("ferritin", RetrievalConfig(strategy="keyword"), index=index, filter=condition)
    assert time.process_time() - began < 8  # some 2 s on a machine at rest
    assert caught.value.parameter == "filter"
    assert len(str(caught.value)) < 100
