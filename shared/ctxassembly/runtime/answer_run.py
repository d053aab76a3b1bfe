"""One run of an answer chain, in the engine and in every adapter: the pipeline, driven by a model and evidence.

A chain holds `ChainParts` and starts an `AnswerRun` for each call. An adapter's subclass adds what only its framework
has: a span around each request, and the output in the framework's objects. The requests are answered by a model and by
a source of evidence, which has `search` and `assemble`, sync or async, and the settings `assembly`. If it has
`store(filter)`, the store of neighbors under the filter of a call, chunks that were cited before are asked for there,
and pass its `transform_fetched`, as neighbors do; `reads_whole_store` is True if the search finds whatever is in that
store, and has no filter of its own. If it has `call_filter(filter)`, that is the filter of a call and its own together.
With a cache it has `settings`, too: all that its evidence depends on but the call, as dataclasses, plain data and
functions; and in `filters` those that it applies in addition to the filter of the call.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

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
    FetchCited,
    ModelReply,
    NextPiece,
    SearchAll,
    StoredChunks,
)
from ctxassembly.assembly.arguments import settings_of
from ctxassembly.assembly.expansion.admit import admit_chunks
from ctxassembly.concurrency import await_with_deadline, is_async, run_in_worker, submit, wait_with_deadline
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.assemble import AssemblyServices
from ctxassembly.runtime.driver import Port, adrive_stream, drive_stream
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M")
E = TypeVar("E")
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


class AnswerServices:
    """The services of one call, and the stream that it has open.

    It is a context manager, sync and async. Leaving it closes the stream: a reader who goes away stops the model.
    """

    def __init__(self, model: Any, source: Any, cache: AnswerCache | None = None) -> None:
        """Check that `model` can be asked.

        Raises:
            InputError: it is neither a function nor an object with `ask` or `aask`.
        """
        check_chat_model(model)
        self._model, self._cache = model, cache
        self._ask_port = Port.of(model, "ask")
        self._source_ports = {
            kind: (Port.of(source, name, accepts_function=False), name)
            for kind, name in ((SearchAll, "search"), (Assemble, "assemble"))
        }
        self._source = source
        self._stream: Any = None

    def ask(self, request: Any) -> Any:
        """Return the reply to `request`."""
        if isinstance(request, AskModel):
            if request.is_streamed:
                self._stream = self._open_stream(request)
                return None
            return _single_reply(self._sync_model().gather((request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            return _parse_piece(wait_with_deadline(request.timeout_seconds, submit(self._read_piece)))
        if isinstance(request, (CacheGet, CacheSet)):
            return _use_cache(cast(AnswerCache, self._cache), request)
        if isinstance(request, Compute):
            return request.function()
        if isinstance(request, FetchCited):
            if (store := self._cited_store(request)) is None:
                return None
            services = AssemblyServices(store, transform_fetched=self._transform_fetched)
            return self._stored_chunks(store, services.ask(FetchChunks(request.refs)))
        port, name = self._source_ports[type(request)]
        if port.sync is None:
            raise InputError(
                f"{type(self._source).__name__} has no {name}(request); what can only be awaited needs aanswer()"
            )
        if isinstance(request, SearchAll):
            return port.gather(request.searches, SEARCH_SECONDS)
        return port.call(request)

    async def aask(self, request: Any) -> Any:
        """Async version of `ask`."""
        if isinstance(request, AskModel):
            if request.is_streamed:
                self._stream = self._aopen_stream(request)
                return None
            return _single_reply(await self._ask_port.agather((request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            is_async_stream = isinstance(self._stream, AsyncIterator)
            piece: Any = _next_piece(self._stream) if is_async_stream else submit(self._read_piece)
            return _parse_piece(await await_with_deadline(request.timeout_seconds, piece))
        if isinstance(request, (CacheGet, CacheSet)):
            return await Port(_use_cache).acall(cast(AnswerCache, self._cache), request)
        if isinstance(request, Compute):
            return await run_in_worker(request.function)
        if isinstance(request, FetchCited):
            if (store := self._cited_store(request)) is None:
                return None
            services = AssemblyServices(store, transform_fetched=self._transform_fetched, needs_sync=False)
            return self._stored_chunks(store, await services.aask(FetchChunks(request.refs)))
        port, name = self._source_ports[type(request)]
        if not port:
            raise InputError(f"{type(self._source).__name__} has neither {name}(request) nor a{name}(request)")
        if isinstance(request, SearchAll):
            return await port.agather(request.searches, SEARCH_SECONDS)
        return await port.acall(request)

    def _cited_store(self, request: FetchCited) -> Any:
        """Return the store of the source under the filter of the call; None if it has no store."""
        return self._source.store(request.filter) if hasattr(self._source, "store") else None

    @property
    def _transform_fetched(self) -> Any:
        return getattr(self._source, "transform_fetched", None)

    def _stored_chunks(self, store: Any, chunks: Iterable[Chunk]) -> StoredChunks:
        may_be_read = getattr(store, "holds_filter", None) is True or getattr(self._source, "reads_whole_store", False)
        usable, _, _ = admit_chunks(chunks)
        return StoredChunks(usable, may_be_read)

    def _sync_model(self) -> Port:
        message = "a model that can only be awaited needs aanswer(), or the adapter's async methods"
        return self._ask_port.require_sync(message)

    def _read_piece(self) -> Any:
        return next(self._stream, _END)

    def _open_stream(self, request: AskModel) -> Iterator[Any]:
        """Return the pieces of the answer: a single one if the model doesn't stream."""
        if hasattr(self._model, "stream"):
            return iter(self._model.stream(request))
        model = self._sync_model()
        return (model.call(request) for _ in range(1))

    def _aopen_stream(self, request: AskModel) -> Iterator[Any] | AsyncIterator[Any]:
        if hasattr(self._model, "astream"):
            return cast(AsyncIterator[Any], aiter(self._model.astream(request)))
        if hasattr(self._model, "stream") or self._ask_port.async_ is None:
            return self._open_stream(request)

        async def stream_once() -> AsyncIterator[Any]:
            yield await self._ask_port.acall(request)

        return stream_once()

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


async def _next_piece(stream: AsyncIterator[Any]) -> Any:
    return await anext(stream, _END)


def _use_cache(cache: AnswerCache, request: CacheGet | CacheSet) -> str | None:
    if isinstance(request, CacheGet):
        return cache.get(request.key)
    cache.set(request.key, request.entry)
    return None


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


@dataclass(frozen=True)
class ChainParts(Generic[M, E]):
    """The model, evidence, settings and cache of an answer chain, shared by all of its runs."""

    model: M
    evidence: E
    config: AnswerConfig
    cache: AnswerCache | None = None
    cache_scope: CacheScope | None = None


class AnswerRun(AnswerServices):
    """One call of an answer chain, with the services that answer its requests."""

    def __init__(self, parts: ChainParts[Any, Any], call: AnswerCall, framework_config: Any = None) -> None:
        """Prepare the run of `call`, without its date and cache facts. A `cache_scope` may read `framework_config`.

        Raises:
            InputError: the model is neither a function nor an object with `ask` or `aask`, JSON can't write the scope
                of the call, or `cache_scope` raised an error.
        """
        super().__init__(parts.model, parts.evidence, parts.cache)
        combine = getattr(parts.evidence, "call_filter", None)
        condition = combine(call.filter) if combine else call.filter
        cache_facts = _cache_facts(parts, call, framework_config)  # a scope gets the filter as it was given
        assembly = settings_of(getattr(parts.evidence, "assembly", None) or AssemblyConfig())
        window_for = getattr(parts.model, "window_for", None)
        facts: dict[str, Any] = {
            "today": today(),
            "cache_facts": cache_facts,
            "assembly": assembly,
            "window_for": window_for,
        }
        self.call = replace(call, filter=condition, **facts)
        self._flow = answer_flow(self.call, parts.config, time.perf_counter)

    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        """Yield the pieces of the answer, then the answer."""
        with self:
            yield from drive_stream(self._flow, self.ask, AnswerPiece)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """Async version of `events`."""
        async with self:
            async for event in adrive_stream(self._flow, self.aask, AnswerPiece):
                yield event

    def answer(self) -> Answer:
        """Return the answer."""
        *_, answer = self.events()
        return cast(Answer, answer)

    async def aanswer(self) -> Answer:
        """Async version of `answer`."""
        *_, answer = [event async for event in self.aevents()]
        return cast(Answer, answer)


def _cache_facts(parts: ChainParts[Any, Any], call: AnswerCall, framework_config: Any) -> dict[str, Any] | None:
    """Return what the key of an answer has of the chain and of its scope; None if the cache isn't used.

    A cached answer keeps the labels it was given, so the cache is used only while the conversation has no labels.
    """
    if parts.cache is None or parts.cache_scope is None or call.conversation.free_label != 1:
        return None
    scope_call = ScopeCall(call.question, call.filter, call.mode, call.history, framework_config)
    scope = resolve_scope(parts.cache_scope, scope_call)
    if scope is None:
        return None
    evidence = plain_settings(parts.evidence.settings)
    filters = getattr(parts.evidence, "filters", ())
    return {"scope": scope, "evidence": evidence, "filters": filters, "model": name_of(parts.model)}


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
