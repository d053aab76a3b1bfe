"""One run of an answer chain, its steps as spans of LlamaIndex, and its answer as a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any, TypeVar, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ctxassembly.adapters.metadata import (
    ContextPayload,
    HistoryMessage,
    answer_metadata,
    answer_payload,
    to_exchanges,
)
from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.requests import AnswerCall, AskModel, Assemble, Exchange, SearchAll
from ctxassembly.concurrency import run_in_worker
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.errors import InputError
from ctxassembly.runtime.answer_run import AnswerRun, ChainParts
from ctxassembly.runtime.driver import Port
from ctxassembly.runtime.evidence import Evidence
from ctxassembly.safe_repr import safe_repr
from llamaindex_ctxassembly.convert.nodes import labeled_nodes
from llamaindex_ctxassembly.events import QuestionAnsweredEvent, has_listeners
from llamaindex_ctxassembly.postprocessor import AssembledNodes

CHAT_ROLES = (MessageRole.USER, MessageRole.ASSISTANT)
Events = Generator[AnswerPiece | Answer, None, None]
AsyncEvents = AsyncGenerator[AnswerPiece | Answer, None]

dispatcher = get_dispatcher(__name__)


def messages_of(history: Any) -> list[ChatMessage]:
    """Return the messages in a chat history.

    Raises:
        InputError: `history` is not a list of ChatMessage.
    """
    if history is None:
        return []
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, ChatMessage) for one in history):
        raise InputError(f"chat_history must be a list of ChatMessage, got {safe_repr(history)}")
    return list(history)


def conversation_of(messages: Sequence[ChatMessage]) -> Conversation:
    """Return the conversation that the answers in `messages` carry."""
    return Conversation.from_messages([message for message in messages if MESSAGE_KEY in message.additional_kwargs])


def exchanges_of(messages: Sequence[ChatMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions in `messages`, without messages of the system and of tools."""
    return to_exchanges(
        HistoryMessage(
            message.role == MessageRole.USER, message.content or "", message.additional_kwargs.get(MESSAGE_KEY)
        )
        for message in messages
        if message.role in CHAT_ROLES
    )


class EngineRun:
    """One question to an engine, and the nodes and the metadata of its response."""

    def __init__(
        self,
        parts: ChainParts,
        evidence_for: Callable[[str, Callable[[AssembledNodes], None]], Evidence],
        call: AnswerCall,
    ) -> None:
        """Prepare the run of `call`. `evidence_for` takes the question, and a function that keeps what is assembled."""
        self._assembled: list[AssembledNodes] = []
        self.nodes: list[NodeWithScore] = []
        """One node per label, once the model is asked, or once an answer is read from the cache."""
        self.metadata: dict[str, Any] = {}
        """The metadata of the response, once there is an answer."""
        self._run = AnswerRun(parts, evidence_for(call.question, self._keep_nodes), call, _in_spans)

    def events(self) -> Events:
        """Yield the pieces of the answer, then the answer."""
        with closing(self._run.events()) as events:
            for event in events:
                if isinstance(event, Answer):
                    self._set_metadata(event)
                    self._emit_event(event)
                yield event

    async def aevents(self) -> AsyncEvents:
        """Async version of `events`."""
        async with aclosing(self._run.aevents()) as events:
            async for event in events:
                if isinstance(event, Answer):
                    await run_in_worker(partial(self._set_metadata, event))
                    self._emit_event(event)
                yield event

    def answer(self) -> Answer:
        """Return the answer."""
        *_, answer = self.events()
        return cast(Answer, answer)

    async def aanswer(self) -> Answer:
        """Async version of `answer`."""
        *_, answer = [event async for event in self.aevents()]
        return cast(Answer, answer)

    def message(self, answer: Answer) -> ChatMessage:
        """Return the message of `answer` for the history, with the chunks that it cites."""
        extra = {MESSAGE_KEY: answer_payload(answer)}
        return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=extra)

    def _keep_nodes(self, assembled: AssembledNodes) -> None:
        self._assembled.append(assembled)
        self.nodes[:] = assembled.nodes

    def _set_metadata(self, answer: Answer) -> None:
        """Set the metadata of the response, and its nodes: of the context that the answer is from."""
        made = [one for one in self._assembled if answer.context in (None, one.payload.context)]
        payload = made[-1].payload if made else None
        if made:
            self.nodes[:] = made[-1].nodes
        elif answer.context:  # from the cache
            payload = ContextPayload(answer.context)
            self.nodes[:] = labeled_nodes(payload, ())
        self.metadata = {**answer_metadata(answer, payload), "result": answer}

    def _emit_event(self, answer: Answer) -> None:
        if has_listeners(dispatcher):
            dispatcher.event(QuestionAnsweredEvent(question=answer.question, trace=self.metadata["trace"]))


def _in_spans(ports: dict[type, Port]) -> dict[type, Port]:
    """Return `ports` with a span around each step. The span of a streamed answer covers its beginning."""
    steps: dict[type, Callable[[Any], str]] = {
        AskModel: lambda request: request.purpose,
        SearchAll: lambda _: "retrieve",
        Assemble: lambda _: "assemble",
    }
    return ports | {kind: _in_span(name_of, ports[kind]) for kind, name_of in steps.items()}


def _in_span(name_of: Callable[[Any], str], port: Port) -> Port:
    """Return `port` with each call in a span, which `name_of` names."""

    def call(request: Any) -> Any:
        def step(request: Any) -> Any:
            return port.call(request)

        return _traced(step, name_of(request))(request)

    async def acall(request: Any) -> Any:
        async def step(request: Any) -> Any:
            return await port.acall(request)

        return await _traced(step, name_of(request))(request)

    return Port(call, acall)


def _traced(step: Any, name: str) -> Any:
    step.__name__ = step.__qualname__ = name
    return dispatcher.span(step)


Piece = TypeVar("Piece")


def pieces_of(
    events: Events, wrap: Callable[[str], Piece], finish: Callable[[Answer], None]
) -> Generator[Piece, None, None]:
    """Return the pieces of the answer, each as `wrap` makes it; `finish` is called once it is whole.

    The chain runs up to the first piece here: an error before it is raised in this call, not to the reader.
    """
    first = next(events)

    def pieces() -> Generator[Piece, None, None]:
        event: AnswerPiece | Answer | None = first
        with closing(events):
            while event is not None:
                if isinstance(event, Answer):
                    finish(event)
                else:
                    yield wrap(event.text)
                event = next(events, None)

    return pieces()


async def apieces_of(
    events: AsyncEvents, wrap: Callable[[str], Piece], finish: Callable[[Answer], Awaitable[None]]
) -> AsyncGenerator[Piece, None]:
    """Async version of `pieces_of`."""
    first = await anext(events)

    async def pieces() -> AsyncGenerator[Piece, None]:
        event: AnswerPiece | Answer | None = first
        async with aclosing(events):
            while event is not None:
                if isinstance(event, Answer):
                    await finish(event)
                else:
                    yield wrap(event.text)
                event = await anext(events, None)

    return pieces()
