import datetime as dt
import json
from typing import Any

import pytest

from ctxassembly import Chunk, Hit, assemble
from ctxassembly.plain import block_metadata, plain, plain_trace

NEAR = Chunk("n", "A", "The one between.", index=1)
HITS = [
    Hit(Chunk("a", "A", "The first of them.", index=0, metadata={"page": 3}), 0.5),
    Hit(Chunk("b", "B", "Quite another.", index=7), None),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        ("x", "x"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({1: {"a": (2,)}}, {"1": {"a": [2]}}),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (Chunk("a", "A", "text").prev_id, None),
    ],
)
def test_what_comes_back_is_made_of_builtins(value: Any, expected: Any) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_a_trace_is_whole_and_its_summary_first() -> None:
    trace = assemble(HITS).trace
    found = plain_trace(trace)
    assert next(iter(found.items())) == ("summary", trace.summary)
    assert [each["chunk_id"] for each in found["decisions"]] == ["a", "b"]
    assert json.loads(json.dumps(found)) == found


def test_each_block_gets_its_own_citation_and_the_scores_of_its_hits() -> None:
    class Store:
        def fetch(self, refs: Any) -> list[Chunk]:
            return [NEAR]

    context = assemble(HITS, store=Store())
    first, second = block_metadata(context)
    assert first["citation"]["label"] == "1"
    assert first["citation"]["span"] == list(context.citations[0].span)
    assert "metadata" not in first["citation"]
    assert first["chunk_ids"] == ["a", "n"]
    assert first["scores"] == {"a": 0.5}
    assert second["scores"] == {}
    assert first["trace"] == plain_trace(context.trace)
