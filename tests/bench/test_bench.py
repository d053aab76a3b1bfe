"""The benchmark's own check: ours and the reference do the same job."""

from __future__ import annotations

import re

import pytest

import dedup
from ctxassembly import AssemblyConfig, assemble
from ctxassembly.tokens.counter import counter_for
from reference import _overlap, assemble_reference
from scenario import BUDGET, scenario
from speed.variants import OURS, Variant


def test_scenario_is_the_one_that_is_described() -> None:
    case = scenario()
    context = OURS["default"].run(case)
    assert len(case.hits) == 20
    assert len({hit.chunk.document_id for hit in case.hits}) == 6
    assert 45 <= context.trace.chunks <= 53
    assert context.trace.excluded
    assert scenario() == case
    assert scenario(seed=1) != case


@pytest.mark.parametrize("variant", OURS.values(), ids=OURS)
def test_both_stay_within_budget_by_an_independent_count(variant: Variant) -> None:
    case = scenario()
    count = counter_for("cl100k_base").count
    for context in (
        variant.run(case),
        assemble_reference(case.hits, case.store.chunks, BUDGET),
    ):
        assert BUDGET * 0.75 < context.token_count <= BUDGET  # whole documents leave the most room
        assert count(context.text) == context.token_count


def test_without_a_limit_both_write_the_same_text() -> None:
    case = scenario()
    ours = assemble(case.hits, AssemblyConfig(max_tokens=1_000_000), store=case.store)
    # Lines of the documents begin with a list of numbers, or are rows of signs; the reference guards neither. Guards
    # are of no source: without them every character is the same.
    quoted = {at for source in ours.provenance for at in range(*source.span)}
    guards = {at for at, sign in enumerate(ours.text) if sign == "\\" and at not in quoted}
    assert all(re.match(r"\\(\[\d|-{3}|\*{3}|_{3})", ours.text[at : at + 4]) for at in guards)
    unguarded = "".join(sign for at, sign in enumerate(ours.text) if at not in guards)
    assert unguarded == assemble_reference(case.hits, case.store.chunks, 1_000_000).text


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("It begins. This is shared by both of them", "This is shared by both of them, and goes on", 30),
        ("ab" * 30, "ab" * 40, 60),
        ("This is shared by both", "This is shared by both", 22),
        (
            "Text before: This is shared by both of them, This is shared",
            "This is shared by both of them, This is shared",
            46,
        ),
        ("not longer than twenty", "longer than twenty", 0),
        ("nothing of the first one", "is in the second one here", 0),
        ("", "anything that is long enough", 0),
    ],
)
def test_the_reference_finds_the_longest_overlap(first: str, second: str, shared: int) -> None:
    lengths = range(min(len(first), len(second)), 20, -1)
    assert shared == next((length for length in lengths if first.endswith(second[:length])), 0)
    assert _overlap(first, second, 20) == shared


def test_near_duplicates_are_found_faster_than_by_comparing_each_with_each() -> None:
    times = dedup.measure(200, repeats=1)
    assert times.naive / times.ours >= 5


def test_the_naive_loop_and_ours_drop_the_same() -> None:
    chunks = dedup.texts(120)
    assert dedup.ours(chunks) == dedup.naive_sets(chunks)
    assert len(dedup.ours(chunks)) < 120
