"""The events for instrumentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.dispatcher import Dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler


class ContextAssembledEvent(BaseEvent):
    """A context was assembled. The trace has what was kept, what was left out, and why.

    >>> from llama_index.core.instrumentation import get_dispatcher
    >>> from llama_index.core.instrumentation.event_handlers import BaseEventHandler
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llamaindex_ctxassembly import ContextAssemblyPostprocessor
    >>> class Log(BaseEventHandler):
    ...     def handle(self, event, **_):
    ...         if isinstance(event, ContextAssembledEvent):
    ...             print([citation["reference"] for citation in event.citations], event.trace["summary"][:13])
    >>> log = Log()
    >>> get_dispatcher().add_event_handler(log)
    >>> said = TextNode(id_="gastro#0", text="Drink water.", metadata={"file_name": "gastro.pdf"})
    >>> _ = ContextAssemblyPostprocessor().postprocess_nodes([NodeWithScore(node=said)])
    ['gastro.pdf'] 1 -> 1 chunks
    >>> get_dispatcher().event_handlers.remove(log)
    """

    query: str | None
    citations: list[dict[str, Any]]
    """One per label, in order."""
    trace: dict[str, Any]
    """Every decision, note, count and time, and the `summary` in one line."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which handlers know it."""
        return "ContextAssembledEvent"


class QuestionAnsweredEvent(BaseEvent):
    """A question was answered.

    >>> event = QuestionAnsweredEvent(question="May I drink?", trace={"steps": [{"name": "answer", "tokens_out": 9}]})
    >>> event.trace["steps"][0]["name"]
    'answer'
    """

    question: str
    trace: dict[str, Any]
    """The understanding, the steps with their times and tokens, the quality, the searches and the assembly."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which handlers know it."""
        return "QuestionAnsweredEvent"


def has_listeners(dispatcher: Dispatcher) -> bool:
    """Return True if a handler receives the events of `dispatcher`; otherwise no event is created."""
    handlers = (handler for at in propagation_chain(dispatcher) for handler in at.event_handlers)
    return not all(isinstance(handler, NullEventHandler) for handler in handlers)


def propagation_chain(dispatcher: Dispatcher) -> Iterator[Dispatcher]:
    """Yield the dispatchers whose handlers receive events of `dispatcher`: itself, and those above it."""
    at: Dispatcher | None = dispatcher
    while at:
        yield at
        at = at.parent if at.propagate else None
