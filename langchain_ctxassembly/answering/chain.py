"""`answer_chain`: from a question in a conversation to an answer whose citations are checked; and its first step alone.

The steps of a run are runs of LangChain: "understand", "retrieve", "assemble" and "answer". A call of the model is a
run by itself. A search isn't: a question may be searched for in several ways at once, and these searches are one step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableGenerator, RunnableLambda
from langchain_core.runnables.utils import AddableDict
from typing_extensions import NotRequired, TypedDict, override

from ctxassembly.adapters.metadata import (
    HistoryMessage,
    answer_metadata,
    answer_payload,
    to_exchanges,
)
from ctxassembly.answering.answer import Answer
from ctxassembly.answering.cache import CacheScope
from ctxassembly.answering.requests import AnswerCall, Exchange, SearchAll
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.errors import InputError
from ctxassembly.runtime.answer import aunderstand, understand
from ctxassembly.runtime.answer_run import AnswerRun, ChainParts, check_answer_config, check_cache
from ctxassembly.runtime.driver import Port
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.answering.chat_model import AnswerModels, check_model, question_in
from langchain_ctxassembly.answering.evidence import Source, evidence_of, source_of
from langchain_ctxassembly.assembler import ContextAssembler, read_conversation
from langchain_ctxassembly.convert.documents import document_of, documents_from
from langchain_ctxassembly.convert.models import as_cache
from langchain_ctxassembly.spans import has_listeners

EVENT = "question_answered"
"""The custom event that carries the trace of an answer to callbacks and `astream_events`."""


class AnswerInput(TypedDict):
    """A question in a conversation, as `answer_chain` describes it."""

    input: str
    chat_history: NotRequired[list[BaseMessage]]
    conversation: NotRequired[Any]
    mode: NotRequired[str]
    filter: NotRequired[Any]


class AnswerOutput(TypedDict):
    """An answer, as `answer_chain` describes it. `result` is an `Answer`, of which pydantic makes no schema."""

    input: str
    answer: str
    context: list[Document]
    citations: list[dict[str, Any]]
    quotes: list[dict[str, Any]]
    documents: list[Document]
    trace: dict[str, Any]
    conversation: dict[str, Any]
    result: Any
    message: AIMessage


def history_in(inputs: Any) -> list[BaseMessage]:
    """Return the messages of a `chat_history`, in any form that LangChain takes; None is an empty history.

    Raises:
        InputError: it has another form.
    """
    history = inputs.get("chat_history") or []
    try:
        return convert_to_messages(history)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"chat_history must be a list of messages, got {safe_repr(history)}") from error


def exchanges_of(messages: list[BaseMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions in `messages`, without messages of the system and of tools."""
    return to_exchanges(
        HistoryMessage(isinstance(message, HumanMessage), str(message.text), message.additional_kwargs.get(MESSAGE_KEY))
        for message in messages
        if isinstance(message, (HumanMessage, AIMessage))
    )


class AnswerRunnable(RunnableGenerator[AnswerInput, AnswerOutput]):
    """The runnable that `answer_chain` returns."""

    InputType, OutputType = AnswerInput, AnswerOutput

    def __init__(self, parts: ChainParts, source: Source) -> None:
        self._parts, self._source = parts, source
        super().__init__(cast(Any, self._stream_answer), cast(Any, self._astream_answer), name="answer_chain")

    @override
    def invoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """Return the answer with citations, documents and trace."""
        return self._call_with_config(cast(Any, self._answer), input, config, **kwargs)

    @override
    async def ainvoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """Async version of `invoke`."""
        return await self._acall_with_config(cast(Any, self._aanswer), input, config, **kwargs)

    def _answer(self, inputs: Any, config: RunnableConfig) -> AnswerOutput:
        answer = self._start_run(inputs, config).answer()
        return cast(AnswerOutput, {"answer": answer.text, **_finish(answer, config)})

    async def _aanswer(self, inputs: Any, config: RunnableConfig) -> AnswerOutput:
        answer = await self._start_run(inputs, config).aanswer()
        return cast(AnswerOutput, {"answer": answer.text, **await _afinish(answer, config)})

    def _stream_answer(self, inputs: Iterator[Any], config: RunnableConfig) -> Iterator[AddableDict]:
        run = self._start_run(reduce(add, inputs), config, is_streamed=True)
        for event in run.events():
            if isinstance(event, Answer):
                yield AddableDict(_finish(event, config))
            else:
                yield AddableDict(answer=event.text)

    async def _astream_answer(self, inputs: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[AddableDict]:
        run = self._start_run(reduce(add, [piece async for piece in inputs]), config, is_streamed=True)
        async with aclosing(run.aevents()) as events:
            async for event in events:
                if isinstance(event, Answer):
                    yield AddableDict(await _afinish(event, config))
                else:
                    yield AddableDict(answer=event.text)

    def _start_run(self, inputs: Any, config: RunnableConfig, *, is_streamed: bool = False) -> AnswerRun:
        """Return one call of the chain, whose steps are runs below the run of `config`."""
        question, messages = question_in(inputs), history_in(inputs)
        own = self._source.assembler.conversation or Conversation()
        given = read_conversation(inputs.get("conversation"))
        call = AnswerCall(
            question,
            exchanges_of(messages),
            inputs.get("mode") or "normal",
            inputs.get("filter"),
            is_streamed=is_streamed,
            conversation=given or own.join(Conversation.from_messages(messages)),
            background="\n\n".join(str(one.text) for one in messages if isinstance(one, SystemMessage)),
        )
        parts = replace(self._parts, model=replace(self._parts.model, config=config))
        return AnswerRun(parts, evidence_of(self._source, config), call, partial(_with_search_run, config), config)


def _finish(answer: Answer, config: RunnableConfig) -> dict[str, Any]:
    """Return the output of the chain, but for the text of the answer, after sending the event."""
    output = _output_of(answer)
    if has_listeners(config):
        dispatch_custom_event(EVENT, output["trace"], config=config)
    return output


async def _afinish(answer: Answer, config: RunnableConfig) -> dict[str, Any]:
    """Async version of `_finish`."""
    output = await run_in_worker(partial(_output_of, answer))
    if has_listeners(config):
        await adispatch_custom_event(EVENT, output["trace"], config=config)
    return output


def _output_of(answer: Answer) -> dict[str, Any]:
    message = AIMessage(answer.text, additional_kwargs={MESSAGE_KEY: answer_payload(answer)})
    return {
        "input": answer.question,
        "context": documents_from(answer.context) if answer.context else [],
        "documents": [document_of(hit) for hit in answer.hits],
        **answer_metadata(answer),
        "result": answer,
        "message": message,
    }


def _with_search_run(config: RunnableConfig, ports: dict[type, Port]) -> dict[type, Port]:
    """Return `ports`; all searches of a question are one run below the run of `config`, from queries to documents."""
    port = ports[SearchAll]

    def run_for(request: SearchAll) -> tuple[RunnableLambda[str, list[Document]], str, list[Any]]:
        replies: list[Any] = []

        def search(_: str) -> list[Document]:
            replies.extend(port.call(request))
            return _documents_in(replies)

        async def asearch(_: str) -> list[Document]:
            replies.extend(await port.acall(request))
            return _documents_in(replies)

        queries = dict.fromkeys(search.question.effective_query for search in request.searches)
        return RunnableLambda(search, asearch, name="retrieve"), "\n".join(queries), replies

    def search_all(request: SearchAll) -> list[Any]:
        run, queries, replies = run_for(request)
        try:
            run.invoke(queries, config)
        except Exception:
            if not replies:
                raise
        return replies

    async def asearch_all(request: SearchAll) -> list[Any]:
        run, queries, replies = run_for(request)
        try:
            await run.ainvoke(queries, config)
        except Exception:
            if not replies:
                raise
        return replies

    return ports | {SearchAll: Port(search_all, asearch_all)}


def _documents_in(replies: list[Any]) -> list[Document]:
    """Return the documents that searches found, each once.

    Raises:
        Exception: the error of the first search, if all have failed.
    """
    found = [reply for reply in replies if not isinstance(reply, Exception)]
    if not found:
        raise replies[0]
    hits = {hit.chunk.identity: hit for reply in found for hit in reply.hits}
    return [document_of(hit) for hit in hits.values()]


def answer_chain(
    llm: Runnable[Any, Any],
    retriever: Runnable[str, list[Document]],
    config: AnswerConfig | None = None,
    *,
    models: Mapping[str, Runnable[Any, Any]] | None = None,
    assembler: ContextAssembler | None = None,
    structured: bool = True,
    cache: Any = None,
    cache_scope: CacheScope | None = None,
) -> Runnable[AnswerInput, AnswerOutput]:
    """Return a runnable from a question to its answer, with citations, documents and trace.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> from langchain_core.language_models import FakeListChatModel
    >>> from langchain_ctxassembly import ContextRetriever
    >>> leaflet = {"source": "lab.pdf"}
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0, metadata=leaflet)])
    >>> retriever = ContextRetriever(index, config=RetrievalConfig(strategy="keyword"))
    >>> chain = answer_chain(FakeListChatModel(responses=["In the morning [1]."]), retriever)
    >>> said = chain.invoke({"input": "When is ferritin measured?"})
    >>> said["answer"], [citation["source"] for citation in said["citations"]]
    ('In the morning [1].', ['lab.pdf'])

    Input: `input`, the question; `chat_history`, the messages so far; `conversation`, where these don't carry it;
    `mode`, one of `config.modes`; `filter`, in the form of the retriever. Only the first is required, and other keys
    are ignored. Add `message` of the output to the history, not the bare text: it carries the names of the documents
    that the answer cites, which the next question may prefer, and the labels of its context, which documents keep.
    History is trusted as the caller's own.

    Output: `input`; `answer`; `context`, a document per label; `citations` that the answer uses and its `quotes`, as
    plain data; `documents`, the chunks before assembly; `trace`, as plain data; `message`, for the history;
    `conversation`, for the next question, as plain data; `result`, the engine's `Answer`. All but `result` survive the
    checkpoint of a graph.

    A stream yields `{"answer": piece}` first, labels whole, and then everything else in one dict. Their sum is the
    output. Each step is a run below the chain's: "understand", "retrieve", "assemble", "answer", and by option
    "summarize". Below these are the searches of a `ContextRetriever`, their steps, and the stages of the assembly. Each
    answer sends the custom event `question_answered` with its trace. With `forbidden` or `think_harder` a stream is
    held back until the answer is whole.

    Args:
        llm: a chat model, also with `with_fallbacks`, `with_retry`, bound arguments or configurable alternatives, or
            any runnable from messages to a message or a text. In a stream, LangChain's fallbacks switch only before
            the first token: if a model fails later, an `AnswerError` is raised, and the pieces so far are no answer.
        retriever: a `ContextRetriever`, which takes modes, filters and intents; a `ContextAssemblyRetriever`; or any
            retriever, whose documents are assembled by `assembler`. A vector store's retriever takes the mode's `limit`
            and the filter of a call; others get the query alone, and refuse a filter.
        config: the settings.
        models: models by mode, such as `{"escalated": other}`, used instead of `llm`.
        assembler: the assembler for a retriever that has none.
        cache: a LangChain cache, or an `AnswerCache`. It is used for questions that begin a conversation, or follow
            one without labels.
        cache_scope: who may share its answers: a value, such as "everybody", or a function from a `ScopeCall` to one,
            such as `lambda call: call.config["configurable"]["tenant"]`. If it returns None, the answer is neither read
            from the cache nor kept.
        structured: False requests JSON in text even from a model that can call tools, for a server that refuses them.

    A mode's `answer_tokens` replaces a chat model's own limit (`max_tokens` and its other names); a reasoning model may
    count its reasoning tokens, too.

    Raises:
        ConfigError: an argument has another type, `models` has a mode that `config` hasn't, or there is a cache without
            a scope.
    """
    config = check_answer_config(config)
    for name, model in {"llm": llm, **{f"models[{mode!r}]": model for mode, model in (models or {}).items()}}.items():
        check_model(name, model)
    for mode in models or {}:
        config.mode(mode)
    source, answer_cache = source_of(retriever, assembler), as_cache(cache)
    check_cache(answer_cache, cache_scope)
    chain_models = AnswerModels(llm, models or {}, structured, {})
    return AnswerRunnable(ChainParts(chain_models, config, answer_cache, cache_scope), source)


def understanding_chain(
    llm: Runnable[Any, Any], config: AnswerConfig | None = None, *, structured: bool = True
) -> Runnable[Any, QueryUnderstanding]:
    """Return a runnable from `{"input": ..., "chat_history": ...}` to a `QueryUnderstanding`.

    The result has the intent, the rewritten question and the sub-questions that `config` requests. The
    model is called once, and not at all if `config` requests nothing. If the call fails, or the reply has the wrong
    form, the question stays unchanged, with a note. The arguments are the same as for `answer_chain`.

    >>> from ctxassembly.answering import AnswerConfig, Intent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> config = AnswerConfig(intents=(Intent("practical", "Parking."), Intent("care", "Treatments.")))
    >>> llm = FakeListChatModel(responses=['{"intent": "practical", "confidence": 0.9}'])
    >>> understanding_chain(llm, config).invoke({"input": "Is parking free?"}).intent
    'practical'

    Raises:
        ConfigError: an argument has another type.
    """
    check_model("llm", llm)
    config = check_answer_config(config)

    def arguments(inputs: Any, run: RunnableConfig) -> Mapping[str, Any]:
        return {
            "question": question_in(inputs),
            "history": exchanges_of(history_in(inputs)),
            "model": AnswerModels(llm, {}, structured, run),
            "config": config,
        }

    def run_understanding(inputs: Any, config: RunnableConfig) -> QueryUnderstanding:
        return understand(**arguments(inputs, config))

    async def arun_understanding(inputs: Any, config: RunnableConfig) -> QueryUnderstanding:
        return await aunderstand(**arguments(inputs, config))

    return RunnableLambda(run_understanding, arun_understanding, name="understanding")
