"""The events that instrumentation hears."""

from __future__ import annotations

from typing import Any

from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.dispatcher import Dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler


class ContextAssembledEvent(BaseEvent):
    """A context was assembled. The trace has what was kept, what was left out, and why."""

    query: str | None
    citations: list[dict[str, Any]]
    """One per label, in order."""
    trace: dict[str, Any]
    """Every decision, note, count and time, and the `summary` in one line."""

    @classmethod
    def class_name(cls) -> str:
        """The name by which handlers know it."""
        return "ContextAssembledEvent"


def listened_to(dispatcher: Dispatcher) -> bool:
    """True if a handler hears the events of `dispatcher`: an event that nobody hears is not made."""
    at: Dispatcher | None = dispatcher
    while at:
        if not all(isinstance(handler, NullEventHandler) for handler in at.event_handlers):
            return True
        at = at.parent if at.propagate else None
    return False
