"""One run of an answer chain, in the engine and in both adapters: the pipeline, driven by a model and evidence.

An adapter puts what only its framework has around the ports: a span or a run for each request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache import CacheScope, ScopeCall, name_of, plain_settings, resolve_scope
from ctxassembly.answering.pipeline import answer_flow
from ctxassembly.answering.requests import (
    AnswerCall,
    AskModel,
    Assemble,
    CacheGet,
    CacheSet,
    Compute,
    ModelReply,
    NextPiece,
    SearchAll,
)
from ctxassembly.concurrency import await_with_deadline, is_async, run_in_worker, submit, wait_with_deadline
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.driver import Port, adrive_stream, drive_stream
from ctxassembly.runtime.evidence import Evidence
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

SEARCH_SECONDS = 30.0
"""The timeout for all searches of a question together."""
_END = object()
"""The end of a stream. None is a piece."""


def check_chat_model(model: Any) -> None:
    """Check that `model` can be asked, or is None.

    Raises:
        InputError: it is neither a function nor an object with `ask` or `aask`.
    """
    if not (model is None or callable(model) or hasattr(model, "ask") or hasattr(model, "aask")):
        adapters = (
            "; for a chat model of LangChain or an LLM of LlamaIndex write model=chat_model(llm), of their packages"
        )
        hint = adapters if hasattr(model, "invoke") or hasattr(model, "complete") else ""
        allowed = "a function from a request to a reply, or an object with ask(request)"
        raise InputError(f"model must be {allowed}, got {safe_repr(model)}{hint}")


class AskedModel:
    """A model that is asked for replies, and the stream that it has open.

    It is a context manager, sync and async. Leaving it closes the stream: a reader who goes away stops the model.
    """

    def __init__(self, model: Any) -> None:
        """Check that `model` can be asked.

        Raises:
            InputError: it is neither a function nor an object with `ask` or `aask`.
        """
        check_chat_model(model)
        self._model, self._stream = model, cast(Any, None)
        self._port = Port.of(model, "ask")
        self._batch = self._port.each(lambda request: (request,), lambda request: request.timeout_seconds)

    @property
    def ports(self) -> dict[type, Port]:
        """The ports of its replies: whole, and by the piece."""
        return {AskModel: Port(self._ask, self._aask), NextPiece: Port(self._next_piece, self._anext_piece)}

    def _ask(self, request: AskModel) -> ModelReply | None:
        if not request.is_streamed:
            return _single_reply(_require_sync(self._batch).call(request))
        self._stream = self._open_stream(request)
        return None

    async def _aask(self, request: AskModel) -> ModelReply | None:
        if not request.is_streamed:
            return _single_reply(await self._batch.acall(request))
        if hasattr(self._model, "astream"):
            self._stream = aiter(self._model.astream(request))
        elif hasattr(self._model, "stream") or self._port.async_ is None:
            self._stream = self._open_stream(request)
        else:
            self._stream = _stream_once(self._port, request)
        return None

    def _open_stream(self, request: AskModel) -> Iterator[Any]:
        """Return the pieces of the answer: a single one if the model doesn't stream."""
        if hasattr(self._model, "stream"):
            return iter(self._model.stream(request))
        port = _require_sync(self._port)
        return (port.call(request) for _ in range(1))

    def _next_piece(self, request: NextPiece) -> ModelReply | None:
        return _parse_piece(wait_with_deadline(request.timeout_seconds, submit(self._read_piece)))

    async def _anext_piece(self, request: NextPiece) -> ModelReply | None:
        is_async_stream = isinstance(self._stream, AsyncIterator)
        piece: Any = anext(self._stream, _END) if is_async_stream else submit(self._read_piece)
        return _parse_piece(await await_with_deadline(request.timeout_seconds, piece))

    def _read_piece(self) -> Any:
        return next(self._stream, _END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self._stream, "close"):
            with suppress(ValueError):  # a piece that came too late is still being read, in a thread of its own
                self._stream.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if hasattr(self._stream, "aclose"):
            with suppress(RuntimeError):  # the same, in a task
                await self._stream.aclose()
        self.__exit__()


def _require_sync(model: Port) -> Port:
    return model.require_sync("a model that can only be awaited needs aanswer(), or the adapter's async methods")


async def _stream_once(model: Port, request: AskModel) -> AsyncIterator[Any]:
    yield await model.acall(request)


def _single_reply(replies: list[Any]) -> ModelReply:
    """Return the only reply of a batch.

    Raises:
        Exception: the model's own.
    """
    (reply,) = replies
    if isinstance(reply, Exception):
        raise reply
    return _parse_reply(reply)


def _parse_piece(reply: Any) -> ModelReply | None:
    """Return the next reply of a stream; None at its end. A model may send None for a piece without text."""
    if reply is _END:
        return None
    return ModelReply("") if reply is None else _parse_reply(reply)


def _parse_reply(reply: Any) -> ModelReply:
    """Return a reply of the model as a `ModelReply`; it may be a plain string."""
    if not isinstance(reply, (str, ModelReply)):
        raise InputError(f"a model must answer with a string or a ModelReply, got {safe_repr(reply, 80)}")
    return reply if isinstance(reply, ModelReply) else ModelReply(reply)


def _use_cache(cache: Any, request: CacheGet | CacheSet) -> str | None:
    if isinstance(request, CacheGet):
        return cast(str | None, cache.get(request.key))
    cache.set(request.key, request.entry)
    return None


@dataclass(frozen=True)
class ChainParts:
    """The model, settings and cache of an answer chain, shared by all of its runs."""

    model: Any
    config: AnswerConfig
    cache: AnswerCache | None = None
    cache_scope: CacheScope | None = None


class AnswerRun:
    """One call of an answer chain, with the ports that answer its requests."""

    def __init__(
        self,
        parts: ChainParts,
        evidence: Evidence,
        call: AnswerCall,
        wrap: Callable[[dict[type, Port]], dict[type, Port]] = dict,
        framework_config: Any = None,
    ) -> None:
        """Prepare the run of `call`, without its date and cache facts; `wrap` returns the ports with spans around them.

        A `cache_scope` may read `framework_config`.

        Raises:
            InputError: the model is neither a function nor an object with `ask` or `aask`, JSON can't write the scope
                of the call, or `cache_scope` raised an error.
        """
        self._model = AskedModel(parts.model)
        self.call = replace(
            call,
            filter=evidence.call_filter(call.filter) if evidence.call_filter else call.filter,
            today=today(),
            cache_facts=_cache_facts(parts, evidence, call, framework_config),  # a scope gets the filter as given
            assembly=evidence.assembly,
            window_for=getattr(parts.model, "window_for", None),
        )
        self._flow = answer_flow(self.call, parts.config, time.perf_counter)
        self._ports = wrap(
            {
                **self._model.ports,
                SearchAll: evidence.search.each(lambda request: request.searches, lambda _: SEARCH_SECONDS),
                Assemble: evidence.assemble,
                Compute: Port(lambda request: request.function(), lambda request: run_in_worker(request.function)),
                **dict.fromkeys((CacheGet, CacheSet), Port(partial(_use_cache, parts.cache))),
            }
        )

    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        """Yield the pieces of the answer, then the answer."""
        with self._model:
            yield from drive_stream(self._flow, self._ports)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """Async version of `events`."""
        async with self._model, aclosing(adrive_stream(self._flow, self._ports)) as events:
            async for event in events:
                yield event

    def answer(self) -> Answer:
        """Return the answer."""
        *_, answer = self.events()
        return cast(Answer, answer)

    async def aanswer(self) -> Answer:
        """Async version of `answer`."""
        *_, answer = [event async for event in self.aevents()]
        return cast(Answer, answer)


def _cache_facts(
    parts: ChainParts, evidence: Evidence, call: AnswerCall, framework_config: Any
) -> dict[str, Any] | None:
    """Return what the key of an answer has of the chain and of its scope; None if the cache isn't used.

    A cached answer keeps the labels it was given, so the cache is used only while the conversation has no labels.
    """
    if parts.cache is None or parts.cache_scope is None or call.conversation.free_label != 1:
        return None
    scope_call = ScopeCall(call.question, call.filter, call.mode, call.history, framework_config)
    scope = resolve_scope(parts.cache_scope, scope_call)
    if scope is None:
        return None
    settings, filters = evidence.depends_on()
    return {"scope": scope, "evidence": plain_settings(settings), "filters": filters, "model": name_of(parts.model)}


def today() -> str:
    """Return the date, for words like "this year" in a question."""
    return datetime.now().astimezone().date().isoformat()


def check_answer_config(config: Any) -> AnswerConfig:
    """Return `config`, or the default settings for None.

    Raises:
        ConfigError: `config` is not an AnswerConfig.
    """
    if not (config is None or isinstance(config, AnswerConfig)):
        raise ConfigError("config", "an AnswerConfig or None", config)
    return config or AnswerConfig()


SCOPE_LINE = "cache_scope=lambda call: call.filter['tenant'], or cache_scope='everybody'"


def check_cache(cache: Any, scope: CacheScope | None) -> None:
    """Check the cache of a chain, and who shares its answers.

    Raises:
        ConfigError: it is not a cache; or there is a cache without a scope, or a scope without a cache; or the scope is
            a function that must be awaited.
        InputError: JSON can't write the scope.
    """
    if not (cache is None or (hasattr(cache, "get") and hasattr(cache, "set"))):
        raise ConfigError("cache", "an object with get(key) and set(key, entry)", cache)
    if cache is not None and scope is None:
        raise ConfigError.worded("cache_scope", f"cache= needs to know who may share answers: add {SCOPE_LINE}")
    if cache is None and scope is not None:
        raise ConfigError.worded("cache_scope", "cache_scope= needs the cache whose answers are shared: add cache=")
    if is_async(scope):
        raise ConfigError("cache_scope", "a value, or a function that needn't be awaited", scope)
    if not (scope is None or callable(scope)):
        resolve_scope(scope, ScopeCall(""))
