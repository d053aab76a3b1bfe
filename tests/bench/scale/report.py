"""What was measured, as tables of Markdown: a column for each number of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from scale.measuring import FILLED_IN, Measured
from scale.systems import OURS, PEERS
from speed.timing import shown, table

NONE = "–"


def report(runs: Sequence[Measured]) -> Iterator[str]:
    """The lines of all tables."""
    sizes = [f"{run.chunks:,}" for run in runs]
    stages = list(dict.fromkeys(stage for run in runs for stage in run.milliseconds))
    growth = [f"{sizes[-1]} / {sizes[0]}"] if len(runs) > 1 else []
    yield "Milliseconds, p50 / p95:\n\n"
    yield from table(["", *sizes, *growth], ([stage, *_times(runs, stage)] for stage in stages))
    yield "\nQuestions whose own chunk is among the hits, hits of a question, statements and round trips at most:\n\n"
    yield from table(["", *sizes], ([name, *_outcomes(runs, name)] for name in (*OURS, *PEERS)))
    ways = list(dict.fromkeys((way, phase) for run in runs for way in run.seconds for phase in run.seconds[way]))
    yield "\nSeconds of loading, and chunks a second:\n\n"
    rows: list[Sequence[str]] = [[f"{way}: {phase}", *_each(runs, _seconds(way, phase))] for way, phase in ways]
    rows += [[f"{way}: all", *_each(runs, _rate(way))] for way in dict.fromkeys(way for way, _ in ways)]
    yield from table(["", *sizes], rows)


def _times(runs: Sequence[Measured], stage: str) -> Iterable[str]:
    halves = [run.at(stage, 50) for run in runs]
    for run, half in zip(runs, halves, strict=True):
        most = run.at(stage, 95)
        yield NONE if half is None or most is None else shown_pair(half, most, only_half=stage == FILLED_IN)
    if len(runs) > 1:
        first, last = halves[0], halves[-1]
        yield NONE if not first or last is None or stage == FILLED_IN else f"{last / first:.1f}x"


def shown_pair(half: float, most: float, *, only_half: bool) -> str:
    """p50 / p95; of a difference p50 alone."""
    return shown(half) if only_half else f"{shown(half)} / {shown(most)}"


def _outcomes(runs: Sequence[Measured], name: str) -> Iterator[str]:
    for run in runs:
        if name not in run.hits:
            yield NONE
            continue
        gold = f"{run.share_found(name):.2f}, " if name in run.found else ""
        wire = run.most(name)
        hits = sum(run.hits[name]) / len(run.hits[name])
        yield f"{gold}{hits:.1f} hits, {wire.statements}, {wire.round_trips}"


def _each(runs: Sequence[Measured], value: Callable[[Measured], str]) -> Iterator[str]:
    return (value(run) for run in runs)


def _seconds(way: str, phase: str) -> Callable[[Measured], str]:
    def value(run: Measured) -> str:
        seconds = run.seconds.get(way, {}).get(phase)
        return NONE if seconds is None else f"{seconds:,.1f}"

    return value


def _rate(way: str) -> Callable[[Measured], str]:
    def value(run: Measured) -> str:
        phases = run.seconds.get(way)
        return f"{run.chunks / sum(phases.values()):,.0f} a second" if phases else NONE

    return value
