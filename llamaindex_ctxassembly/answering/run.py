"""One run of an answer chain, each of its steps in a span: understand, retrieve, assemble, answer."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.call import AnswerCall
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import AskModel, Assemble, Exchange, Readmit, Search, SearchAll
from ctxassembly.concurrency import is_async, lock, run_in_worker
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import InputError
from ctxassembly.integrations.messages import HistoryMessage, answer_payload, can_use_cache, to_exchanges
from ctxassembly.integrations.metadata import ContextPayload, answer_metadata
from ctxassembly.protocols import AnswerCache
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer import check_question, today
from ctxassembly.runtime.answer_services import AnswerServices
from ctxassembly.runtime.driver import adrive_stream, drive_stream
from ctxassembly.safe_repr import safe_repr
from ctxassembly.user_warnings import WarnOnce
from llamaindex_ctxassembly.answering.evidence import RetrieverEvidence
from llamaindex_ctxassembly.answering.llm import wrap_llm
from llamaindex_ctxassembly.convert.nodes import labeled_nodes
from llamaindex_ctxassembly.events import QuestionAnsweredEvent, has_listeners
from llamaindex_ctxassembly.postprocessor import AssembledNodes

CHAT_ROLES = (MessageRole.USER, MessageRole.ASSISTANT)


def messages_of(history: Any) -> list[ChatMessage]:
    """The messages of both sides in a chat history; those of the system and of tools are left out.

    Raises:
        InputError: it is no list of ChatMessage.
    """
    if history is None:
        return []
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, ChatMessage) for one in history):
        raise InputError(f"chat_history must be a list of ChatMessage, got {safe_repr(history)}")
    return [message for message in history if message.role in CHAT_ROLES]


def exchanges_of(messages: Sequence[ChatMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered."""
    return to_exchanges(
        HistoryMessage(
            message.role == MessageRole.USER, message.content or "", message.additional_kwargs.get(MESSAGE_KEY)
        )
        for message in messages
    )


def labels_after(messages: Sequence[ChatMessage]) -> Labels:
    """Labels that go on after those of the answers in `messages`."""
    return Labels.after([message for message in messages if MESSAGE_KEY in message.additional_kwargs])


class OpenTurns:
    """The turns of a conversation that are going on. They share their labels, since none is in the memory yet."""

    def __init__(self) -> None:
        self._lock, self._labels, self._count = lock(), Labels(), 0

    @contextmanager
    def open_turn(self) -> Iterator[Labels]:
        """A turn, and the labels that it takes its own from. It ends after its answer is in the memory.

        The memory must be read inside: then its messages, or these labels, have those of every other turn.
        """
        with self._lock:
            self._labels = self._labels if self._count else Labels()
            self._count += 1
            labels = self._labels
        try:
            yield labels
        finally:
            with self._lock:
                self._count -= 1

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenTurns, ()


def question_message(text: str) -> ChatMessage:
    """The message of a question."""
    return ChatMessage(content=text, role=MessageRole.USER)


def answer_message(answer: Answer, labels: Labels) -> ChatMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    extra = {MESSAGE_KEY: answer_payload(answer, labels)}
    return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=extra)


dispatcher = get_dispatcher(__name__)

FILTER_REMEDY = (
    "Give the filter, ContextAssemblyPostprocessor(filter=...), or say neighbors='unfiltered' if every caller may "
    "read everything"
)


@dataclass(frozen=True)
class ChainParts:
    """The parts of a chain."""

    llm: BaseLLM
    models: Mapping[str, BaseLLM]
    evidence: RetrieverEvidence
    config: AnswerConfig
    cache: AnswerCache | None
    warnings: WarnOnce = field(default_factory=WarnOnce)
    """The warning given that nothing is cached."""


class AnswerRequest(NamedTuple):
    """The arguments of one call."""

    question: str
    history: Any
    mode: str
    filters: Any


@dataclass
class RunEvidence:
    """The evidence of one run."""

    evidence: RetrieverEvidence
    labels: Labels
    """Those of the conversation, unless the postprocessor has some."""
    question: str
    nodes: list[NodeWithScore] = field(default_factory=list)
    """One per label, once the context is there."""
    payload: ContextPayload | None = None

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""
        return self.evidence.search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.evidence.asearch(request)

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The chunks cited before that the call may read."""
        return self.evidence.readmit(request, self.question)

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        return await self.evidence.areadmit(request, self.question)

    def assemble(self, request: Assemble) -> Context:
        """The context; its nodes are kept."""
        return self._keep_nodes(
            self.evidence.filtered_postprocessor(request.filter).assemble_nodes(request, self.labels)
        )

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        return self._keep_nodes(
            await self.evidence.filtered_postprocessor(request.filter).aassemble_nodes(request, self.labels)
        )

    def _keep_nodes(self, assembled: AssembledNodes) -> Context:
        self.payload = assembled.payload
        self.nodes.extend(assembled.nodes)
        return assembled.payload.context


class AnswerRun:
    """One question: what answers it, and what came of it."""

    def __init__(
        self, parts: ChainParts, request: AnswerRequest, labels: Labels | None = None, *, is_streamed: bool = False
    ) -> None:
        """`labels` are those of the conversation; None means those after the history of `request`."""
        messages = messages_of(request.history)
        condition = parts.evidence.call_filters(request.filters)
        labels = labels_after(messages) if labels is None else labels
        self._source = RunEvidence(parts.evidence, labels, check_question(request.question))
        reach = None
        if can_use_cache(parts.cache, labels):
            reach = parts.evidence.reach(condition, request.question).warn(parts.warnings, FILTER_REMEDY)
        self._call = AnswerCall(
            request.question,
            exchanges_of(messages),
            request.mode,
            condition,
            today(),
            is_streamed,
            reach,
            labels,
        )
        self._config = parts.config
        self.metadata: dict[str, Any] = {}
        """The metadata of the response, once there is an answer."""
        self._services = AnswerServices(wrap_llm(parts.llm, parts.models), self._source, parts.config, parts.cache)

    @property
    def nodes(self) -> list[NodeWithScore]:
        """One node per label, once the model is asked; of an answer from a cache, once it is told."""
        return self._source.nodes

    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        """The pieces of the answer, and then the answer."""
        with self._services:
            for event in drive_stream(self._flow(), self.ask, AnswerPiece):
                if isinstance(event, Answer):
                    self._set_metadata(event)
                    self._emit_event(event)
                yield event

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """The same, awaited."""
        async with self._services:
            async for event in adrive_stream(self._flow(), self.aask, AnswerPiece):
                if isinstance(event, Answer):
                    await run_in_worker(partial(self._set_metadata, event))
                    self._emit_event(event)
                yield event

    def answer(self) -> Answer:
        """The answer alone."""
        *_, answer = self.events()
        return cast(Answer, answer)

    async def aanswer(self) -> Answer:
        """The same, awaited."""
        *_, answer = [event async for event in self.aevents()]
        return cast(Answer, answer)

    def message(self, answer: Answer) -> ChatMessage:
        """The message of the answer, for the history."""
        return answer_message(answer, self._source.labels)

    def ask(self, request: Any) -> Any:
        """The reply to `request`, in the span of its step."""
        name = _step_name(request)
        return self._services.ask(request) if name is None else in_span(name, self._services.ask)(request)

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        name = _step_name(request)
        return await (self._services.aask(request) if name is None else in_span(name, self._services.aask)(request))

    def _flow(self) -> Flow:
        return answer_flow(self._call, self._config, time.perf_counter)

    def _set_metadata(self, answer: Answer) -> None:
        """Make the metadata of the response, and of a context from a cache its nodes."""
        source = self._source
        if answer.context and source.payload is None:  # from a cache
            source.payload = ContextPayload(answer.context)
            source.nodes.extend(labeled_nodes(source.payload, ()))
        self.metadata = {**answer_metadata(answer, source.payload), "result": answer}

    def _emit_event(self, answer: Answer) -> None:
        if has_listeners(dispatcher):
            dispatcher.event(QuestionAnsweredEvent(question=answer.question, trace=self.metadata["trace"]))


def in_span(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function`, called or awaited, in a span of that name. The span of an answer that streams is its beginning."""

    def step(request: Any) -> Any:
        return function(request)

    async def astep(request: Any) -> Any:
        return await function(request)

    traced = astep if is_async(function) else step
    traced.__name__ = traced.__qualname__ = name
    return cast(Callable[[Any], Any], dispatcher.span(traced))


def _step_name(request: Any) -> str | None:
    """The step that begins with `request`; None if it is in the midst of one."""
    if isinstance(request, AskModel):
        return request.purpose
    return {SearchAll: "retrieve", Assemble: "assemble"}.get(type(request))
