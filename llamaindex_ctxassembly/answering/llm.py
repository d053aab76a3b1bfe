"""The model of an answer chain: a LlamaIndex LLM that answers requests of the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, cast

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse

from ctxassembly.answering.requests import AskModel, ModelReply
from ctxassembly.conversations.sources import get_field
from ctxassembly.tokens.models import model_info
from llamaindex_ctxassembly.convert.models import check_kind, is_blocking

INPUT_TOKEN_KEYS = ("prompt_tokens", "input_tokens", "prompt_token_count")
OUTPUT_TOKEN_KEYS = ("completion_tokens", "output_tokens", "candidates_token_count")
FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason", "reason")
"""The names under which providers report input tokens, output tokens, and why an answer ended."""


class SyncLLM:
    """LLMs with sync methods; async callers run them in a thread."""

    def __init__(self, llm: BaseLLM, models: Mapping[str, BaseLLM]) -> None:
        """Use the LLM in `models` for a mode that is there, else `llm`."""
        self._llm, self._models = llm, models

    def ask(self, request: AskModel) -> ModelReply:
        """Return the reply to `request`."""
        return _full_reply(self._model_for(request).chat(_to_messages(request)))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """Return the pieces of the reply. Closing this generator closes the LLM's own stream."""
        end = _StreamEnd()
        with closing(cast(Any, self._model_for(request).stream_chat(_to_messages(request)))) as pieces:
            for piece in pieces:
                yield ModelReply(end.read(piece))
        yield end.reply()

    @property
    def model_name(self) -> str:
        """The names of the LLMs, for the key of a cached answer."""
        llms = {"": self._llm, **self._models}
        return "; ".join(
            f"{mode} {type(llm).__qualname__} {llm.metadata.model_name}".strip() for mode, llm in llms.items()
        )

    def window_for(self, mode: str) -> int | None:
        """Return the window of the LLM of `mode`, if its metadata says it."""
        info = model_info(self._models.get(mode, self._llm))
        return info.window if info else None

    def _model_for(self, request: AskModel) -> BaseLLM:
        llm = self._models.get(request.mode, self._llm)
        can_limit = request.max_tokens is not None and "max_tokens" in type(llm).model_fields
        return llm.model_copy(update={"max_tokens": request.max_tokens}) if can_limit else llm


class AsyncLLM(SyncLLM):
    """LLMs with async methods, too."""

    async def aask(self, request: AskModel) -> ModelReply:
        """Return the reply to `request`."""
        return _full_reply(await self._model_for(request).achat(_to_messages(request)))

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """Async version of `stream`."""
        end = _StreamEnd()
        async with aclosing(cast(Any, await self._model_for(request).astream_chat(_to_messages(request)))) as pieces:
            async for piece in pieces:
                yield ModelReply(end.read(piece))
        yield end.reply()


class _StreamEnd:
    """Finish reason and tokens of a stream, in any of its pieces; the last piece may have only the tokens."""

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

    def reply(self) -> ModelReply:
        """Return the finish and the tokens of the whole answer."""
        return (
            ModelReply("") if self._last is None else replace(_finish_and_usage(self._last), finish_reason=self._finish)
        )


def chat_model(llm: BaseLLM) -> SyncLLM:
    """Return an LLM as the engine asks one: for `enrich`, or an `AnswerChain` over an index.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.enrichment import enrich
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

    Pass an embedding model by its method: `enrich(..., embed=embed_model.get_text_embedding_batch)`.

    Raises:
        ConfigError: `llm` is something else.
    """
    check_kind("llm", llm, BaseLLM, "a LlamaIndex LLM")
    return wrap_llm(llm, {})


def wrap_llm(llm: BaseLLM, models: Mapping[str, BaseLLM]) -> SyncLLM:
    """Return the model of a chain. One whose async methods would block the event loop is called in a thread instead."""
    kind = SyncLLM if any(map(is_blocking, (llm, *models.values()))) else AsyncLLM
    return kind(llm, models)


def _to_messages(request: AskModel) -> list[ChatMessage]:
    return [ChatMessage(content=message["content"], role=message["role"]) for message in request.messages]


def _full_reply(response: ChatResponse) -> ModelReply:
    return replace(_finish_and_usage(response), text=response.message.content or "")


def _finish_and_usage(response: ChatResponse) -> ModelReply:
    """Return finish reason and tokens of a response, or of the last one of a stream, as each provider reports them."""
    raw = response.raw
    usages = (get_field(raw, "usage"), get_field(raw, "usage_metadata"), response.additional_kwargs)
    tokens = (_first(usages, keys, int) for keys in (INPUT_TOKEN_KEYS, OUTPUT_TOKEN_KEYS))
    return ModelReply("", _finish(response), *tokens)


def _finish(response: ChatResponse) -> str | None:
    raw = response.raw
    choices = (next(iter(get_field(raw, name) or ()), None) for name in ("choices", "candidates"))
    objects = (*choices, raw, get_field(raw, "delta"), get_field(raw, "incomplete_details"), response.additional_kwargs)
    finish = _first(objects, FINISH_KEYS)
    return None if finish is None else str(finish)


def _first(objects: Iterable[Any], names: Iterable[str], kind: type = object) -> Any:
    values = (get_field(object_, name) for object_ in objects for name in names)
    return next((value for value in values if value is not None and isinstance(value, kind)), None)
