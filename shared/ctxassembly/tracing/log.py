"""The notes of an assembly under way, for its trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxassembly.data.trace import Stage


@dataclass(slots=True)
class Log:
    """The parts of a trace besides the decisions: notes, stages, round trips. The one thing here that changes."""

    clock: Callable[[], float]
    notes: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    round_trips: int = 0
    missing: str | None = None
    """The same as `Trace.missing`."""
    unscoped: tuple[str, ...] | None = None
    """The same as `Trace.unscoped`."""
    since: float = field(init=False)
    """The end of the last stage, by the clock."""

    def __post_init__(self) -> None:
        self.since = self.clock()

    def miss(self, missing: str | None) -> None:
        """Note the metadata that hits or their store lack, if any."""
        self.missing = missing
        self.notes += [missing] if missing else []

    def stage(self, name: str, chunks_in: int, chunks_out: int) -> None:
        """Note a stage that ends now. It began when the one before ended."""
        now = self.clock()
        self.stages.append(Stage(name, chunks_in, chunks_out, (now - self.since) * 1000))
        self.since = now
