from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from ctxassembly import Chunk
from ctxassembly.data.filters import as_predicate
from ctxassembly.errors import ConfigError

METADATA = {
    "tenant": "ours", "level": 3, "groups": ["x"], "open": False, "day": dt.date(2024, 5, 1),
    "chunk": {"page": 7}, "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, True),
        (None, True),
        ({"tenant": "ours"}, True),
        ({"tenant": "theirs"}, False),
        ({"tenant": "ours", "level": 4}, False),
        ({"tenant": {"$eq": "ours"}}, True),
        ({"tenant": {"$ne": "theirs"}}, True),
        ({"tenant": {"$ne": "ours"}}, False),
        ({"open": False}, True),
        ({"open": 0}, False),
        ({"open": {"$in": [0, 1]}}, False),
        ({"level": {"$gt": 2, "$lt": 4}}, True),
        ({"level": {"$gt": 3}}, False),
        ({"level": {"$gte": 3, "$lte": 3}}, True),
        ({"level": {"$lt": 3}}, False),
        ({"level": {"$lt": "4"}}, False),
        ({"day": {"$gte": dt.date(2024, 1, 1)}}, True),
        ({"tenant": {"$in": ["ours", "all"]}}, True),
        ({"tenant": {"$in": []}}, False),
        ({"groups": {"$in": [["x"]]}}, True),
        ({"tenant": {"$nin": ["theirs"]}}, True),
        ({"tenant": {"$nin": ["ours"]}}, False),
        ({"chunk.page": 7}, True),
        ({"tenant": {"$exists": True}}, True),
        ({"absent": {"$exists": False}}, True),
        ({"nothing": {"$exists": True}}, False),
        ({"$and": [{"tenant": "ours"}, {"level": 3}]}, True),
        ({"$and": [{"tenant": "ours"}, {"level": 4}]}, False),
        ({"$or": [{"tenant": "theirs"}, {"level": 3}]}, True),
        ({"$or": [{"tenant": "theirs"}, {"level": 4}]}, False),
        ({"tenant": "theirs", "$or": [{"level": 3}, {"level": 4}]}, False),
        # What has no value under the key passes no comparison, the negative ones included.
        *[({"absent": {name: 1}}, False) for name in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")],
        ({"absent": {"$in": [1]}}, False),
        ({"absent": {"$nin": [1]}}, False),
        ({"nothing": {"$ne": 1}}, False),
        ({"open": {"$lt": 1}}, False),
        ({"open": {"$ne": 0}}, True),  # nor is False 0 here
        ({"level": {"$between": [3, 4]}}, True),
        ({"level": {"$between": [4, 9]}}, False),
        ({"tenant": {"$like": "o%s"}}, True),
        ({"tenant": {"$like": "%r"}}, False),
        ({"tenant": {"$like": "_urs"}}, True),
        ({"tenant": {"$like": "OURS"}}, False),
        ({"tenant": {"$ilike": "OUR_"}}, True),
        ({"tenant": {"$like": "o*"}}, False),
        ({"tenant": {"$like": r"\ours"}}, True),
        ({"tenant": {"$like": r"o\%"}}, False),
        ({"level": {"$like": "3"}}, False),
        ({"$not": {"tenant": "theirs"}}, True),
        ({"$not": {"tenant": "ours"}}, False),
        ({"$not": [{"tenant": "theirs"}, {"level": 3}]}, False),
        ({"$not": {"$not": {"tenant": "ours"}}}, True),
        # What is unknown stays so under NOT: a chunk without the key isn't somebody else's.
        ({"$not": {"absent": "x"}}, False),
        ({"$not": {"$and": [{"tenant": "ours"}, {"absent": 1}]}}, False),
        ({"$not": {"$and": [{"tenant": "theirs"}, {"absent": 1}]}}, True),
        ({"$or": [{"tenant": "ours"}, {"$not": {"absent": 1}}]}, True),
        ({"$not": {"absent": {"$exists": True}}}, True),
        (lambda each: each.metadata["level"] == 3, True),
    ],
)
def test_a_filter_as_a_test(condition: Any, expected: bool) -> None:
    assert as_predicate(condition)(Chunk("a", "A", "", metadata=METADATA)) is expected


@pytest.mark.parametrize(
    "condition",
    [
        "tenant = 'ours'", 3, ["tenant"], {3: "x"}, {"$not": {}}, {"$not": []}, {"$not": "x"}, {"$or": [{}]},
        {"tenant": {"$like": 3}}, {"tenant": {"$ilike": "o\\"}}, {"level": {"$between": [1]}}, {"level": {"$gt": True}},
        {"level": {"$between": [True, 3]}}, {"tenant": {"$regex": "o"}},
        {"tenant": {"name": "ours"}}, {"tenant": {}}, {"tenant": {"$in": "ours"}}, {"tenant": {"$in": 3}},
        {"tenant": None}, {"tenant": {"$eq": {"a": 1}}}, {"tenant": {"$exists": "yes"}}, {"$and": []},
        {"$or": {"tenant": "ours"}}, {"$and": ["tenant"]}, {"": 1},
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_evaluated_is_an_error(condition: Any) -> None:
    with pytest.raises(ConfigError, match=r"^filter"):
        as_predicate(condition)


def test_a_pattern_with_many_wildcards_takes_no_longer() -> None:
    """A regular expression would go back 30 times over the text for each of them."""
    text = "a" * 2_000
    began = time.perf_counter()
    assert not as_predicate({"text": {"$like": "%a" * 30 + "%b"}})(Chunk("a", "A", "", metadata={"text": text}))
    assert time.perf_counter() - began < 1.0


def test_the_error_names_what_is_tested() -> None:
    with pytest.raises(ConfigError, match=r"filter must be a function Document -> bool, or a mapping .*, got 3"):
        as_predicate(3, "Document")
