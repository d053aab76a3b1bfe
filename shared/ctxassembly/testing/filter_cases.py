"""Filters, each with the chunks of a sample that pass it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ROWS: Mapping[str, Mapping[str, Any]] = {
    "a": {"tenant": "ours", "year": 2020, "ok": True, "tags": ["x", "y"], "at": {"page": 3}},
    "b": {"tenant": "theirs", "year": 2021, "ok": False, "tags": ["y"], "at": {"page": "3"}},
    "c": {"tenant": "O'Brien", "year": 1, "ok": 1, "at.page": 3},
    "d": {"tenant": "Éa", "year": "2020", "score": 1.5},
    "e": {},
    "f": {"tenant": None, "year": 2020.0, "tags": "x"},
}
"""Ids, and their metadata."""
EVERYONE = "abcdef"

FILTER_CASES: Sequence[tuple[Any, str]] = (
    (None, EVERYONE),
    ({}, EVERYONE),
    ({"tenant": "ours"}, "a"),
    ({"tenant": {"$eq": "O'Brien"}}, "c"),
    ({"tenant": "x' OR '1'='1"}, ""),
    ({"tenant": {"$ne": "ours"}}, "bcd"),  # a row without the key passes none
    ({"tenant": {"$in": ["ours", "Éa"]}}, "ad"),
    ({"tenant": {"$in": []}}, ""),
    ({"tenant": {"$nin": ["ours", "Éa"]}}, "bc"),
    ({"tenant": {"$nin": []}}, "abcd"),
    ({"tenant": {"$exists": True}}, "abcd"),
    ({"tenant": {"$exists": False}}, "ef"),
    ({"unknown": {"$exists": False}}, EVERYONE),
    ({"unknown": "x"}, ""),
    ({"unknown": {"$ne": "x"}}, ""),
    ({"year": 2020}, "af"),  # 2020.0 is 2020, "2020" isn't
    ({"year": "2020"}, "d"),
    ({"year": {"$gt": 2020}}, "b"),
    ({"year": {"$gte": 2020}}, "abf"),
    ({"year": {"$lt": 2020}}, "c"),
    ({"year": {"$lte": 2020}}, "acf"),
    ({"year": {"$gt": 2019, "$lt": 2021}}, "af"),
    ({"year": {"$gt": "1"}}, "d"),  # text with text alone
    ({"tenant": {"$gt": "ours"}}, "bd"),  # by code points
    ({"score": {"$gte": 1.5}}, "d"),
    ({"year": {"$in": [1, 2021]}}, "bc"),
    ({"ok": True}, "a"),  # True is not 1
    ({"ok": 1}, "c"),
    ({"ok": {"$in": [True, 1]}}, "ac"),
    ({"ok": False}, "b"),
    ({"tags": {"$eq": ["x", "y"]}}, "a"),
    ({"tags": "x"}, "f"),
    ({"tags": "y"}, ""),  # a list isn't its element
    ({"tags": {"$in": ["x", "y"]}}, "f"),
    ({"at.page": 3}, "ac"),
    ({"at.page": {"$exists": True}}, "abc"),
    ({"tenant": "ours", "year": 2020}, "a"),
    ({"tenant": "ours", "year": 2021}, ""),
    ({"$and": [{"tenant": "ours"}, {"year": 2020}]}, "a"),
    ({"$or": [{"tenant": "ours"}, {"year": 1}]}, "ac"),
    ({"$or": [{"$and": [{"tenant": "ours"}, {"year": 2021}]}, {"$and": [{"year": 1}, {"ok": 1}]}]}, "c"),
    ({"$and": [{"$or": [{"tenant": "ours"}, {"tenant": "theirs"}]}, {"year": {"$gt": 2020}}]}, "b"),
    ({"$not": {"tenant": "ours"}}, "bcd"),  # here neither
    ({"$not": {"$or": [{"tenant": "ours"}, {"unknown": "x"}]}}, ""),
    ({"$not": {"$not": {"tenant": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$nin": ["ours"]}}}, "a"),
    ({"$not": {"tenant": {"$in": []}}}, "abcd"),
    ({"$not": {"tenant": {"$in": ["ours"]}}}, "bcd"),
    ({"$not": {"tenant": {"$ne": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$like": "o%"}}}, "bcd"),
    ({"$not": {"tenant": {"$gt": "ours"}}}, "ac"),
    ({"$not": {"year": {"$between": [2020, 2021]}}}, "cd"),
    ({"$not": {"at.page": 3}}, "b"),
    ({"$not": {"tenant": {"$exists": True}}}, "ef"),
    ({"$not": [{"tenant": "ours"}, {"year": 1}]}, "bd"),
    ({"year": {"$between": [2020, 2021]}}, "abf"),
    ({"tenant": {"$like": "o%"}}, "a"),
    ({"tenant": {"$ilike": "o%"}}, "ac"),
    ({"tenant": {"$like": "%"}, "year": {"$like": "%"}}, "d"),
    ({"chunk_index": {"$lt": 2}}, "ab"),  # columns are read as well
    ({"document_id": "doc"}, EVERYONE),
    ({"document_id": {"$in": ["doc", "x"]}, "tenant": "ours"}, "a"),
    ({"chunk_index": {"$in": [2, 3]}}, "cd"),
    ({"chunk_index": {"$nin": [2, 3]}}, "abef"),
    ({"chunk_index": True}, ""),
)
"""Filters, and the ids of the rows that pass each."""

UNREADABLE: Sequence[Any] = (
    {"$and": []},
    {"$or": [{}]},
    {"$nor": [{"tenant": "ours"}]},
    {7: "x"},
    {"tenant": {"$regex": "x"}},
    {"tenant": None},
)
"""Filters that no index can read: each is an error, since without it all chunks would be found."""
