"""What users ask for: 20 hits, or 200 to choose from, at budgets from a small prompt to a large one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scenario import scenario
from speed.contestants import contestants
from speed.scaling import Limits, Times, in_turn, times_table

SIZES = ((20, 500), (20, 2_000), (20, 8_000), (200, 2_000), (200, 8_000))
"""Hits and tokens."""
CASES = 5
"""Scenarios that each is measured on, in turn: how much a document shares with another differs between them."""
LEFT_OUT = "five-stage"
"""For the size of the table: it is in those by hits and by budget."""


def usual_table(sizes: Sequence[tuple[int, int]], limits: Limits, done: Callable[[], object]) -> Iterator[str]:
    """A row for each contestant and what it knew, a column for each size; `done` is told of each size."""
    competing = {name: contestant for name, contestant in contestants().items() if name != LEFT_OUT}
    found: dict[str, list[Times | None]] = {name: [] for name in competing}
    for hits, budget in sizes:
        cases = [scenario(hits, seed) for seed in range(CASES)]
        for name, times in in_turn(competing, cases, budget, limits):
            found[name].append(times)
        done()
    yield from times_table(["hits, tokens", *(f"{hits:,}, {budget:,}" for hits, budget in sizes)], found)
