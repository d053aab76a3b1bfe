"""The answer chain as a Runnable: called, awaited, streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
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
from ctxassembly.concurrency import in_turn
from langchain_ctxassembly.chain.run import Parts, Run
from langchain_ctxassembly.listeners import listened_to

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
    """What `answer_chain` returns."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.name = "answer_chain"

    @override
    def invoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """The answer with all that belongs to it."""
        return self._call_with_config(cast(Any, self._answered), input, config, **kwargs)

    @override
    async def ainvoke(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> AnswerOutput:
        """The same as `invoke`, awaited."""
        return await self._acall_with_config(cast(Any, self._aanswered), input, config, **kwargs)

    @override
    def stream(self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[AnswerOutput]:
        """The pieces of the answer as they settle, then all that belongs to it."""
        yield from self.transform(iter([input]), config, **kwargs)

    @override
    async def astream(
        self, input: AnswerInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AnswerOutput]:
        """The same as `stream`, awaited."""

        async def once() -> AsyncIterator[AnswerInput]:
            yield input

        async with aclosing(self.atransform(once(), config, **kwargs)) as pieces:
            async for piece in pieces:
                yield piece

    @override
    def transform(
        self, input: Iterator[AnswerInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AnswerOutput]:
        """The same as `stream`, for an input that comes in pieces."""
        yield from self._transform_stream_with_config(input, cast(Any, self._streamed), config, **kwargs)

    @override
    async def atransform(
        self, input: AsyncIterator[AnswerInput], config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncGenerator[AnswerOutput, None]:
        """The same as `transform`, awaited."""
        streamed = self._atransform_stream_with_config(input, cast(Any, self._astreamed), config, **kwargs)
        async with aclosing(cast(Any, streamed)) as pieces:
            async for piece in pieces:
                yield piece

    def _answered(self, given: Any, config: RunnableConfig) -> AnswerOutput:
        return cast(AnswerOutput, dict(_summed(self._pieces(given, config, streamed=False))))

    async def _aanswered(self, given: Any, config: RunnableConfig) -> AnswerOutput:
        pieces = [piece async for piece in self._apieces(given, config, streamed=False)]
        return cast(AnswerOutput, dict(_summed(pieces)))

    def _streamed(self, inputs: Iterator[Any], config: RunnableConfig) -> Iterator[Any]:
        yield from self._pieces(_summed(inputs), config, streamed=True)

    async def _astreamed(self, inputs: AsyncIterator[Any], config: RunnableConfig) -> AsyncIterator[Any]:
        given = _summed([piece async for piece in inputs])
        async with aclosing(self._apieces(given, config, streamed=True)) as pieces:
            async for piece in pieces:
                yield piece

    def _pieces(self, given: Any, config: RunnableConfig, *, streamed: bool) -> Iterator[AddableDict]:
        run = Run(self._parts, given, config, streamed=streamed)
        for event in run.events():
            if isinstance(event, Answer):
                output = run.output(event)
                if listened_to(config):
                    dispatch_custom_event(EVENT, output["trace"], config=config)
                yield AddableDict(output)
            else:
                yield AddableDict(answer=event.text)

    async def _apieces(
        self, given: Any, config: RunnableConfig, *, streamed: bool
    ) -> AsyncGenerator[AddableDict, None]:
        run = Run(self._parts, given, config, streamed=streamed)
        async with aclosing(run.aevents()) as events:
            async for event in events:
                if isinstance(event, Answer):
                    output = await in_turn(partial(run.output, event))
                    if listened_to(config):
                        await adispatch_custom_event(EVENT, output["trace"], config=config)
                    yield AddableDict(output)
                else:
                    yield AddableDict(answer=event.text)


def _summed(pieces: Iterable[Any]) -> Any:
    """The sum of what comes in pieces, as LangChain adds them."""
    return reduce(add, pieces)
