"""`answer_chain`: from a question in a conversation to an answer whose citations are checked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial, reduce
from operator import add
from typing import Any, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.utils import AddableDict
from typing_extensions import NotRequired, TypedDict, override

from ctxassembly.answering.answer import Answer
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.answer_run import check_answer_config
from langchain_ctxassembly.answering.chat_model import AnswerModels, check_model
from langchain_ctxassembly.answering.evidence import evidence_of
from langchain_ctxassembly.answering.run import AnswerRun, ChainParts
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.convert.models import as_cache
from langchain_ctxassembly.spans import has_listeners

EVENT = "question_answered"
"""The custom event that carries the trace of an answer to callbacks and `astream_events`."""


class AnswerInput(TypedDict):
    """A question in a conversation."""

    input: str
    chat_history: NotRequired[list[BaseMessage]]
    mode: NotRequired[str]
    filter: NotRequired[Any]


class AnswerOutput(TypedDict):
    """An answer, as `answer_chain` describes it."""

    input: str
    answer: str
    context: list[Document]
    citations: list[dict[str, Any]]
    quotes: list[dict[str, Any]]
    documents: list[Document]
    trace: dict[str, Any]
    result: Any
    """An `Answer`; pydantic makes no schema of it."""
    message: AIMessage


class AnswerRunnable(Runnable[AnswerInput, AnswerOutput]):
    """The runnable that `answer_chain` returns."""

    def __init__(self, parts: ChainParts) -> None:
        self._parts = parts
        self.name = "answer_chain"

    @override
    def invoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """Return the answer with citations, documents and trace."""
        return self._call_with_config(cast(Any, self._answer), input, config, **kwargs)

    @override
    async def ainvoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """Async version of `invoke`."""
        return await self._acall_with_config(cast(Any, self._aanswer), input, config, **kwargs)

    @override
    def stream(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[AnswerOutput]:
        """Yield the pieces of the answer, labels whole, then citations, documents and trace."""
        yield from self.transform(iter([input]), config, **kwargs)

    @override
    async def astream(
        self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AnswerOutput]:
        """Async version of `stream`."""

        async def once() -> AsyncIterator[AnswerInput]:
            yield input

        async with aclosing(self.atransform(once(), config, **kwargs)) as pieces:
            async for piece in pieces:
                yield piece

    @override
    def transform(
        self, input: Iterator[AnswerInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AnswerOutput]:
        """Yield as `stream` does, for an input that arrives in pieces."""
        yield from self._transform_stream_with_config(input, cast(Any, self._stream_answer), config, **kwargs)

    @override
    async def atransform(
        self, input: AsyncIterator[AnswerInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncGenerator[AnswerOutput, None]:
        """Async version of `transform`."""
        stream = self._atransform_stream_with_config(input, cast(Any, self._astream_answer), config, **kwargs)
        async with aclosing(cast(Any, stream)) as pieces:
            async for piece in pieces:
                yield piece

    def _answer(self, inputs: Any, config: RunnableConfig) -> AnswerOutput:
        return cast(AnswerOutput, dict(_sum_pieces(self._iter_pieces(inputs, config, is_streamed=False))))

    async def _aanswer(self, inputs: Any, config: RunnableConfig) -> AnswerOutput:
        pieces = [piece async for piece in self._aiter_pieces(inputs, config, is_streamed=False)]
        return cast(AnswerOutput, dict(_sum_pieces(pieces)))

    def _stream_answer(self, inputs: Iterator[Any], config: RunnableConfig) -> Iterator[Any]:
        yield from self._iter_pieces(_sum_pieces(inputs), config, is_streamed=True)

    async def _astream_answer(self, inputs: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[Any]:
        summed = _sum_pieces([piece async for piece in inputs])
        async with aclosing(self._aiter_pieces(summed, config, is_streamed=True)) as pieces:
            async for piece in pieces:
                yield piece

    def _iter_pieces(self, inputs: Any, config: RunnableConfig, *, is_streamed: bool) -> Iterator[AddableDict]:
        run = AnswerRun(self._parts, inputs, config, is_streamed=is_streamed)
        for event in run.events():
            if isinstance(event, Answer):
                output = run.output(event)
                if has_listeners(config):
                    dispatch_custom_event(EVENT, output["trace"], config=config)
                yield AddableDict(output)
            else:
                yield AddableDict(answer=event.text)

    async def _aiter_pieces(
        self, inputs: Any, config: RunnableConfig, *, is_streamed: bool
    ) -> AsyncGenerator[AddableDict, None]:
        run = AnswerRun(self._parts, inputs, config, is_streamed=is_streamed)
        async with aclosing(run.aevents()) as events:
            async for event in events:
                if isinstance(event, Answer):
                    output = await run_in_worker(partial(run.output, event))
                    if has_listeners(config):
                        await adispatch_custom_event(EVENT, output["trace"], config=config)
                    yield AddableDict(output)
                else:
                    yield AddableDict(answer=event.text)


def _sum_pieces(pieces: Iterable[Any]) -> Any:
    """Return the sum of `pieces`, as LangChain adds them."""
    return reduce(add, pieces)


def answer_chain(
    llm: Runnable[Any, Any],
    retriever: Runnable[str, list[Document]],
    config: AnswerConfig | None = None,
    *,
    models: Mapping[str, Runnable[Any, Any]] | None = None,
    assembler: ContextAssembler | None = None,
    structured: bool = True,
    cache: Any = None,
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

    Input: `input`, the question; `chat_history`, the messages so far; `mode`, one of `config.modes`; `filter`, in the
    form of the retriever. Only the first is required, and other keys are ignored. Add `message` of the output to the
    history, not the bare text: it carries the chunks that the answer cites, which are candidates for the next
    question, and the last label, after which labels of the next context continue. History is trusted as the caller's
    own.

    Output: `input`; `answer`; `context`, a document per label; `citations` that the answer uses and its `quotes`, as
    plain data; `documents`, the chunks before assembly; `trace`, as plain data; `message`, for the history; `result`,
    the engine's `Answer`. All but `result` survive the checkpoint of a graph.

    A stream yields `{"answer": piece}` first, labels whole, and then everything else in one dict. Their sum is the
    output. Each step is a run below the chain's: "understand", "retrieve", "assemble" and "answer". Below these are
    the searches of a `ContextRetriever`, their steps, and the stages of the assembly. Each answer sends the custom
    event `question_answered` with its trace.

    Args:
        llm: a chat model, also with `with_fallbacks`, `with_retry`, bound arguments or configurable alternatives, or
            any runnable from messages to a message or a text. In a stream, LangChain's fallbacks switch only before
            the first token: if a model fails later, an `AnswerError` is raised, and the pieces so far are no answer.
        retriever: a `ContextRetriever`, which takes modes, filters and intents; a `ContextAssemblyRetriever`; or any
            retriever, whose documents are assembled by `assembler`. Other retrievers get the query, the mode's `limit`
            as `k` if they have one, and a filter if their search can be seen to take it. Otherwise a filter is refused.
        config: the settings.
        models: models by mode, such as `{"escalated": other}`, used instead of `llm`.
        assembler: the assembler for a retriever that has none.
        cache: a LangChain cache, or an `AnswerCache`. It is used for questions that begin a conversation, or follow
            one without labels, and only if every filter of the call can be seen; otherwise a warning names the object
            that may hide one.
        structured: False requests JSON in text even from a model that can call tools, for a server that refuses them.

    A mode's `answer_tokens` replaces a chat model's own limit (`max_tokens` and its other names); a reasoning model may
    count its reasoning tokens, too.

    Raises:
        ConfigError: an argument has another type, `models` has a mode that `config` hasn't, or `cache` is given with
            an assembler that has labels.
    """
    config = check_answer_config(config)
    for name, model in {"llm": llm, **{f"models[{mode!r}]": model for mode, model in (models or {}).items()}}.items():
        check_model(name, model)
    for mode in models or {}:
        config.mode(mode)
    evidence, answer_cache = evidence_of(retriever, assembler), as_cache(cache)
    if answer_cache is not None and evidence.assembler.labels is not None:
        raise ConfigError("cache", "None where the assembler has labels=: a kept answer has the labels it had", cache)
    return AnswerRunnable(ChainParts(AnswerModels(llm, models or {}, structured, {}), evidence, config, answer_cache))
