"""What one assembly allocates: Python's own allocations, by tracemalloc; the tokenizer's are its own."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import NamedTuple

from scenario import Scenario, scenario
from speed.timing import table
from speed.variants import MEASURED, Variant, forget

KIB = 1_024


class Allocated(NamedTuple):
    """Bytes more than before."""

    peak: int
    """The most at any time while it ran."""
    held: int
    """While the context is there: the context, and what is remembered."""
    left: int
    """Once the context is gone."""


def allocated(variant: Variant, case: Scenario, *, cold: bool) -> Allocated:
    """What an assembly of `case` allocates, after others have made what is made once."""
    for _ in range(2):
        variant.run(case)
    if cold:
        forget()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        context = variant.run(case)
        held, peak = tracemalloc.get_traced_memory()
        del context
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Allocated(peak - before, held - before, left - before)


def memory_table() -> Iterator[str]:
    """A row for each variant, cold and warm."""
    case = scenario()
    rows = []
    for name, variant in MEASURED.items():
        for state in ("cold", "warm"):
            found = allocated(variant, case, cold=state == "cold")
            rows.append([f"{name}, {state}", *(f"{size / KIB:,.0f}" for size in found)])
    yield from table(["KiB", "peak", "with the context", "left of it"], rows)
