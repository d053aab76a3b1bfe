"""What an assembly allocates, what is left of it, and that nothing grows from one to the next.

Python's own allocations, by tracemalloc: the tokenizer's are its own.
"""

from __future__ import annotations

import functools
import gc
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from ctxassembly.tokens import CACHED_PIECES, counter_for
from scenario import ENCODING, Scenario, scenario
from speed.variants import DEFAULT, OURS, QUERY, Variant

KIB = 1_024
MIB = 1_024 * KIB
NEAR = Variant(replace(DEFAULT, dedup="near"))
EXTRACTIVE = Variant(replace(DEFAULT, granularity="chunk", choose_by="rank", compress="extractive"), QUERY)
MOST = {
    "default": (OURS["default"], MIB),
    "five-stage": (OURS["five-stage"], MIB),
    "extractive": (EXTRACTIVE, MIB),
    # Here the words of all sentences of a wider pool are compared, and in the last one those of all chunks.
    "query": (OURS["query"], 1.5 * MIB),
    "near": (NEAR, 2 * MIB),
}
"""The most that an assembly of 20 hits may have allocated at any time."""


@pytest.fixture(scope="module")
def case() -> Scenario:
    return scenario()


@pytest.fixture
def traced() -> Iterator[Callable[[], int]]:
    """A function that gives the bytes that are allocated since the test began; what nothing refers to is freed."""

    def allocated() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    gc.collect()
    tracemalloc.start()
    yield allocated
    tracemalloc.stop()


@pytest.mark.parametrize("state", ["cold", "warm"])
@pytest.mark.parametrize("name", MOST)
def test_an_assembly_allocates_little_and_leaves_nothing(
    name: str, state: str, case: Scenario, traced: Callable[[], int]
) -> None:
    variant, most = MOST[name]
    for _ in range(2):
        variant.run(case)
    if state == "cold":
        counter_for(ENCODING).forget()
    before = traced()
    tracemalloc.reset_peak()
    context = variant.run(case)
    _, peak = tracemalloc.get_traced_memory()
    assert len(context.text) < peak - before <= most
    del context
    # Cold, what is left is the counts that are remembered.
    if state == "cold":
        counter_for(ENCODING).forget()
    assert traced() - before <= 32 * KIB


def test_a_context_is_what_is_kept_and_goes_with_its_last_reference(case: Scenario, traced: Callable[[], int]) -> None:
    kept = [OURS["default"].run(case) for _ in range(12)]
    with_all = traced()
    del kept[2:]
    assert with_all - traced() >= 10 * len(kept[0].text)


@pytest.mark.parametrize("name", MOST)
def test_nothing_grows_from_assembly_to_assembly(name: str, case: Scenario, traced: Callable[[], int]) -> None:
    variant, _ = MOST[name]
    for _ in range(2):
        variant.run(case)
    before = traced()
    for _ in range(6):
        variant.run(case)
    assert traced() - before <= 32 * KIB


def test_remembered_counts_stay_bounded(traced: Callable[[], int]) -> None:
    counter = counter_for(ENCODING)

    def count(numbers: range) -> int:
        for number in numbers:
            counter.count(f"Text {number:06}")
            counter.measure(f"Some text {number:06}")
        return traced()

    counter.forget()
    empty = traced()
    full = count(range(CACHED_PIECES))
    assert full - empty >= 100 * CACHED_PIECES, "they are remembered"
    assert count(range(CACHED_PIECES, 3 * CACHED_PIECES)) - full <= (full - empty) / 4
    counter.forget()
    assert traced() - empty <= (full - empty) / 10


def test_caches_without_a_bound_hold_nothing_of_what_is_assembled() -> None:
    def sizes() -> dict[str, int]:
        return {
            f"{cache.__module__}.{cache.__qualname__}": cache.cache_info().currsize
            for cache in gc.get_objects()
            if isinstance(cache, functools._lru_cache_wrapper)
            and str(cache.__module__).startswith("ctxassembly")
            and cache.cache_info().maxsize is None
        }

    def run(seed: int) -> None:
        for variant, _ in MOST.values():
            variant.run(scenario(seed=seed))

    run(1)
    before = sizes()
    assert "ctxassembly.vocabulary.load_encoding" in before
    for seed in (2, 3):
        run(seed)
    assert sizes() == before


def test_ever_new_texts_leave_nothing_but_counts(traced: Callable[[], int]) -> None:
    def run(seeds: range) -> int:
        for seed in seeds:
            for variant, _ in MOST.values():
                variant.run(scenario(4, seed=seed))
        counter_for(ENCODING).forget()
        return traced()

    before = run(range(2))
    assert run(range(2, 6)) - before <= 32 * KIB
