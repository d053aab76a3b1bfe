"""Records a running assembly for its trace.

Stages are timed for the trace and reported to observers. An observer may have to be awaited, and the requests of a
stage belong below its span. So a flow doesn't call the observer: it yields the beginning and the end of a stage as it
yields its requests, and the driver passes them on (`runtime/driver.py`). Without an observer it yields neither. A stage
that never ends has failed; the driver knows that by the error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ctxassembly.data.candidates import Reason
from ctxassembly.data.trace import Stage, StageBegan, StageEnded

Outputs = Callable[[], Mapping[str, Any]]
"""The counts of a stage besides chunks; computed only for an observer."""


def count_by_reason(reasons: Iterable[Reason]) -> dict[str, dict[Reason, int]]:
    """Return the number of chunks dropped for each reason, for outputs; empty if none was."""
    numbers = Counter(reasons)
    return {"dropped": dict(numbers)} if numbers else {}


_NO_INPUTS: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class Stages:
    """The notes, the round trips and the clock that the stages of a flow share. One of them is under way at a time."""

    clock: Callable[[], float]
    is_observed: bool = False
    notes: list[str] = field(default_factory=list)
    round_trips: int = 0
    last_end: float = field(init=False)
    """The end of the last stage, by the clock."""
    name: str = field(default="", init=False)
    """The stage under way, and below the chunks before it."""
    chunks_in: int = field(default=0, init=False)
    _before: tuple[int, int] = field(default=(0, 0), init=False)
    """Notes and round trips before it."""

    def __post_init__(self) -> None:
        self.last_end = self.clock()

    def lap(self) -> float:
        """Return the milliseconds since the last lap."""
        before, self.last_end = self.last_end, self.clock()
        return (self.last_end - before) * 1000

    def begin(
        self, name: str, chunks_in: int | None = None, inputs: Mapping[str, Any] = _NO_INPUTS
    ) -> Generator[StageBegan, None, None]:
        """Begin a stage. In the trace it lasts from the end of the one before."""
        self.name, self.chunks_in = name, chunks_in or 0
        if self.is_observed:
            self._before = len(self.notes), self.round_trips
            yield StageBegan(name, inputs if chunks_in is None else {"chunks": chunks_in, **inputs})
            self.last_end = self.clock()  # the watcher's time is nobody's stage

    def _end_event(self, chunks_out: int, outputs: Outputs | None) -> Generator[StageEnded, None, None]:
        """Report the end of the current stage."""
        if self.is_observed:
            notes, round_trips = self._before
            queries, noted = self.round_trips - round_trips, self.notes[notes:]
            payload = {
                "chunks": chunks_out,
                **({"queries": queries} if queries else {}),
                **(outputs() if outputs else {}),
                **({"notes": noted} if noted else {}),
            }
            yield StageEnded(self.name, payload)


@dataclass(slots=True)
class TraceRecorder(Stages):
    """The parts of a trace besides the decisions: notes, stages, round trips. The one thing here that changes."""

    stages: list[Stage] = field(default_factory=list)
    missing: str | None = None
    """The same as `Trace.missing`."""
    unscoped: tuple[str, ...] | None = None
    """The same as `Trace.unscoped`."""

    def end(
        self,
        chunks_out: int,
        outputs: Outputs | None = None,
        *,
        is_recorded: bool = True,
        counts: Mapping[str, int] | None = None,
    ) -> Generator[StageEnded, None, None]:
        """End the current stage. One that isn't noted changed nothing, and isn't in the trace.

        `counts` are for the trace and whoever watches, `outputs` for the latter alone.
        """
        if is_recorded:
            self.stages.append(Stage(self.name, self.chunks_in, chunks_out, self.lap(), dict(counts or {})))
        yield from self._end_event(chunks_out, outputs or (lambda: counts or {}))
