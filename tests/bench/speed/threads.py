"""What a second thread is worth: wall time of the same assemblies in one thread and in two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import median
from time import perf_counter
from typing import NamedTuple

from ctxassembly.tokens.tiktoken_files import load_encoding
from scenario import ENCODING, Scenario, scenario
from speed.timing import shown, table, timed
from speed.variants import OURS, forget

ASSEMBLIES = 8

_Run = Callable[[Scenario], object]


class Wall(NamedTuple):
    """Medians in milliseconds for all assemblies together."""

    one: float
    two: float


def wall(run: _Run, cases: Sequence[Scenario], repeats: int, first: _Run | None = None) -> Wall:
    """The wall time of one run of each case, in one thread and in two, measured in turn.

    Nothing is remembered but what was seen in the run of `first`, if that is given.
    """
    spent: dict[int, list[float]] = {1: [], 2: []}
    pools = {threads: ThreadPoolExecutor(threads) for threads in spent}
    for turn in range(repeats + 1):  # the first one warms up
        for threads, pool in pools.items():
            forget()
            if first is not None:
                _all(first, cases, pool)
            ms, _ = timed(partial(_all, run, cases, pool), perf_counter)
            spent[threads] += [ms] if turn else []
    for pool in pools.values():
        pool.shutdown()
    return Wall(median(spent[1]), median(spent[2]))


def _all(run: Callable[[Scenario], object], cases: Sequence[Scenario], pool: ThreadPoolExecutor) -> None:
    for _ in pool.map(run, cases):
        pass


def threads_table(repeats: int) -> Iterator[str]:
    """A row for encoding alone, which waits for no other thread, and rows for each variant, cold and warm."""
    cases = [scenario(seed=seed) for seed in range(ASSEMBLIES)]
    runs: dict[str, tuple[_Run, _Run | None]] = {"encoding alone": (_encode, None)}
    for name, variant in OURS.items():
        runs |= {f"{name}, cold": (variant.run, None), f"{name}, warm": (variant.again, variant.run)}
    rows = []
    for name, (run, first) in runs.items():
        one, two = wall(run, cases, repeats, first)
        rows.append([name, shown(one), shown(two), f"{one / two:.2f}x"])
    yield from table(["ms", "1 thread", "2 threads", "as fast"], rows)


def _encode(case: Scenario) -> object:
    return load_encoding(ENCODING).encode("\n\n".join(hit.chunk.text for hit in case.hits), disallowed_special=())
