from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import Chunk
from ctxassembly.data.filters import as_predicate, combine_filters
from ctxassembly.errors import ConfigError

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
