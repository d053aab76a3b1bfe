"""The published bookend system: each rule as it is described, through every door."""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, numbered
from ctxassembly import Chunk, Hit
from ctxassembly.errors import ConfigError
from ctxassembly.published import Bookend, ContextBudget
from doors import Door

TEXTS = {name: f"{name} is said here." for name in "ABCDE"}


def hit(name: str, score: float | None = None, text: str = "") -> Hit:
    metadata = {"source": f"{name}.pdf", "page": 3}
    return Hit(Chunk(name, f"doc-{name}", text or TEXTS[name], 0, metadata=metadata), score)


FIVE = [hit(name, 0.9 - n / 10) for n, name in enumerate("ABCDE")]


def read(context: Any) -> str:
    return "".join(name for passage in context.passages for name in passage.chunk_ids)


@pytest.mark.parametrize(
    ("rule", "hits", "order"),
    [
        ("three or fewer: descending", FIVE[2::-1], "ABC"),
        ("else best first, second-best last", FIVE[::-1], "ACDEB"),
    ],
)
def test_order(door: Door, rule: str, hits: list[Hit], order: str):
    assert read(door(Bookend(), hits)) == order


def test_each_chunk_is_below_its_label_and_source(door: Door):
    context = door(Bookend(), FIVE[:2])
    assert context.text == "[1] Source: A.pdf\n{A}\n\n---\n\n[2] Source: B.pdf\n{B}".format_map(TEXTS)
    assert [(citation.label, citation.chunk_ids) for citation in context.citations] == [("1", ("A",)), ("2", ("B",))]
    assert context.citations[0].page == 3
    assert door(Bookend(citation_format=False), FIVE[:2]).text == "{A}\n\n{B}".format_map(TEXTS)


def test_of_exact_copies_the_higher_score_stays(door: Door):
    context = door(Bookend(), [hit("A", 0.2, "Said."), hit("B", 0.9, " Said.\n"), hit("C", 0.5)])
    assert read(context) == "BC"
    assert [one.outcome for one in context.trace.decisions] == ["duplicate", "kept", "kept"]


NUMBERS = {"Room 1392 has 24 beds.": [1.0, 0.1], "Room 1392 has 58 beds.": [1.0, 0.12], "Else.": [0.0, 1.0]}


@pytest.mark.parametrize(("threshold", "kept"), [(0.92, "AC"), (1.0, "ABC")])
def test_copies_by_cosine_alone(door: Door, threshold: float, kept: str):
    """Though they differ in a number."""
    hits = [hit(name, 0.9 - n / 10, text) for n, (name, text) in enumerate(zip("ABC", NUMBERS, strict=True))]
    context = door(
        Bookend(semantic_threshold=threshold), hits, embeddings=lambda texts: [NUMBERS[one] for one in texts]
    )
    assert read(context) == kept


def test_without_vectors_only_exact_copies_go_and_the_trace_says_so(door: Door):
    context = door(Bookend(), FIVE)
    assert "embeddings: 5 of 5 chunks without a vector aren't compared by meaning" in context.trace.notes


@pytest.mark.parametrize(("floor", "kept"), [(0.0, "ABC"), (0.55, "AC"), (-1.0, "ABDC")])
def test_the_floor(door: Door, floor: float, kept: str):
    hits = [hit("A", 0.9), hit("B", 0.5), hit("C"), hit("D", -0.2)]
    context = door(Bookend(relevance_floor=floor), hits)
    assert sorted(read(context)) == sorted(kept)
    assert {one.reason for one in context.trace.excluded} <= {"below the relevance floor"}


def test_longer_chunks_are_compressed(door: Door):
    said = f"{numbered('x', 30)}. The zebra sleeps. {numbered('y', 30)}."
    context = door(Bookend(max_chunk_tokens=20, citation_format=False), [hit("A", 0.9, said)], query="the zebra")
    assert context.text == "The zebra sleeps."
    assert [one.outcome for one in context.trace.decisions] == ["compressed"]
    assert door(Bookend(max_chunk_tokens=20, compress="none"), [hit("A", 0.9, said)]).text.endswith(said)


def test_a_model_compresses_where_it_is_asked_to(door: Door):
    said = f"{numbered('x', 30)}. The zebra sleeps. {numbered('y', 30)}."
    system = Bookend(max_chunk_tokens=20, compress="llm", citation_format=False)
    context = door(system, [hit("A", 0.9, said)], query="the zebra", llm=lambda prompt: "The zebra sleeps.")
    assert context.text == "The zebra sleeps."
    assert context.trace.decisions[0].reason == "llm"
    with pytest.raises(ConfigError, match="llm"):
        door(system, [hit("A", 0.9, said)], query="the zebra")


def test_a_chunk_that_does_not_fit_is_dropped_and_smaller_ones_are_tried(door: Door):
    hits = [hit("A", 0.9), hit("B", 0.8, numbered("b", 40)), hit("C", 0.7)]
    limit = count(TEXTS["A"]) + count(TEXTS["C"])
    for budget in (limit, ContextBudget(retrieved_docs_tokens=limit)):
        context = door(Bookend(budget), hits)
        assert read(context) == "AC"
        assert [one.chunk_id for one in context.trace.excluded] == ["B"]
        assert context.trace.excluded_tokens == count(numbered("b", 40))
        assert context.token_count > limit
    exact = door(Bookend(limit, exact=True), hits)
    assert exact.token_count == count(exact.text) <= limit


def test_the_zones():
    zones = ContextBudget()
    assert (zones.retrieved_docs_tokens, zones.total) == (32_000, 50_000)
    assert Bookend(7).budget == ContextBudget(retrieved_docs_tokens=7)
