"""One run of an answer chain, with its steps as runs of LangChain: "understand", "retrieve", "assemble" and "answer".

A call of the model is a run by itself. A search isn't: a question may be searched for in several ways at once, and
these searches are one step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    patch_config,
)
from typing_extensions import override

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.requests import AnswerCall, Assemble, Exchange, Readmit, SearchAll
from ctxassembly.assembly.selection.supplement import resolve_supplement
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.errors import InputError
from ctxassembly.integrations.messages import HistoryMessage, answer_payload, to_exchanges
from ctxassembly.integrations.metadata import ContextPayload, answer_metadata
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime import answer_run
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.answering.chat_model import AnswerModels, question_in
from langchain_ctxassembly.answering.evidence import RetrieverEvidence
from langchain_ctxassembly.assembler import assembler_inputs
from langchain_ctxassembly.convert.documents import document_of, documents_from
from langchain_ctxassembly.search.caller_filter import ambient_config

ChainParts: TypeAlias = answer_run.ChainParts[AnswerModels, RetrieverEvidence]

FILTER_REMEDY = (
    "Give the filter as data, even where the search takes a function: ContextAssembler(filter={'tenant': ...}), or say "
    "neighbors='unfiltered' if every caller may read everything"
)


def messages_of(history: Any) -> list[BaseMessage]:
    """Return the messages of a `chat_history`, in any form that LangChain takes; None is an empty history.

    Raises:
        InputError: `history` has another form.
    """
    try:
        return convert_to_messages(history or [])
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"chat_history must be a list of messages, got {safe_repr(history)}") from error


def exchanges_of(messages: list[BaseMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions in `messages`. Messages of the system and of tools are left out."""
    return to_exchanges(
        HistoryMessage(isinstance(message, HumanMessage), str(message.text), message.additional_kwargs.get(MESSAGE_KEY))
        for message in messages
        if isinstance(message, (HumanMessage, AIMessage))
    )


class AnswerRun(answer_run.AnswerRun):
    """One call of `answer_chain`."""

    def __init__(self, parts: ChainParts, inputs: Any, config: RunnableConfig, *, is_streamed: bool) -> None:
        question, messages = question_in(inputs), messages_of(inputs.get("chat_history"))
        mode, condition = inputs.get("mode") or "normal", parts.evidence.call_filter(inputs.get("filter"))
        self._evidence, self._run_config, self._labels = parts.evidence, config, Labels.after(messages)
        call = AnswerCall(
            question, exchanges_of(messages), mode, condition, is_streamed=is_streamed, labels=self._labels
        )
        with ambient_config(config):
            super().__init__(replace(parts, model=replace(parts.model, config=config)), call, FILTER_REMEDY)

    @override
    def ask(self, request: Any) -> Any:
        if isinstance(request, SearchAll):
            return self._search(request)
        if isinstance(request, Assemble):
            return self._assembling_runnable(request).invoke(self._assembler_inputs(request), self._run_config)
        if isinstance(request, Readmit):
            with ambient_config(self._run_config):
                return super().ask(request)
        return super().ask(request)

    @override
    async def aask(self, request: Any) -> Any:
        if isinstance(request, SearchAll):
            return await self._asearch(request)
        if isinstance(request, Assemble):
            return await self._assembling_runnable(request).ainvoke(self._assembler_inputs(request), self._run_config)
        if isinstance(request, Readmit):
            with ambient_config(self._run_config):
                return await super().aask(request)
        return await super().aask(request)

    def output(self, answer: Answer) -> dict[str, Any]:
        """Return the output of the chain without the text of the answer, which its pieces have given."""
        payload = ContextPayload(answer.context) if answer.context else None
        message = AIMessage(answer.text, additional_kwargs={MESSAGE_KEY: answer_payload(answer, self._labels)})
        return {
            "input": self.call.question,
            "context": documents_from(payload) if payload else [],
            "documents": [document_of(hit) for hit in answer.hits],
            **answer_metadata(answer, payload),
            "result": answer,
            "message": message,
        }

    def _search(self, request: SearchAll) -> Sequence[Retrieved | Exception]:
        """Return the results of all searches of a question, in one run."""
        manager = get_callback_manager_for_config(self._run_config)
        run = manager.on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient_config(patch_config(self._run_config, callbacks=run.get_child())):
                replies: Sequence[Retrieved | Exception] = super().ask(request)
        except BaseException as error:
            run.on_retriever_error(error)
            raise
        found, failure = _collect_documents(replies)
        run.on_retriever_error(failure) if failure else run.on_retriever_end(found)
        return replies

    async def _asearch(self, request: SearchAll) -> Sequence[Retrieved | Exception]:
        """Async version of `_search`."""
        manager = get_async_callback_manager_for_config(self._run_config)
        run = await manager.on_retriever_start(None, _query(request), name="retrieve")
        try:
            with ambient_config(patch_config(self._run_config, callbacks=run.get_child())):
                replies: Sequence[Retrieved | Exception] = await super().aask(request)
        except BaseException as error:
            await run.on_retriever_error(error)
            raise
        found, failure = _collect_documents(replies)
        await (run.on_retriever_error(failure) if failure else run.on_retriever_end(found))
        return replies

    def _assembling_runnable(self, request: Assemble) -> RunnableLambda[Any, Context]:
        assembler, search = self._evidence.assembler_and_search(request.filter)
        if assembler.labels is None:
            original, assembler = assembler, assembler.model_copy(update={"labels": self._labels})
            assembler.share_warnings_with(original)
        assemble = partial(assembler.assemble_context, search=search)
        return RunnableLambda(assemble, partial(assembler.aassemble_context, search=search), name="assemble")

    def _assembler_inputs(self, request: Assemble) -> Mapping[str, Any]:
        own = resolve_supplement(request.query, self._evidence.supplement)
        return assembler_inputs(request.hits, request.query, request.supplement if own is None else own)


def _query(request: SearchAll) -> str:
    return "\n".join(dict.fromkeys(search.question.effective_query for search in request.searches))


def _collect_documents(replies: Sequence[Retrieved | Exception]) -> tuple[list[Document], Exception | None]:
    """Return the documents of all searches, each once, and an error if every search failed."""
    found = [reply for reply in replies if not isinstance(reply, Exception)]
    if not found:
        return [], cast(Exception, replies[0])
    hits = {hit.chunk.identity: hit for reply in found for hit in reply.hits}
    return [document_of(hit) for hit in hits.values()], None
