"""Processor time, taken in turn in one process: ratios stand on a busy machine where times don't."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import process_time
from typing import TypeVar

T = TypeVar("T")


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """The milliseconds of processor time that `run` takes, and what it returns."""
    start = process_time()
    result = run()
    return (process_time() - start) * 1000, result


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table."""
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |\n"


def shown(ms: float) -> str:
    """Milliseconds with three digits that count, at most two of them after the point."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"
