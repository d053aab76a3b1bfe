"""Many threads, and many tasks of one loop, get what they would get one after the other."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from ctxassembly import Context, aassemble
from scenario import scenario
from speed.variants import MEASURED, forget

CASES = [scenario(12, seed=seed) for seed in range(4)]
BUDGET = 3_000
TWICE = [(variant, case) for case in CASES for variant in MEASURED.values() for _ in range(2)]
"""Each input twice, at about the same time."""


@pytest.fixture
def alone() -> list[Context]:
    """The contexts one after the other; then what was remembered of them is forgotten."""
    found = [variant.run(case, BUDGET) for variant, case in TWICE]
    assert len({context.text for context in found}) >= len(TWICE) / 4
    forget()
    return found


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(before / 1_000)
    yield
    sys.setswitchinterval(before)


def test_inputs_differ_and_are_under_pressure(alone: list[Context]) -> None:
    assert all(context.trace.excluded for context in alone)
    assert any("compressed" in {decision.outcome for decision in context.trace.decisions} for context in alone)


@pytest.mark.usefixtures("restless")
def test_threads_get_the_same_as_one_after_the_other(alone: list[Context]) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda each: each[0].run(each[1], BUDGET), TWICE))
    assert found == alone


async def test_tasks_get_the_same_as_one_after_the_other(alone: list[Context]) -> None:
    found = await asyncio.gather(
        *(
            aassemble(
                case.hits,
                replace(variant.config, max_tokens=BUDGET),
                query=case.query if variant.asks else None,
                store=case.store,
            )
            for variant, case in TWICE
        )
    )
    assert found == alone
