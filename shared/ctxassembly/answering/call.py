"""One call of an answer chain: its arguments, and the record of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ctxassembly.answering.answer import AnswerStep
from ctxassembly.answering.cache_key import Reach
from ctxassembly.answering.requests import Exchange, ModelReply
from ctxassembly.conversations.labels import Labels
from ctxassembly.tracing.recorder import Stages


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A question in a conversation."""

    question: str
    history: tuple[Exchange, ...] = ()
    mode: str = "normal"
    filter: Any = None
    """The caller's filter, in the form of the retriever."""
    today: str = ""
    """The date, for words like "this year"."""
    is_streamed: bool = False
    reach: Reach | None = None
    """All that the call may read, if there is a cache to ask."""
    labels: Labels | None = None
    """The labels of the conversation: a cached answer has to have the same ones."""


@dataclass(slots=True)
class AnswerRecorder(Stages):
    """The steps so far, and the fallbacks taken."""

    steps: list[AnswerStep] = field(default_factory=list)

    def record_step(self, name: str, outcome: str, reply: ModelReply | None = None) -> None:
        """Note a step that ends now and began where the one before ended."""
        counts = (reply.tokens_in, reply.tokens_out) if reply else (None, None)
        self.steps.append(AnswerStep(name, outcome, self.lap(), *counts))
