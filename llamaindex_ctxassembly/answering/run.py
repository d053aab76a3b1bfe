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
from ctxassembly.answering.call import Call
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import AskModel, Assemble, Exchange, Readmit, Search, SearchAll
from ctxassembly.concurrency import in_turn, is_async, lock
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import KEPT
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import InputError
from ctxassembly.integrations.messages import Said, carried, exchanges, may_recall
from ctxassembly.integrations.metadata import Told, parts_of
from ctxassembly.protocols import AnswerCache
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer import checked, today
from ctxassembly.runtime.answer_services import Answering
from ctxassembly.runtime.driver import astream_run, stream_run
from ctxassembly.safe_repr import shown
from ctxassembly.user_warnings import Once
from llamaindex_ctxassembly.answering.evidence import Evidence
from llamaindex_ctxassembly.answering.llm import asked_llm
from llamaindex_ctxassembly.convert.nodes import labelled_nodes
from llamaindex_ctxassembly.events import QuestionAnsweredEvent, listened_to
from llamaindex_ctxassembly.postprocessor import Answered

SIDES = (MessageRole.USER, MessageRole.ASSISTANT)


def messages_of(history: Any) -> list[ChatMessage]:
    """The messages of both sides in a chat history; those of the system and of tools are left out.

    Raises:
        InputError: it is no list of ChatMessage.
    """
    if history is None:
        return []
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, ChatMessage) for one in history):
        raise InputError(f"chat_history must be a list of ChatMessage, got {shown(history)}")
    return [message for message in history if message.role in SIDES]


def exchanges_of(messages: Sequence[ChatMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered."""
    return exchanges(
        Said(message.role == MessageRole.USER, message.content or "", message.additional_kwargs.get(KEPT))
        for message in messages
    )


def labels_after(messages: Sequence[ChatMessage]) -> Labels:
    """Labels that go on after those of the answers in `messages`."""
    return Labels.after([message for message in messages if KEPT in message.additional_kwargs])


class Turns:
    """The turns of a conversation that are going on. They share their labels, since none is in the memory yet."""

    def __init__(self) -> None:
        self._lock, self._labels, self._count = lock(), Labels(), 0

    @contextmanager
    def begun(self) -> Iterator[Labels]:
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
        return Turns, ()


def question_message(text: str) -> ChatMessage:
    """The message of a question."""
    return ChatMessage(content=text, role=MessageRole.USER)


def answer_message(answer: Answer, labels: Labels) -> ChatMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    kept = {KEPT: carried(answer, labels)}
    return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=kept)


dispatcher = get_dispatcher(__name__)

REMEDY = (
    "Give the filter, ContextAssemblyPostprocessor(filter=...), or say neighbours='unfiltered' if every caller may "
    "read everything"
)


@dataclass(frozen=True)
class Parts:
    """The parts of a chain."""

    llm: BaseLLM
    models: Mapping[str, BaseLLM]
    evidence: Evidence
    config: AnswerConfig
    cache: AnswerCache | None
    warned: Once = field(default_factory=Once)
    """The warning given that nothing is cached."""


class Asked(NamedTuple):
    """The arguments of one call."""

    question: str
    history: Any
    mode: str
    filters: Any


@dataclass
class Source:
    """The evidence of one run."""

    evidence: Evidence
    labels: Labels
    """Those of the conversation, unless the postprocessor has some."""
    question: str
    nodes: list[NodeWithScore] = field(default_factory=list)
    """One per label, once the context is there."""
    told: Told | None = None

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
        return self._kept(self.evidence.held_to(request.filter).answered(request, self.labels))

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        return self._kept(await self.evidence.held_to(request.filter).aanswered(request, self.labels))

    def _kept(self, answered: Answered) -> Context:
        self.told = answered.told
        self.nodes.extend(answered.nodes)
        return answered.told.context


class Run:
    """One question: what answers it, and what came of it."""

    def __init__(self, parts: Parts, asked: Asked, labels: Labels | None = None, *, streamed: bool = False) -> None:
        """`labels` are those of the conversation; None means those after the history of `asked`."""
        messages = messages_of(asked.history)
        condition = parts.evidence.filters_of(asked.filters)
        labels = labels_after(messages) if labels is None else labels
        self._source = Source(parts.evidence, labels, checked(asked.question))
        found = None
        if may_recall(parts.cache, labels):
            found = parts.evidence.reach(condition, asked.question).warn(parts.warned, REMEDY)
        self._call = Call(
            asked.question,
            exchanges_of(messages),
            asked.mode,
            condition,
            today(),
            streamed,
            found,
            labels,
        )
        self._config = parts.config
        self.metadata: dict[str, Any] = {}
        """The metadata of the response, once there is an answer."""
        self._asking = Answering(asked_llm(parts.llm, parts.models), self._source, parts.config, parts.cache)

    @property
    def nodes(self) -> list[NodeWithScore]:
        """One node per label, once the model is asked; of an answer from a cache, once it is told."""
        return self._source.nodes

    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        """The pieces of the answer, and then the answer."""
        with self._asking:
            for event in stream_run(self._flow(), self.ask, AnswerPiece):
                if isinstance(event, Answer):
                    self._note(event)
                    self._announce(event)
                yield event

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """The same, awaited."""
        async with self._asking:
            async for event in astream_run(self._flow(), self.aask, AnswerPiece):
                if isinstance(event, Answer):
                    await in_turn(partial(self._note, event))
                    self._announce(event)
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
        name = _step(request)
        return self._asking.ask(request) if name is None else in_span(name, self._asking.ask)(request)

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        name = _step(request)
        return await (self._asking.aask(request) if name is None else in_span(name, self._asking.aask)(request))

    def _flow(self) -> Flow:
        return answer_flow(self._call, self._config, time.perf_counter)

    def _note(self, answer: Answer) -> None:
        """Make the metadata of the response, and of a context from a cache its nodes."""
        source = self._source
        if answer.context and source.told is None:  # from a cache
            source.told = Told(answer.context)
            source.nodes.extend(labelled_nodes(source.told, ()))
        self.metadata = {**parts_of(answer, source.told), "result": answer}

    def _announce(self, answer: Answer) -> None:
        if listened_to(dispatcher):
            dispatcher.event(QuestionAnsweredEvent(question=answer.question, trace=self.metadata["trace"]))


def in_span(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function`, called or awaited, in a span of that name. The span of an answer that streams is its beginning."""

    def step(request: Any) -> Any:
        return function(request)

    async def awaited(request: Any) -> Any:
        return await function(request)

    made = awaited if is_async(function) else step
    made.__name__ = made.__qualname__ = name
    return cast(Callable[[Any], Any], dispatcher.span(made))


def _step(request: Any) -> str | None:
    """The step that begins with `request`; None if it is in the midst of one."""
    if isinstance(request, AskModel):
        return request.purpose
    return {SearchAll: "retrieve", Assemble: "assemble"}.get(type(request))
