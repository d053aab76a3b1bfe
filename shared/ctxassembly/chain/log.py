"""An answer chain's notes while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxassembly.chain.answer import AnswerStep
from ctxassembly.chain.requests import ModelReply


@dataclass(slots=True)
class Log:
    """The steps so far, and the fallbacks taken."""

    clock: Callable[[], float]
    steps: list[AnswerStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    since: float = field(init=False)

    def __post_init__(self) -> None:
        self.since = self.clock()

    def step(self, name: str, outcome: str, model: ModelReply | None = None) -> None:
        """Note a step that ends now and began where the one before ended."""
        now = self.clock()
        counts = (model.tokens_in, model.tokens_out) if model else (None, None)
        self.steps.append(AnswerStep(name, outcome, (now - self.since) * 1000, *counts))
        self.since = now
