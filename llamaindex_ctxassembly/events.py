"""What instrumentation is told of."""

from __future__ import annotations

from typing import Any

from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.dispatcher import Dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler


class ContextAssembledEvent(BaseEvent):
    """A context was assembled: what was kept, what was left out and why."""

    query: str | None
    citations: list[dict[str, Any]]
    """One per label, in order."""
    trace: dict[str, Any]
    """Every decision, note, count and time, and the `summary` in one line."""

    @classmethod
    def class_name(cls) -> str:
        """The name under which handlers know it."""
        return "ContextAssembledEvent"


def listened_to(dispatcher: Dispatcher) -> bool:
    """Whether a handler hears of the events of `dispatcher`: what nobody hears needn't be made."""
    at: Dispatcher | None = dispatcher
    while at:
        if not all(isinstance(handler, NullEventHandler) for handler in at.event_handlers):
            return True
        at = at.parent if at.propagate else None
    return False
