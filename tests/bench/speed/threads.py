"""What a second thread is worth: wall time of the same assemblies in one thread and in two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from time import perf_counter
from typing import NamedTuple

from ctxassembly import Context
from ctxassembly.tokens import counter_for
from scenario import ENCODING, Scenario, scenario
from speed.timing import shown, table, timed
from speed.variants import OURS, Variant

ASSEMBLIES = 8


class Wall(NamedTuple):
    """Medians in milliseconds for all assemblies together."""

    one: float
    two: float


def wall(variant: Variant, cases: Sequence[Scenario], repeats: int, *, cold: bool) -> Wall:
    """The wall time of one assembly of each case, in one thread and in two, measured in turn."""
    spent: dict[int, list[float]] = {1: [], 2: []}
    pools = {threads: ThreadPoolExecutor(threads) for threads in spent}
    for turn in range(repeats + 1):
        for threads, pool in pools.items():
            if cold:
                counter_for(ENCODING).forget()
            ms, _ = timed(partial(_all, variant, cases, pool), perf_counter)
            spent[threads] += [ms] if turn else []
    for pool in pools.values():
        pool.shutdown()
    return Wall(median(spent[1]), median(spent[2]))


def _all(variant: Variant, cases: Sequence[Scenario], pool: ThreadPoolExecutor) -> list[Context]:
    return list(pool.map(variant.run, cases))


def threads_table(repeats: int) -> Iterator[str]:
    """A row for each variant, cold and warm."""
    cases = [scenario(seed=seed) for seed in range(ASSEMBLIES)]
    rows = []
    for name, variant in OURS.items():
        for state in ("cold", "warm"):
            found = wall(variant, cases, repeats, cold=state == "cold")
            rows.append([f"{name}, {state}", shown(found.one), shown(found.two), f"{found.one / found.two:.2f}x"])
    yield from table(["ms", "1 thread", "2 threads", "as fast"], rows)
