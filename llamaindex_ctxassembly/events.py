"""What LlamaIndex's instrumentation shows of an assembly or an answer: events, and a span for each stage.

The spans are named `ctxassembly.` and the stage as the trace names it: `ctxassembly.expand`, `ctxassembly.budget`,
`ctxassembly.search`. They begin and end when the stages do. Arguments and results are counts, names, ids and the query,
never text of a document. What a stage calls (a retriever, a reranker, an LLM that compresses) is below its span. A
stage that fails drops its span with the error; one that went on without something says so under "notes" of its result.
"""

from __future__ import annotations

from contextvars import Token
from inspect import BoundArguments, Parameter, Signature
from typing import Any
from uuid import uuid4

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.dispatcher import Dispatcher, active_instrument_tags
from llama_index_instrumentation.event_handlers import NullEventHandler
from llama_index_instrumentation.events.span import SpanDropEvent
from llama_index_instrumentation.span import active_span_id

from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent
from ctxassembly.protocols import OnStage


class _Event(BaseEvent):
    @classmethod
    def class_name(cls) -> str:
        """Return the name by which handlers know it."""
        return cls.__name__


class ContextAssembledEvent(_Event):
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


class QuestionAnsweredEvent(_Event):
    """A question was answered.

    >>> event = QuestionAnsweredEvent(question="May I drink?", trace={"steps": [{"name": "answer", "tokens_out": 9}]})
    >>> event.trace["steps"][0]["name"]
    'answer'
    """

    question: str
    trace: dict[str, Any]
    """The understanding, the steps with their times and tokens, the quality, the searches and the assembly."""


dispatcher = get_dispatcher(__name__)


def has_listeners() -> bool:
    """Return True if a handler receives our events; otherwise no event is created."""
    at: Dispatcher | None = dispatcher
    while at:
        if not all(isinstance(handler, NullEventHandler) for handler in at.event_handlers):
            return True
        at = at.parent if at.propagate else None
    return False


def on_stage() -> OnStage | None:
    """Return a function that `assemble` and `retrieve` call at each stage; None without a span above.

    Each stage would be a trace of its own there.
    """
    return None if active_span_id.get() is None else _Spans()


class _Spans:
    """The stages of one call."""

    def __init__(self) -> None:
        self._open_spans: list[tuple[str, BoundArguments, Token[str | None]]] = []
        """Those under way, the innermost last: a retrieval of an answer is one, and has steps."""

    def __call__(self, event: StageEvent) -> None:
        if isinstance(event, StageBegan):
            # As the arguments of a call, which is what handlers know.
            signature = Signature([Parameter(name, Parameter.KEYWORD_ONLY) for name in event.inputs])
            id_, parent_id = f"{event.span_name}-{uuid4()}", active_span_id.get()
            arguments = signature.bind(**event.inputs)
            self._open_spans.append((id_, arguments, active_span_id.set(id_)))
            dispatcher.span_enter(id_, arguments, parent_id=parent_id, tags=active_instrument_tags.get())
            return
        id_, arguments, token = self._open_spans.pop()
        if isinstance(event, StageEnded):
            dispatcher.span_exit(id_, arguments, result=dict(event.outputs))
        else:
            dispatcher.event(SpanDropEvent(span_id=id_, err_str=str(event.error)))
            dispatcher.span_drop(id_, arguments, err=event.error)
        active_span_id.reset(token)
