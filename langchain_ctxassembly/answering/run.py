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
from ctxassembly.answering.call import AnswerCall
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import Assemble, Exchange, Readmit, Search, SearchAll
from ctxassembly.assembly.selection.supplement import resolve_supplement
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
from ctxassembly.runtime.answer import today
from ctxassembly.runtime.answer_services import AnswerServices
from ctxassembly.runtime.driver import adrive_stream, drive_stream
from ctxassembly.safe_repr import safe_repr
from ctxassembly.user_warnings import WarnOnce
from langchain_ctxassembly.answering.chat_model import AnswerModels, question_in
from langchain_ctxassembly.answering.evidence import RetrieverEvidence
from langchain_ctxassembly.convert.documents import document_of, documents_from
from langchain_ctxassembly.search.caller_filter import ambient_config

# The requests of one run of an answer chain, answered in spans: "understand", "retrieve", "assemble" and "answer".
#
# A call of the model is a run by itself. A search isn't: a question may be searched for in several ways at once, and
# they are one step.


@dataclass(frozen=True)
class RunEvidence:
    """The evidence of one run."""

    evidence: RetrieverEvidence
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
        with ambient_config(self.config):
            return self.evidence.readmit(request)

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        with ambient_config(self.config):
            return await self.evidence.areadmit(request)

    def reach(self, condition: Any) -> Reach:
        """What a call with that filter may read."""
        with ambient_config(self.config):
            return self.evidence.reach(condition)

    def assemble(self, request: Assemble) -> Context:
        """The context, from a run of its own."""
        return self._assembling_runnable(request).invoke(self._assembler_inputs(request), self.config)

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        return await self._assembling_runnable(request).ainvoke(self._assembler_inputs(request), self.config)

    def _assembling_runnable(self, request: Assemble) -> RunnableLambda[Any, Context]:
        assembler, search = self.evidence.assembler_and_search(request.filter)
        if assembler.labels is None:
            original, assembler = assembler, assembler.model_copy(update={"labels": self.labels})
            assembler.share_warnings_with(original)
        assemble = partial(assembler.assemble_context, search=search)
        return RunnableLambda(assemble, partial(assembler.aassemble_context, search=search), name="assemble")

    def _assembler_inputs(self, request: Assemble) -> Mapping[str, Any]:
        own = resolve_supplement(request.query, self.evidence.supplement)
        supplement = request.supplement if own is None else own
        return {"documents": list(request.hits), "query": request.query, "supplement": supplement}


@dataclass(frozen=True)
class TracedServices:
    """`services`, with one run for all searches of a question."""

    services: AnswerServices
    config: RunnableConfig

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if not isinstance(request, SearchAll):
            return self.services.ask(request)
        run = get_callback_manager_for_config(self.config).on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient_config(patch_config(self.config, callbacks=run.get_child())):
                replies = self.services.ask(request)
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        found, failure = _collect_documents(replies)
        run.on_retriever_error(failure) if failure else run.on_retriever_end(found)
        return replies

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        if not isinstance(request, SearchAll):
            return await self.services.aask(request)
        manager = get_async_callback_manager_for_config(self.config)
        run = await manager.on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient_config(patch_config(self.config, callbacks=run.get_child())):
                replies = await self.services.aask(request)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        found, failure = _collect_documents(replies)
        await (run.on_retriever_error(failure) if failure else run.on_retriever_end(found))
        return replies


def _query(request: SearchAll) -> str:
    return "\n".join(dict.fromkeys(search.question.effective_query for search in request.searches))


def _collect_documents(replies: Sequence[Retrieved | Exception]) -> tuple[list[Document], Exception | None]:
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
        raise InputError(f"chat_history must be a list of messages, got {safe_repr(history)}") from error


def exchanges_of(messages: list[BaseMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered. Those of the system and of tools are left out."""
    return to_exchanges(
        HistoryMessage(isinstance(message, HumanMessage), str(message.text), message.additional_kwargs.get(MESSAGE_KEY))
        for message in messages
        if isinstance(message, (HumanMessage, AIMessage))
    )


def message_of(answer: Answer, labels: Labels | None) -> AIMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    return AIMessage(answer.text, additional_kwargs={MESSAGE_KEY: answer_payload(answer, labels)})


FILTER_REMEDY = (
    "Give the filter as data, even where the search takes a function: ContextAssembler(filter={'tenant': ...}), or say "
    "neighbors='unfiltered' if every caller may read everything"
)


@dataclass(frozen=True)
class ChainParts:
    """The parts of a chain."""

    llm: Runnable[Any, Any]
    models: Mapping[str, Runnable[Any, Any]]
    structured: bool
    evidence: RetrieverEvidence
    config: AnswerConfig
    cache: AnswerCache | None
    warnings: WarnOnce = field(default_factory=WarnOnce)
    """The warning given that nothing is cached."""

    def models_for(self, config: RunnableConfig) -> AnswerModels:
        """The models of one run."""
        return AnswerModels(self.llm, self.models, self.structured, config)


class AnswerRun:
    """One run: its call, and what answers it."""

    def __init__(self, parts: ChainParts, inputs: Any, config: RunnableConfig, *, is_streamed: bool) -> None:
        question, messages = question_in(inputs), messages_of(inputs.get("chat_history"))
        mode, condition = inputs.get("mode") or "normal", parts.evidence.call_filter(inputs.get("filter"))
        self.labels = Labels.after(messages)
        source, reach = RunEvidence(parts.evidence, self.labels, config), None
        if can_use_cache(parts.cache, self.labels):
            reach = source.reach(condition).warn(parts.warnings, FILTER_REMEDY)
        self.call = AnswerCall(
            question, exchanges_of(messages), mode, condition, today(), is_streamed, reach, self.labels
        )
        self._settings = parts.config
        self._services = AnswerServices(parts.models_for(config), source, parts.config, parts.cache)
        self._traced_services = TracedServices(self._services, config)

    def events(self) -> Iterator[AnswerPiece | Answer]:
        """The pieces of the answer, and then the answer."""
        with self._services:
            yield from drive_stream(self._flow(), self._traced_services.ask, AnswerPiece)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """The same, awaited."""
        async with self._services:
            async for event in adrive_stream(self._flow(), self._traced_services.aask, AnswerPiece):
                yield event

    def output(self, answer: Answer) -> dict[str, Any]:
        """All of the output but the text."""
        payload = ContextPayload(answer.context) if answer.context else None
        return {
            "input": self.call.question,
            "context": documents_from(payload) if payload else [],
            "documents": [document_of(hit) for hit in answer.hits],
            **answer_metadata(answer, payload),
            "result": answer,
            "message": message_of(answer, self.labels),
        }

    def _flow(self) -> Flow:
        return answer_flow(self.call, self._settings, time.perf_counter)
