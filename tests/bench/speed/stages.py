"""Where the time of one assembly goes, stage by stage, beside what the published system states for its stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import NamedTuple

from ctxassembly import Context
from ctxassembly.protocols import Store
from scenario import Scenario
from speed.timing import shown, table
from speed.variants import OURS, Variant, forget


class Group(NamedTuple):
    """What the published system names a stage, and which of ours do it."""

    name: str
    published_ms: float | None
    ours: frozenset[str]


GROUPS = (
    Group("fetch neighbors", 40, frozenset({"expand"})),
    Group("deduplicate", 5, frozenset({"dedup"})),
    Group("group, join, count tokens", 2 + 15, frozenset({"group", "join", "budget", "repeats"})),
    Group("check, render, cite", None, frozenset({"admit", "render"})),
)
"""Ours joins and counts in one stage: what a chunk costs depends on what it joins."""


def stage_ms(context: Context) -> dict[str, float]:
    """The trace's milliseconds by stage; a stage that comes twice (dedup) is added up."""
    spent: dict[str, float] = {}
    for stage in context.trace.stages:
        spent[stage.name] = spent.get(stage.name, 0.0) + stage.elapsed_ms
    return spent


def median_stages(variant: Variant, case: Scenario, store: Store, repeats: int, *, cold: bool) -> dict[str, float]:
    """The median of each stage over `repeats` assemblies, in milliseconds that pass: a database works elsewhere.

    Warm is the first of its ways.
    """
    spent: dict[str, list[float]] = {}
    for turn in range(repeats + 1):  # the first one warms up
        forget()
        context = variant.run(case, store=store)
        if not cold:
            context = variant.again(case, store=store)
        for name, ms in stage_ms(context).items() if turn else ():
            spent.setdefault(name, []).append(ms)
    return {name: median(each) for name, each in spent.items()}


def stages_table(case: Scenario, stores: Mapping[str, Store], repeats: int) -> Iterator[str]:
    """A row for each variant, store and state; the first is what is published."""
    published = [group.published_ms for group in GROUPS]
    rows = [["published", *("–" if ms is None else f"{ms:g}" for ms in published), f"{sum(filter(None, published)):g}"]]
    for store_name, store in stores.items():
        for name, variant in OURS.items():
            for state in ("cold", "warm") if variant.asks else ("cold",):
                spent = median_stages(variant, case, store, repeats, cold=state == "cold")
                cells = (sum(spent.get(stage, 0.0) for stage in group.ours) for group in GROUPS)
                rows.append([f"{name}, {store_name}, {state}", *map(shown, cells), shown(sum(spent.values()))])
    yield from table(["ms", *(group.name for group in GROUPS), "all"], rows)
