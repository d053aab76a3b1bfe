"""How long an assembly takes beside the straightforward one: `python tests/bench/speed.py`.

Both run in turn in one process and their processor time is taken, so the ratios stand on a busy machine where the
times don't. Cold means that no token count is remembered from before (the vocabulary is loaded); warm is the same
assembly once more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any, NamedTuple

from ctxassembly import AssemblyConfig, Context, assemble, presets
from ctxassembly.tokens import counter_for
from reference import assemble_reference
from scenario import BUDGET, ENCODING, Scenario, scenario

CONFIGS = {"default": AssemblyConfig(max_tokens=BUDGET, encoding=ENCODING), "five-stage": presets.FIVE_STAGE}
QUERY = "How does a with statement call __exit__ when an exception is raised?"
RUNS = [*((name, config, None) for name, config in CONFIGS.items()), ("query", CONFIGS["default"], QUERY)]
"""Name, config and query. With a query the default packs sentences, of a pool that is wider than the window."""


class Times(NamedTuple):
    """Medians in milliseconds; `stages` are those of the warm assembly, by name."""

    reference: float
    cold: float
    warm: float
    stages: dict[str, float]
    context: Context


def measure(
    case: Scenario, config: AssemblyConfig, repeats: int, *, query: str | None = None, with_reference: bool = True
) -> Times:
    """The times of `case`, each the median of `repeats` runs."""

    def ours() -> Context:
        return assemble(case.hits, config, query=query, store=case.store)

    def theirs() -> object:
        return assemble_reference(case.hits, case.store.chunks, BUDGET)

    counter = counter_for(ENCODING)
    reference, cold, warm = [], [], []
    stages: dict[str, list[float]] = {}
    context = ours()
    for _ in range(repeats):
        if with_reference:
            reference.append(_timed(theirs)[0])
        counter.forget()
        cold.append(_timed(ours)[0])
        elapsed, context = _timed(ours)
        warm.append(elapsed)
        for name, spent in stage_ms(context).items():
            stages.setdefault(name, []).append(spent)
    return Times(
        median(reference) if reference else float("nan"),
        median(cold),
        median(warm),
        {name: median(spent) for name, spent in stages.items()},
        context,
    )


def stage_ms(context: Context) -> dict[str, float]:
    """The trace's milliseconds by stage; a stage that comes twice (dedup) is added up."""
    spent: dict[str, float] = {}
    for stage in context.trace.stages:
        spent[stage.name] = spent.get(stage.name, 0.0) + stage.elapsed_ms
    return spent


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    result = run()
    return (process_time() - start) * 1000, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, nargs="+", default=[20, 100, 1_000], help="beside the reference")
    parser.add_argument("--alone", type=int, nargs="*", default=[10_000], help="ours alone, which shows the scaling")
    parser.add_argument("--repeats", type=int, default=31, help="for 20 hits; fewer for more hits, at least 3")
    args = parser.parse_args()

    line = "{:>10} {:>6} {:>6} {:>10} {:>9} {:>6} {:>9} {:>6} {:>8}  {}\n"
    head = ("config", "hits", "chunks", "reference", "cold ms", "x", "warm ms", "x", "us/hit", "warm ms by stage")
    sys.stdout.write(line.format(*head))
    for hits in (*args.hits, *args.alone):
        case = scenario(hits)
        for name, config, query in RUNS:
            repeats = max(3, args.repeats * 20 // max(hits, 20))
            times = measure(case, config, repeats, query=query, with_reference=hits in args.hits)
            stages = " ".join(f"{stage} {spent:.2f}" for stage, spent in times.stages.items())
            sys.stdout.write(
                line.format(
                    name,
                    hits,
                    times.context.trace.chunks,
                    f"{times.reference:.2f}",
                    f"{times.cold:.2f}",
                    f"{times.reference / times.cold:.1f}",
                    f"{times.warm:.2f}",
                    f"{times.reference / times.warm:.1f}",
                    f"{times.warm / hits * 1000:.1f}",
                    stages,
                )
            )


if __name__ == "__main__":
    main()
