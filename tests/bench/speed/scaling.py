"""How the time grows, for each contestant; those that explode stop before they do."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from ctxassembly.tokens.counter import counter_for
from scenario import ENCODING, Scenario
from speed.contestants import Contestant
from speed.timing import shown, table, timed
from speed.variants import REFERENCE

SKIPPED = "–"


class Times(NamedTuple):
    """Medians in milliseconds."""

    cold: float
    """No token count is remembered from before."""
    warm: float | None
    """The same once more; None for those that remember nothing."""


Growth = dict[str, dict[int, Times]]
"""Times by contestant and size, sizes ascending. A contestant has none at the sizes where it is too slow."""


class Limits(NamedTuple):
    repeats: int = 31
    """Runs for 20 hits or fewer; proportionally fewer for more hits, at least 3."""
    ms: float = 20_000
    """A run that is expected to take longer is left out, and what is slow is repeated for about as long."""


def growth(
    contestants: Mapping[str, Contestant],
    sizes: Sequence[int],
    at: Callable[[int], tuple[Scenario, int]],
    limits: Limits,
    done: Callable[[], object],
) -> Growth:
    """The times at each size. `at` gives its scenario and budget; `done` is told of each contestant at each size."""
    found: Growth = {name: {} for name in contestants}
    for size in sizes:
        case, budget = at(size)
        for name, times in in_turn(_willing(contestants, found, size, limits), case, budget, limits):
            found[name][size] = times
        for _ in contestants:
            done()
    return found


def _willing(contestants: Mapping[str, Contestant], found: Growth, size: int, limits: Limits) -> dict[str, Contestant]:
    """Those that won't take too long."""
    return {
        name: contestant
        for name, contestant in contestants.items()
        if expected_ms([(n, times.cold) for n, times in found[name].items()], size) <= limits.ms
    }


def expected_ms(before: Sequence[tuple[int, float]], size: int) -> float:
    """What a run will take, if the time goes on growing with the power by which it grew between the last two sizes."""
    if len(before) < 2:
        return before[-1][1] if before else 0.0
    (smaller, less), (larger, more) = before[-2:]
    power = max(0.0, math.log(more / less) / math.log(larger / smaller))
    return more * math.pow(size / larger, power)


def in_turn(
    contestants: Mapping[str, Contestant], case: Scenario, budget: int, limits: Limits
) -> Iterator[tuple[str, Times]]:
    """The times of each."""
    runs = {name: contestant.prepare(case) for name, contestant in contestants.items()}
    cold: dict[str, list[float]] = {name: [] for name in runs}
    warm: dict[str, list[float]] = {name: [] for name in runs}
    forget = counter_for(ENCODING).forget
    gc.collect()
    gc.freeze()  # else the collector would look through all that the others have prepared, in anyone's time
    for _ in range(max(3, limits.repeats * 20 // max(len(case.hits), 20))):
        for name, run in runs.items():
            if sum(cold[name]) <= limits.ms:
                forget()
                cold[name].append(timed(partial(run, budget))[0])
                if contestants[name].remembers:
                    warm[name].append(timed(partial(run, budget))[0])
    gc.unfreeze()
    for name in runs:
        yield name, Times(median(cold[name]), median(warm[name]) if warm[name] else None)


def growth_table(found: Growth, sizes: Sequence[int], of: str) -> Iterator[str]:
    """A row for each contestant, cold and warm; behind each time how many times as fast as the reference it is."""
    rows = []
    for name, by_size in found.items():
        remembers = any(times.warm is not None for times in by_size.values())
        for state in ("cold", "warm") if remembers else ("cold",):
            cells = [_cell(by_size.get(size), found[REFERENCE].get(size), state) for size in sizes]
            rows.append([f"{name}, {state}" if remembers else name, *cells])
    yield from table([of, *(f"{size:,}" for size in sizes)], rows)


def _cell(times: Times | None, reference: Times | None, state: str) -> str:
    ms = getattr(times, state, None)
    if ms is None:
        return SKIPPED
    return shown(ms) if reference is None or times is reference else f"{shown(ms)} ({shown(reference.cold / ms)}x)"
