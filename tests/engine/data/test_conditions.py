"""A filter as a test, two filters as one, and the keys that are read."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from ctxassembly import Chunk, MetadataKeys
from ctxassembly.data.filters import as_predicate, combine_filters
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


CHUNKS = [
    Chunk(f"{tenant}{year}", "d", "", metadata={"tenant": tenant, "year": year}) for tenant in "xy" for year in (1, 2)
]


def names(condition: Any) -> str:
    return " ".join(chunk.id for chunk in CHUNKS if as_predicate(condition)(chunk))


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        ({"tenant": "x"}, {"year": 2}, "x2"),
        ({"tenant": "x"}, {"tenant": "y"}, ""),  # one key: the second doesn't take the place of the first
        ({"tenant": "x"}, {"$or": [{"year": 2}, {"tenant": "y"}]}, "x2"),
        (lambda chunk: chunk.metadata["tenant"] == "x", lambda chunk: chunk.metadata["year"] == 2, "x2"),
        ({"tenant": "x"}, None, "x1 x2"),
        ({"tenant": "x"}, {}, "x1 x2"),
        (None, {"tenant": "x"}, "x1 x2"),
        (None, None, "x1 x2 y1 y2"),
    ],
)  # fmt: skip
def test_both_filters_hold(own: Any, given: Any, expected: str) -> None:
    assert names(combine_filters(own, given, "filter", "another")) == expected


def test_filters_of_two_forms_are_an_error() -> None:
    with pytest.raises(ConfigError, match="filter must be a mapping, as the own one is, got 'year = 2'"):
        combine_filters({"tenant": "x"}, "year = 2", "filter", "a mapping, as the own one is")


@pytest.mark.parametrize(
    ("rule", "metadata", "particular", "value"),
    [
        ("document_id | ref_doc_id", {"ref_doc_id": "A"}, "document_id", "A"),
        ("document_id | ref_doc_id", {"ref_doc_id": "B", "document_id": "A"}, "document_id", "A"),
        ("chunk_index | index", {"index": 3}, "index", 3),
        ("source | file_name | source_path", {"source_path": "c", "file_name": "b"}, "source", "b"),
        ("page | page_number", {"page_number": 0}, "page", 0),
        ("the printed label before the number that counts from 0", {"page": 2, "page_label": "3"}, "page", "3"),
        ("rerank_score | relevance_score | score: the reranker's first", {"score": 1, "rerank_score": 2}, "score", 2),
        ("the first one present and not None wins", {"source": None, "file_name": "b"}, "source", "b"),
        ("None if no key holds one", {"other": 1}, "source", None),
    ],
)
def test_the_keys_that_are_read(rule: str, metadata: dict[str, Any], particular: str, value: Any):
    assert MetadataKeys().read(metadata, particular) == value


@pytest.mark.parametrize("value", ["", (), ("",), ["page"], None, 7, ("page", 7)])
def test_a_wrong_key_is_an_error(value: Any):
    with pytest.raises(ConfigError) as caught:
        MetadataKeys(page=value)
    assert str(caught.value).startswith("keys.page must be a key or a non-empty tuple of keys, got ")
