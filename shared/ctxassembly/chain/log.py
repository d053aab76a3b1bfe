"""An answer chain's notes while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxassembly.chain.answer import AnswerStep
from ctxassembly.chain.requests import ModelReply
from ctxassembly.tracing.recorder import Stages


@dataclass(slots=True)
class Log(Stages):
    """The steps so far, and the fallbacks taken. Whoever answers its requests can tell the steps by them."""

    steps: list[AnswerStep] = field(default_factory=list)

    def step(self, name: str, outcome: str, model: ModelReply | None = None) -> None:
        """Note a step that ends now and began where the one before ended."""
        counts = (model.tokens_in, model.tokens_out) if model else (None, None)
        self.steps.append(AnswerStep(name, outcome, self.lap(), *counts))
