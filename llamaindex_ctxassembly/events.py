"""What instrumentation is told of."""

from __future__ import annotations

from typing import Any

from llama_index_instrumentation.base import BaseEvent


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
