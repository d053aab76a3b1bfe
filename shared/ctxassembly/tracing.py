"""The trace in the making: the stages under way, the hits kept for views, and the log.

Stages are timed for the trace and reported to observers. An observer may have to be awaited, and the requests of a
stage belong below its span. So a flow doesn't call the observer: it yields the beginning and the end of a stage as it
yields its requests, and the driver passes them on (`runtime/driver.py`). Without an observer it yields neither. A stage
that never ends has failed; the driver knows that by the error.

The logger "ctxassembly" gets one line for an assembly at INFO, and one line for each chunk at DEBUG. No text of a
document is logged, and no query: logs are kept elsewhere, and read by others.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ctxassembly.data.candidates import Candidate, Reason
from ctxassembly.data.chunks import Hit, RetrievedFragment
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision, Stage, StageBegan, StageEnded
from ctxassembly.safe_repr import safe_repr

_ID_CHARS = 80
MAX_SHOWN_HITS = 40
"""Hits that the views show with their text."""
MAX_HIT_CHARS = 8_000
"""Most characters of a hit that are kept, and looked up in the other hits. A longer text keeps half of them at each
end."""
MAX_NAMED_DOCUMENTS = 300
"""Most documents that the views name although nothing of them is included: as many as a table of decisions has rows."""


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

    def _end_event(self, chunks_out: int, outputs: Mapping[str, Any]) -> StageEnded:
        """Return the event of the end of the current stage."""
        notes, round_trips = self._before
        queries, noted = self.round_trips - round_trips, self.notes[notes:]
        payload = {
            "chunks": chunks_out,
            **({"queries": queries} if queries else {}),
            **outputs,
            **({"notes": noted} if noted else {}),
        }
        return StageEnded(self.name, payload)


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
        if self.is_observed:
            yield self._end_event(chunks_out, outputs() if outputs else counts or {})


def log_context(context: ContextData) -> None:
    """Log the summary of the trace with the reasons for leaving out, and at DEBUG the decision on each chunk."""
    logging = sys.modules.get("logging")  # not imported here: if nobody has, nobody listens
    if logging is None or not (logger := logging.getLogger("ctxassembly")).isEnabledFor(logging.INFO):
        return
    trace = context.trace
    reasons = Counter(decision.reason for decision in trace.decisions if decision.outcome == "dropped")
    why = "; ".join(f"{number:,} {reason}" for reason, number in reasons.items())
    logger.info("%s%s", trace.summary, f" (left out: {why})" if why else "")
    if logger.isEnabledFor(logging.DEBUG):
        for decision in trace.decisions:
            logger.debug("%s", _format_decision(decision))


def _format_decision(decision: Decision) -> str:
    """Return `'a1' of 'A', hit 1: dropped, budget, 73 tokens`."""
    which = "neighbor of hit" if decision.distance else "hit"
    because = f", because of {safe_repr(decision.because_of, _ID_CHARS)}" if decision.because_of is not None else ""
    tokens = f", {decision.tokens:,} tokens" if decision.tokens is not None else ""
    found = f", found by {safe_repr(decision.search_method, _ID_CHARS)}" if decision.search_method else ""
    name = f"{safe_repr(decision.chunk_id, _ID_CHARS)} of {safe_repr(decision.document_id, _ID_CHARS)}"
    return f"{name}, {which} {decision.rank + 1}: {decision.outcome}, {decision.reason}{because}{tokens}{found}"


def is_retained(candidate: Candidate) -> bool:
    """Return True if a context keeps the whole text of `candidate`, whatever becomes of it."""
    return candidate.is_hit and candidate.rank < MAX_SHOWN_HITS and len(candidate.chunk.text) <= MAX_HIT_CHARS


def retain_hits(hits: Sequence[Hit]) -> tuple[RetrievedFragment, ...]:
    """Return the hits that a context keeps for its views, by rank: those that they show.

    A retriever may find thousands of hits. A context that kept them all would be pickled, cached and sent with every
    text that was retrieved. Of a long text the two ends are kept, and no vector.
    """
    return tuple(_fragment(rank, hit) for rank, hit in enumerate(hits[:MAX_SHOWN_HITS]))


def _fragment(rank: int, hit: Hit) -> RetrievedFragment:
    text, half = hit.chunk.text, MAX_HIT_CHARS // 2
    shown = text if len(text) <= MAX_HIT_CHARS else text[:half] + text[-half:]
    is_whole = shown is text and hit.chunk.vector is None
    chunk = hit.chunk if is_whole else replace(hit.chunk, text=shown, vector=None)
    return RetrievedFragment(rank, chunk, hit.score, len(text))
