"""A retrieval's notes while it goes on, for its trace."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from ctxassembly.data.retrieval import SHOWN_HITS, Channel, Found, RetrievalTrace, SearchMethod, Step, StepName
from ctxassembly.data.trace import StageEnded
from ctxassembly.tracing.recorder import Outputs, Stages


@dataclass(slots=True)
class Log(Stages):
    """Notes for the trace of a retrieval. The fields are those of `RetrievalTrace`."""

    steps: list[Step] = field(default_factory=list)
    queries: Mapping[Channel, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    evidence: float | None = None
    lowered: tuple[Found, ...] = ()
    failures: list[Exception] = field(default_factory=list)
    """The errors of channels that were done without."""

    def end(
        self, after: Sequence[Found], outputs: Outputs | None = None, *, is_noted: bool = True
    ) -> Generator[StageEnded, None, None]:
        """End the step under way. One that isn't noted changed nothing: the trace doesn't have it."""
        ids = tuple(one.chunk.id for one in after)
        if is_noted:
            self.steps.append(Step(cast(StepName, self.name), self.chunks_in, ids, self.lap()))
        yield from self._ended(
            len(ids), lambda: {**(outputs() if outputs else {}), **({"ids": list(ids[:SHOWN_HITS])} if ids else {})}
        )

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
