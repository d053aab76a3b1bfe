"""What an assembly notes while it goes on, for the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxassembly.data.trace import Stage


@dataclass(slots=True)
class Log:
    """What the trace needs to know besides the decisions."""

    clock: Callable[[], float]
    notes: list[str] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    round_trips: int = 0
    missing: str | None = None
    unscoped: tuple[str, ...] | None = None
    """Both as `Trace` has them."""
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def miss(self, missing: str | None) -> None:
        """Note what hits or their store lack, if they lack anything."""
        self.missing = missing
        self.notes += [missing] if missing else []

    def stage(self, name: str, chunks_in: int, chunks_out: int) -> None:
        """Note a stage that ends now and began where the one before ended."""
        now = self.clock()
        self.stages.append(Stage(name, chunks_in, chunks_out, (now - self.since) * 1000))
        self.since = now
