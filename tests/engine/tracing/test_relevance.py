"""The worth of each chunk in the trace, where a query chose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble

QUERY = "water before gastroscopy"
TEXTS = (
    "Water may be drunk until two hours before the gastroscopy. " * 3,
    "Parking is free for visitors. " * 4,
    "Before a gastroscopy drink water only. Then nothing at all may be eaten. " * 2,
    "Come without a car, please. " * 5,
)
HITS = [Hit(Chunk(f"c{n}", f"d{n}", text), 1 - n / 10) for n, text in enumerate(TEXTS)]


def values(context: Context) -> dict[str, float | None]:
    return {decision.chunk_id: decision.value for decision in context.trace.decisions}


def asked(**options: Any) -> Context:
    return assemble(HITS, AssemblyConfig(**{"max_tokens": 70, **options}), query=QUERY)


@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk", "passage"])
def test_the_best_is_worth_1_and_what_lacks_the_words_less_than_0(granularity):
    found = values(asked(granularity=granularity))
    assert found["c0"] == 1
    assert 0 < found["c2"] < 1
    assert found["c3"] < found["c1"] < 0  # of a lower rank than the best, and without a word of the query


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (None, {"max_tokens": 70}),
        (QUERY, {"max_tokens": 70, "rank_by": "rank"}),
        (QUERY, {"max_tokens": 70, "enabled": False}),
    ],
)
def test_where_no_query_chose_nothing_is_worth_anything(query, options):
    context = assemble(HITS, AssemblyConfig(**options), query=query)
    assert set(values(context).values()) == {None}


def test_a_copy_has_no_worth_of_its_own_and_a_neighbor_has():
    chunks = [Chunk(f"e{n}", "e", text, n) for n, text in enumerate(TEXTS)]
    hits = [Hit(chunks[1], 0.9), Hit(replace(chunks[1], id="copy", document_id="f", index=None), 0.8)]
    config = AssemblyConfig(max_tokens=40, neighbors="unfiltered")
    found = values(assemble(hits, config, query=QUERY, store=MemoryStore(chunks)))
    assert found["copy"] is None
    assert found["e0"] == 1 > found["e1"]
