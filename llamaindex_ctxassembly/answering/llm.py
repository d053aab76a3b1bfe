"""The model of an answer chain: requests of the engine, answered by a LlamaIndex LLM."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, cast

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse

from ctxassembly.answering.requests import AskModel, ModelReply
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.convert.models import is_stalling

READ = ("prompt_tokens", "input_tokens", "prompt_token_count")
WRITTEN = ("completion_tokens", "output_tokens", "candidates_token_count")
FINISH = ("finish_reason", "stop_reason", "done_reason", "reason")
"""The names under which providers tell tokens read and written, and the reason that an answer ended by."""


class CalledLLM:
    """LLMs that are called; awaited callers call them in a thread."""

    def __init__(self, llm: BaseLLM, models: Mapping[str, BaseLLM]) -> None:
        """`models` are those of modes, in the place of `llm`."""
        self._llm, self._models = llm, models

    def ask(self, request: AskModel) -> ModelReply:
        """The reply to `request`."""
        return _whole(self._of(request).chat(_messages(request)))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """The pieces of the reply. Closed before its end, the LLM's own stream is."""
        end = _Ending()
        with closing(cast(Any, self._of(request).stream_chat(_messages(request)))) as pieces:
            for piece in pieces:
                yield ModelReply(end.read(piece))
        yield end.told()

    def _of(self, request: AskModel) -> BaseLLM:
        llm = self._models.get(request.mode, self._llm)
        can_limit = request.max_tokens is not None and "max_tokens" in type(llm).model_fields
        return llm.model_copy(update={"max_tokens": request.max_tokens}) if can_limit else llm


class AwaitedLLM(CalledLLM):
    """LLMs that can be awaited, too."""

    async def aask(self, request: AskModel) -> ModelReply:
        """The reply to `request`."""
        return _whole(await self._of(request).achat(_messages(request)))

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """The same as `stream`, awaited."""
        end = _Ending()
        async with aclosing(cast(Any, await self._of(request).astream_chat(_messages(request)))) as pieces:
            async for piece in pieces:
                yield ModelReply(end.read(piece))
        yield end.told()


class _Ending:
    """What the pieces of a stream tell besides their text: the last piece may have the tokens alone."""

    def __init__(self) -> None:
        self._last: ChatResponse | None = None
        self._finish: str | None = None

    def read(self, piece: ChatResponse | None) -> str:
        """Return the text of `piece`, which may be None."""
        if piece is None:
            return ""
        self._last = piece
        self._finish = _finish(piece) or self._finish
        return piece.delta or ""

    def told(self) -> ModelReply:
        """Return the finish and the tokens of the whole answer."""
        return ModelReply("") if self._last is None else replace(_told(self._last), finish=self._finish)


def chat_model(llm: BaseLLM) -> CalledLLM:
    """An LLM as the engine asks one: for `enrich`, or an `AnswerChain` over an index.

    >>> from ctxassembly import Chunk, MemoryIndex, enrich
    >>> from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
    >>> from llama_index.core.llms import CustomLLM
    >>> class Scripted(CustomLLM):
    ...     @property
    ...     def metadata(self):
    ...         return LLMMetadata()
    ...
    ...     def complete(self, prompt, formatted=False, **settings):
    ...         return CompletionResponse(text='{"summary": "On blood tests."}')
    ...
    ...     def stream_complete(self, prompt, formatted=False, **settings):
    ...         raise NotImplementedError
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> enrich(index, chat_model(Scripted()), progress=False).documents
    1

    An embedding model goes in by its method: `enrich(..., embed=embed_model.get_text_embedding_batch)`.

    Raises:
        ConfigError: `llm` is something else.
    """
    if not isinstance(llm, BaseLLM):
        raise ConfigError("llm", "a LlamaIndex LLM", llm)
    return asked_llm(llm, {})


def asked_llm(llm: BaseLLM, models: Mapping[str, BaseLLM]) -> CalledLLM:
    """The model of a chain. One whose async methods would block the event loop is called in a thread instead."""
    kind = CalledLLM if any(map(is_stalling, (llm, *models.values()))) else AwaitedLLM
    return kind(llm, models)


def _messages(request: AskModel) -> list[ChatMessage]:
    return [ChatMessage(content=message["content"], role=message["role"]) for message in request.messages]


def _whole(response: ChatResponse) -> ModelReply:
    told = _told(response)
    return ModelReply(response.message.content or "", told.finish, told.tokens_in, told.tokens_out)


def _told(response: ChatResponse) -> ModelReply:
    """What a response, or the last one of a stream, tells besides its text: providers agree on no place for it."""
    raw = response.raw
    usages = (_part(raw, "usage"), _part(raw, "usage_metadata"), response.additional_kwargs)
    return ModelReply("", _finish(response), _first(usages, READ, int), _first(usages, WRITTEN, int))


def _finish(response: ChatResponse) -> str | None:
    raw = response.raw
    choices = (next(iter(_part(raw, name) or ()), None) for name in ("choices", "candidates"))
    places = (*choices, raw, _part(raw, "delta"), _part(raw, "incomplete_details"), response.additional_kwargs)
    finish = _first(places, FINISH)
    return None if finish is None else str(finish)


def _first(places: Iterable[Any], names: Iterable[str], kind: type = object) -> Any:
    found = (_part(place, name) for place in places for name in names)
    return next((value for value in found if value is not None and isinstance(value, kind)), None)


def _part(place: Any, name: str) -> Any:
    return place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)
