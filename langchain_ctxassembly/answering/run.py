"""One run of an answer chain."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache_key import Reach
from ctxassembly.answering.call import Call
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import Assemble, Exchange, Readmit, Search, SearchAll
from ctxassembly.assembly.selection.supplement import supplement_for
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
from ctxassembly.runtime.answer import today
from ctxassembly.runtime.answer_services import Answering
from ctxassembly.runtime.driver import astream_run, stream_run
from ctxassembly.safe_repr import shown
from ctxassembly.user_warnings import Once
from langchain_ctxassembly.answering.chat_model import AskedModel, question_in
from langchain_ctxassembly.answering.evidence import Evidence
from langchain_ctxassembly.convert.documents import document_of, documents_from
from langchain_ctxassembly.search.caller_filter import ambient

# The requests of one run of an answer chain, answered in spans: "understand", "retrieve", "assemble" and "answer".
#
# A call of the model is a run by itself. A search isn't: a question may be searched for in several ways at once, and
# they are one step.


@dataclass(frozen=True)
class Source:
    """The evidence of one run."""

    evidence: Evidence
    labels: Labels
    """Those of the conversation, unless the assembler has some."""
    config: RunnableConfig

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""
        return self.evidence.search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.evidence.asearch(request)

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The chunks cited before that the call may read."""
        with ambient(self.config):
            return self.evidence.readmit(request)

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        with ambient(self.config):
            return await self.evidence.areadmit(request)

    def reach(self, condition: Any) -> Reach:
        """What a call with that filter may read."""
        with ambient(self.config):
            return self.evidence.reach(condition)

    def assemble(self, request: Assemble) -> Context:
        """The context, from a run of its own."""
        return self._assembling(request).invoke(self._given(request), self.config)

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        return await self._assembling(request).ainvoke(self._given(request), self.config)

    def _assembling(self, request: Assemble) -> RunnableLambda[Any, Context]:
        assembler, search = self.evidence.assembling(request.filter)
        if assembler.labels is None:
            given, assembler = assembler, assembler.model_copy(update={"labels": self.labels})
            assembler.knows_what_was_warned_of(given)
        assembled = partial(assembler.assembled, search=search)
        return RunnableLambda(assembled, partial(assembler.aassembled, search=search), name="assemble")

    def _given(self, request: Assemble) -> Mapping[str, Any]:
        own = supplement_for(request.query, self.evidence.supplement)
        supplement = request.supplement if own is None else own
        return {"documents": list(request.hits), "query": request.query, "supplement": supplement}


@dataclass(frozen=True)
class Asking:
    """`asking`, with one run for all searches of a question."""

    asking: Answering
    config: RunnableConfig

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if not isinstance(request, SearchAll):
            return self.asking.ask(request)
        run = get_callback_manager_for_config(self.config).on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient(patch_config(self.config, callbacks=run.get_child())):
                replies = self.asking.ask(request)
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        found, failure = _outcome(replies)
        run.on_retriever_error(failure) if failure else run.on_retriever_end(found)
        return replies

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        if not isinstance(request, SearchAll):
            return await self.asking.aask(request)
        manager = get_async_callback_manager_for_config(self.config)
        run = await manager.on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient(patch_config(self.config, callbacks=run.get_child())):
                replies = await self.asking.aask(request)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        found, failure = _outcome(replies)
        await (run.on_retriever_error(failure) if failure else run.on_retriever_end(found))
        return replies


def _query(request: SearchAll) -> str:
    return "\n".join(dict.fromkeys(search.question.meant for search in request.searches))


def _outcome(replies: Sequence[Retrieved | Exception]) -> tuple[list[Document], Exception | None]:
    """The documents of all searches, each once; an error if none of them answered."""
    found = [reply for reply in replies if not isinstance(reply, Exception)]
    if not found:
        return [], cast(Exception, replies[0])
    hits = {hit.chunk.identity: hit for reply in found for hit in reply.hits}
    return [document_of(hit) for hit in hits.values()], None


def messages_of(history: Any) -> list[BaseMessage]:
    """The messages of a `chat_history`, in any form that LangChain takes; None is an empty one.

    Raises:
        InputError: it is something else.
    """
    try:
        return convert_to_messages(history or [])
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"chat_history must be a list of messages, got {shown(history)}") from error


def exchanges_of(messages: list[BaseMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered. Those of the system and of tools are left out."""
    return exchanges(
        Said(isinstance(message, HumanMessage), str(message.text), message.additional_kwargs.get(KEPT))
        for message in messages
        if isinstance(message, (HumanMessage, AIMessage))
    )


def message_of(answer: Answer, labels: Labels | None) -> AIMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    return AIMessage(answer.text, additional_kwargs={KEPT: carried(answer, labels)})


REMEDY = (
    "Give the filter as data, even where the search takes a function: ContextAssembler(filter={'tenant': ...}), or say "
    "neighbours='unfiltered' if every caller may read everything"
)


@dataclass(frozen=True)
class Parts:
    """The parts of a chain."""

    llm: Runnable[Any, Any]
    models: Mapping[str, Runnable[Any, Any]]
    structured: bool
    evidence: Evidence
    config: AnswerConfig
    cache: AnswerCache | None
    warned: Once = field(default_factory=Once)
    """The warning given that nothing is cached."""

    def asked(self, config: RunnableConfig) -> AskedModel:
        """The models of one run."""
        return AskedModel(self.llm, self.models, self.structured, config)


class Run:
    """One run: its call, and what answers it."""

    def __init__(self, parts: Parts, given: Any, config: RunnableConfig, *, streamed: bool) -> None:
        question, messages = question_in(given), messages_of(given.get("chat_history"))
        mode, condition = given.get("mode") or "normal", parts.evidence.filter_of(given.get("filter"))
        self.labels = Labels.after(messages)
        source, found = Source(parts.evidence, self.labels, config), None
        if may_recall(parts.cache, self.labels):
            found = source.reach(condition).warn(parts.warned, REMEDY)
        self.call = Call(question, exchanges_of(messages), mode, condition, today(), streamed, found, self.labels)
        self._settings = parts.config
        self._answering = Answering(parts.asked(config), source, parts.config, parts.cache)
        self._asking = Asking(self._answering, config)

    def events(self) -> Iterator[AnswerPiece | Answer]:
        """The pieces of the answer, and then the answer."""
        with self._answering:
            yield from stream_run(self._flow(), self._asking.ask, AnswerPiece)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """The same, awaited."""
        async with self._answering:
            async for event in astream_run(self._flow(), self._asking.aask, AnswerPiece):
                yield event

    def output(self, answer: Answer) -> dict[str, Any]:
        """All of the output but the text."""
        told = Told(answer.context) if answer.context else None
        return {
            "input": self.call.question,
            "context": documents_from(told) if told else [],
            "documents": [document_of(hit) for hit in answer.hits],
            **parts_of(answer, told),
            "result": answer,
            "message": message_of(answer, self.labels),
        }

    def _flow(self) -> Flow:
        return answer_flow(self.call, self._settings, time.perf_counter)
