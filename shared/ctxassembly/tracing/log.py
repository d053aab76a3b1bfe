"""The notes of an assembly under way, for its trace."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from ctxassembly.data.trace import Stage, StageEnded
from ctxassembly.tracing.stages import Outputs, Stages


@dataclass(slots=True)
class Log(Stages):
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
        is_noted: bool = True,
        counts: Mapping[str, int] | None = None,
    ) -> Generator[StageEnded, None, None]:
        """End the stage under way. One that isn't noted changed nothing: the trace doesn't have it.

        `counts` are for the trace and whoever watches, `outputs` for the latter alone.
        """
        if is_noted:
            self.stages.append(Stage(self.name, self.chunks_in, chunks_out, self.lap(), dict(counts or {})))
        yield from self._ended(chunks_out, outputs or (lambda: counts or {}))
