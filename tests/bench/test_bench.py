"""The benchmark's own check: ours and the reference do the same job."""

from __future__ import annotations

import re

import pytest

from ctxassembly import AssemblyConfig, assemble
from ctxassembly.tokens.counter import counter_for
from reference import assemble_reference
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
    count = counter_for("cl100k_base")
    for context in (
        variant.run(case),
        assemble_reference(case.hits, case.store.chunks, BUDGET),
    ):
        assert BUDGET * 0.75 < context.token_count <= BUDGET  # whole documents leave the most room
        assert count(context.text) == context.token_count


def test_without_a_limit_both_write_the_same_text() -> None:
    case = scenario()
    ours = assemble(case.hits, AssemblyConfig(max_tokens=1_000_000, cite="document"), store=case.store)
    # Lines of the documents begin with a list of numbers, or are rows of signs; the reference guards neither. Guards
    # are of no source: without them every character is the same.
    quoted = {at for source in ours.provenance for at in range(*source.span)}
    guards = {at for at, sign in enumerate(ours.text) if sign == "\\" and at not in quoted}
    assert all(re.match(r"\\(\[\d|-{3}|\*{3}|_{3})", ours.text[at : at + 4]) for at in guards)
    unguarded = "".join(sign for at, sign in enumerate(ours.text) if at not in guards)
    assert unguarded == assemble_reference(case.hits, case.store.chunks, 1_000_000).text
