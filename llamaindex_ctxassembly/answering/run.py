"""One run of an answer chain, its steps as spans of LlamaIndex, and its answer as a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher
from typing_extensions import override

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.requests import AnswerCall, AskModel, Assemble, Exchange, SearchAll
from ctxassembly.concurrency import is_async, run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.errors import InputError
from ctxassembly.integrations.metadata import (
    ContextPayload,
    HistoryMessage,
    answer_metadata,
    answer_payload,
    to_exchanges,
)
from ctxassembly.runtime import answer_run
from ctxassembly.runtime.driver import Port
from ctxassembly.safe_repr import safe_repr
from llamaindex_ctxassembly.answering.evidence import RetrieverEvidence
from llamaindex_ctxassembly.answering.llm import SyncLLM
from llamaindex_ctxassembly.convert.nodes import labeled_nodes
from llamaindex_ctxassembly.events import QuestionAnsweredEvent, has_listeners
from llamaindex_ctxassembly.postprocessor import AssembledNodes

CHAT_ROLES = (MessageRole.USER, MessageRole.ASSISTANT)
ChainParts: TypeAlias = answer_run.ChainParts[SyncLLM, RetrieverEvidence]

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


class AnswerRun(answer_run.AnswerRun):
    """One question to an engine, and the nodes and the metadata of its response."""

    def __init__(self, parts: ChainParts, call: AnswerCall) -> None:
        """Prepare the run of `call`."""
        self._evidence = replace(parts.evidence, question=call.question)
        self._assembled: list[AssembledNodes] = []
        self.nodes: list[NodeWithScore] = []
        """One node per label, once the model is asked, or once an answer is read from the cache."""
        self.metadata: dict[str, Any] = {}
        """The metadata of the response, once there is an answer."""
        super().__init__(replace(parts, evidence=self._evidence), call)

    @override
    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        with closing(super().events()) as events:
            for event in events:
                if isinstance(event, Answer):
                    self._set_metadata(event)
                    self._emit_event(event)
                yield event

    @override
    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        async with aclosing(super().aevents()) as events:
            async for event in events:
                if isinstance(event, Answer):
                    await run_in_worker(partial(self._set_metadata, event))
                    self._emit_event(event)
                yield event

    def message(self, answer: Answer) -> ChatMessage:
        """Return the message of `answer` for the history, with the chunks that it cites."""
        extra = {MESSAGE_KEY: answer_payload(answer)}
        return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=extra)

    @override
    def ports(self) -> dict[type, Port]:
        ports = {**super().ports(), Assemble: Port(self._assemble, self._aassemble)}
        steps: dict[type, Callable[[Any], str]] = {
            AskModel: lambda request: request.purpose,
            SearchAll: lambda _: "retrieve",
            Assemble: lambda _: "assemble",
        }
        return ports | {kind: _in_span(name_of, ports[kind]) for kind, name_of in steps.items()}

    def _assemble(self, request: Assemble) -> Context:
        postprocessor = self._evidence.filtered_postprocessor(request.filter)
        given = postprocessor.arguments(request.hits, request.query, request.supplement, request.conversation)
        given["config"] = request.limit_config(given["config"])
        return self._keep_nodes(postprocessor.assemble_as(AssembledNodes.build, given).emit_event())

    async def _aassemble(self, request: Assemble) -> Context:
        postprocessor = self._evidence.filtered_postprocessor(request.filter)
        given = postprocessor.arguments(request.hits, request.query, request.supplement, request.conversation)
        given["config"] = request.limit_config(given["config"])
        return self._keep_nodes((await postprocessor.aassemble_as(AssembledNodes.build, given)).emit_event())

    def _keep_nodes(self, assembled: AssembledNodes) -> Context:
        self._assembled.append(assembled)
        self.nodes[:] = assembled.nodes
        return assembled.payload.context

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


def in_span(name: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `function`, sync or async, in a span called `name`. The span of a streamed answer covers its beginning."""

    def step(request: Any) -> Any:
        return function(request)

    async def astep(request: Any) -> Any:
        return await function(request)

    traced = astep if is_async(function) else step
    traced.__name__ = traced.__qualname__ = name
    return cast(Callable[[Any], Any], dispatcher.span(traced))


def _in_span(name_of: Callable[[Any], str], port: Port) -> Port:
    """Return `port` with each call in a span, which `name_of` names."""

    async def acall(request: Any) -> Any:
        return await in_span(name_of(request), port.acall)(request)

    return Port(lambda request: in_span(name_of(request), port.call)(request), acall)


Events = Generator[AnswerPiece | Answer, None, None]
AsyncEvents = AsyncGenerator[AnswerPiece | Answer, None]
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
