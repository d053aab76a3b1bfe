"""What an assembly allocates, what is left of it, and that nothing grows from one to the next."""

from __future__ import annotations

import functools
import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import ctxassembly
from ctxassembly import Chunk, Hit, assemble
from scenario import Scenario, scenario
from speed.memory import KIB, allocated, memory_table
from speed.variants import MEASURED, OURS, forget

pytestmark = pytest.mark.bench  # by themselves: what other tests have loaded is looked through, too

MOST = 2_048 * KIB
"""What an assembly of 20 hits may have allocated at any time, besides the counts that are kept for the next."""


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> Iterator[None]:
    """Spare the collector what other tests have loaded, which may be a million objects."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


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


@pytest.mark.parametrize("name", MEASURED)
def test_an_assembly_allocates_little_and_leaves_nothing_but_counts(name: str, case: Scenario) -> None:
    cold, warm = (allocated(MEASURED[name], case, cold=cold) for cold in (True, False))
    text = len(MEASURED[name].run(case).text)
    assert text < warm.held < warm.peak <= MOST
    assert text < cold.held < cold.peak <= MOST + cold.left
    assert warm.left <= 32 * KIB


def test_the_table_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speed.memory.MEASURED", {"default": OURS["default"]})
    head, _, *rows = memory_table()
    assert head == "| KiB | peak | with the context | left of it |\n"
    assert [row.split(" | ")[0] for row in rows] == ["| default, cold", "| default, warm"]


@pytest.mark.parametrize("name", MEASURED)
def test_nothing_grows_from_assembly_to_assembly(name: str, traced: Callable[[], int]) -> None:
    case = scenario(6)
    for _ in range(2):
        MEASURED[name].run(case)
    before = traced()
    for _ in range(6):
        MEASURED[name].run(case)
    assert traced() - before <= 32 * KIB


def test_ever_new_texts_leave_nothing_but_counts(traced: Callable[[], int]) -> None:
    def run(seeds: range) -> int:
        for seed in seeds:
            for variant in MEASURED.values():
                variant.run(scenario(4, seed=seed))
        forget()
        return traced()

    before = run(range(2))
    assert run(range(2, 6)) - before <= 32 * KIB


def test_caches_without_a_bound_hold_nothing_of_what_is_assembled() -> None:
    def sizes() -> dict[str, int]:
        return {
            f"{cache.__module__}.{cache.__qualname__}": cache.cache_info().currsize
            for cache in gc.get_objects()
            if type(cache) is functools._lru_cache_wrapper  # isinstance would ask objects that answer with warnings
            and str(cache.__module__).startswith("ctxassembly")
            and cache.cache_info().maxsize is None
        }

    def run(seed: int) -> None:
        for variant in MEASURED.values():
            variant.run(scenario(4, seed=seed))

    gc.unfreeze()  # frozen objects are not found
    run(1)
    before = sizes()
    assert "ctxassembly.tokens.counter.load_encoding" in before
    for seed in (2, 3):
        run(seed)
    assert sizes() == before


def test_names_of_metadata_keys_are_remembered_up_to_a_length(traced: Callable[[], int]) -> None:
    def run(seed: int, letters: int) -> int:
        names = [f"{seed}-{number}-{'x' * letters}" for number in range(5)]
        assemble([Hit(Chunk(name, "a", "Text.", metadata={name: "1"})) for name in names])
        return traced()

    before = run(0, 500_000)
    assert run(1, 500_000) - before <= 32 * KIB


def test_each_cache_stands_in_the_table_with_its_bound() -> None:
    source = Path(ctxassembly.__file__).parent
    makes = re.compile(r"^ *@(lru_)?cache\b|\blru_cache\(|\bMemory\(MAX_BYTES\)", re.MULTILINE)
    named = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    files = [file for file in source.rglob("*.py") if makes.search(file.read_text(encoding="utf-8"))]
    modules = {".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for file in files}
    beside = {"assembly.dedup.semantic", "assembly.select.select"}  # these end with their call
    assert "tokens.counter" in modules
    assert {module for module in modules - beside if f"`{module}`" not in named} == set()
