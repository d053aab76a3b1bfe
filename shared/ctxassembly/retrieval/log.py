"""A retrieval's notes while it goes on, for its trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.data.found import Found
from ctxassembly.data.retrieved import RetrievalTrace, SearchMethod, Step, StepName
from ctxassembly.data.searched import Channel


@dataclass(slots=True)
class Log:
    """Notes for the trace of a retrieval. The fields are those of `RetrievalTrace`."""

    clock: Callable[[], float]
    notes: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    queries: Mapping[Channel, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    round_trips: int = 0
    evidence: float | None = None
    lowered: tuple[Found, ...] = ()
    failures: list[Exception] = field(default_factory=list)
    """The errors of channels that were done without."""
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def step(self, name: StepName, chunks_in: int, after: Sequence[Found]) -> None:
        """Note a step that ends now and began where the one before ended."""
        now = self.clock()
        self.steps.append(Step(name, chunks_in, tuple(one.chunk.id for one in after), (now - self.since) * 1000))
        self.since = now

    def trace(self, search_method: SearchMethod) -> RetrievalTrace:
        """The trace of a retrieval that ends now."""
        return RetrievalTrace(
            search_method=search_method,
            steps=tuple(self.steps),
            notes=tuple(self.notes),
            queries=self.queries,
            names=self.names,
            terms=self.terms,
            round_trips=self.round_trips,
            evidence=self.evidence,
            lowered=self.lowered,
        )
