"""How the time grows, for each contestant; those that explode stop before they do."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from scenario import Scenario
from speed.contestants import Contestant
from speed.timing import shown, table, timed
from speed.variants import REFERENCE, forget

SKIPPED = "–"


class Times(NamedTuple):
    """Medians in milliseconds."""

    cold: float
    warm: Mapping[str, float] = MappingProxyType({})
    """By way to be warm; none for those that remember nothing."""


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
    at: Callable[[int], tuple[Sequence[Scenario], int]],
    limits: Limits,
    done: Callable[[], object],
) -> Growth:
    """The times at each size. `at` gives its scenarios and budget; `done` is told of each contestant at each size."""
    found: Growth = {name: {} for name in contestants}
    for size in sizes:
        cases, budget = at(size)
        for name, times in in_turn(_willing(contestants, found, size, limits), cases, budget, limits):
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
    contestants: Mapping[str, Contestant], cases: Sequence[Scenario], budget: int, limits: Limits
) -> Iterator[tuple[str, Times]]:
    """The times of each, over all `cases`."""
    runs = [{name: contestant.prepare(case) for name, contestant in contestants.items()} for case in cases]
    cold: dict[str, list[float]] = {name: [] for name in contestants}
    warm: dict[str, dict[str, list[float]]] = {
        name: {way: [] for way in contestant.warm} for name, contestant in contestants.items()
    }
    turns = max(3, limits.repeats * 20 // max(len(cases[0].hits), 20))
    gc.collect()
    gc.freeze()  # else the collector would look through all that the others have prepared, in anyone's time
    for turn in range(turns):
        at = turn % len(cases)
        for name, contestant in contestants.items():
            if sum(cold[name]) > limits.ms:
                continue
            first = partial(runs[at][name], budget)
            for way, prepare in contestant.warm.items():
                again = partial(prepare(cases[at]), budget)
                forget()
                cold[name].append(timed(first)[0])
                warm[name][way].append(timed(again)[0])
            if not contestant.warm:
                cold[name].append(timed(first)[0])
    gc.unfreeze()
    for name in contestants:
        yield name, Times(median(cold[name]), {way: median(spent) for way, spent in warm[name].items()})


def growth_table(found: Growth, sizes: Sequence[int], of: str) -> Iterator[str]:
    """A row for each contestant and what it knew, a column for each size."""
    columns = {name: [by_size.get(size) for size in sizes] for name, by_size in found.items()}
    yield from times_table([of, *(f"{size:,}" for size in sizes)], columns)


def times_table(head: Sequence[str], found: Mapping[str, Sequence[Times | None]]) -> Iterator[str]:
    """A row for each contestant and what it knew; behind each time how many times as fast as the reference it is."""
    rows = []
    for name, times in found.items():
        ways = dict.fromkeys(way for each in times if each for way in each.warm)
        for way in (None, *ways):
            cells = [_cell(each, reference, way) for each, reference in zip(times, found[REFERENCE], strict=True)]
            rows.append([f"{name}, {way or 'cold'}" if ways else name, *cells])
    yield from table(head, rows)


def _cell(times: Times | None, reference: Times | None, way: str | None) -> str:
    if times is None:
        return SKIPPED
    ms = times.cold if way is None else times.warm[way]
    return shown(ms) if reference is None or times is reference else f"{shown(ms)} ({shown(reference.cold / ms)}x)"
