"""Answers to the requests of an answer chain, for one call of it: from a model, and from a source of evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ctxassembly.answering.requests import (
    AskModel,
    Assemble,
    CacheGet,
    CacheSet,
    ModelReply,
    NextPiece,
    Readmit,
    SearchAll,
)
from ctxassembly.answering.search import keep_agreeing, keep_passing
from ctxassembly.concurrency import (
    await_with_deadline,
    gather_async,
    gather_sync,
    is_async,
    submit,
    to_async,
    wait_with_deadline,
)
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate
from ctxassembly.errors import InputError
from ctxassembly.protocols import AnswerCache
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

Handler = Callable[[Any], Any]
_END = object()
"""The end of a stream. None is a piece."""


class AnswerServices:
    """The objects that one call asks, and the stream that it has open.

    It is a context manager, sync and async. Leaving it closes the stream: a reader who goes away stops the model.
    """

    def __init__(self, model: Any, source: Any, config: AnswerConfig, cache: AnswerCache | None = None) -> None:
        """Check that `model` can be asked.

        Raises:
            InputError: it is neither a function nor an object with `ask` or `aask`.
        """
        if model is not None and not (callable(model) or hasattr(model, "ask") or hasattr(model, "aask")):
            raise InputError(
                f"model must be a function from a request to a reply, or have ask(request), got {safe_repr(model)}"
            )
        self._model, self._source, self._cache, self._search_timeout_seconds = (
            model,
            source,
            cache,
            config.search_seconds,
        )
        self._stream: Any = None

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if isinstance(request, AskModel):
            if request.is_streamed:
                self._stream = self._open_stream(request)
                return None
            return _single_reply(gather_sync(self._sync_model(), (request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            return _parse_piece(wait_with_deadline(request.timeout_seconds, submit(lambda: next(self._stream, _END))))
        if isinstance(request, SearchAll):
            return gather_sync(_sync_method(self._source, "search"), request.searches, self._search_timeout_seconds)
        if isinstance(request, Readmit):
            return _sync_method(self._source, "readmit", _readmit_agreeing)(request)
        if isinstance(request, (CacheGet, CacheSet)):
            return _use_cache(cast(AnswerCache, self._cache), request)
        return _sync_method(self._source, "assemble")(cast(Assemble, request))

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        if isinstance(request, AskModel):
            if request.is_streamed:
                self._stream = self._aopen_stream(request)
                return None
            return _single_reply(await gather_async(self._async_model(), (request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            if isinstance(self._stream, AsyncIterator):
                return _parse_piece(await await_with_deadline(request.timeout_seconds, _next_piece(self._stream)))
            future = submit(lambda: next(self._stream, _END))
            return _parse_piece(await await_with_deadline(request.timeout_seconds, future))
        if isinstance(request, SearchAll):
            return await gather_async(
                _async_method(self._source, "search"), request.searches, self._search_timeout_seconds
            )
        if isinstance(request, Readmit):
            return await _async_method(self._source, "readmit", _readmit_agreeing)(request)
        if isinstance(request, (CacheGet, CacheSet)):
            return await to_async(partial(_use_cache, cast(AnswerCache, self._cache)))(request)
        return await _async_method(self._source, "assemble")(cast(Assemble, request))

    def _sync_model(self) -> Handler:
        function = getattr(self._model, "ask", self._model)
        if not callable(function) or is_async(function):
            raise InputError("a model that can only be awaited needs aanswer(), or the adapter's async methods")
        return cast(Handler, function)

    def _async_model(self) -> Handler:
        function = getattr(self._model, "aask", None) or getattr(self._model, "ask", self._model)
        return cast(Handler, function)

    def _open_stream(self, request: AskModel) -> Iterator[Any]:
        """The pieces of the answer: one, if the model doesn't stream."""
        if hasattr(self._model, "stream"):
            return iter(self._model.stream(request))
        model = self._sync_model()
        return (model(request) for _ in range(1))

    def _aopen_stream(self, request: AskModel) -> Iterator[Any] | AsyncIterator[Any]:
        if hasattr(self._model, "astream"):
            return cast(AsyncIterator[Any], aiter(self._model.astream(request)))
        if hasattr(self._model, "stream") or not is_async(self._async_model()):
            return self._open_stream(request)
        model = self._async_model()

        async def stream_once() -> AsyncIterator[Any]:
            yield await model(request)

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


def _readmit_agreeing(request: Readmit) -> tuple[Hit, ...]:
    """What a source of the caller's may give, whose own filter can't be seen."""
    return keep_agreeing(keep_passing(request.cited, [as_predicate(request.filter)]), request.found)


def _sync_method(source: Any, name: str, default: Handler | None = None) -> Handler:
    method = getattr(source, name, default)
    if method is None or is_async(method):
        raise InputError(f"{type(source).__name__} has no {name}(request); what can only be awaited needs aanswer()")
    return cast(Handler, method)


def _async_method(source: Any, name: str, default: Handler | None = None) -> Handler:
    method = getattr(source, f"a{name}", None) or getattr(source, name, default)
    if method is None:
        raise InputError(f"{type(source).__name__} has neither {name}(request) nor a{name}(request)")
    return cast(Handler, method) if is_async(method) else to_async(method)


def _single_reply(replies: list[Any]) -> ModelReply:
    """The one reply of a batch.

    Raises:
        Exception: the model's own.
    """
    (reply,) = replies
    if isinstance(reply, Exception):
        raise reply
    return _parse_reply(reply)


def _parse_piece(reply: Any) -> ModelReply | None:
    """The next reply of a stream; None at its end. A model may write None for a piece without text."""
    if reply is _END:
        return None
    return ModelReply("") if reply is None else _parse_reply(reply)


def _parse_reply(reply: Any) -> ModelReply:
    """A reply of the model: a text is one by itself."""
    if isinstance(reply, str):
        return ModelReply(reply)
    if isinstance(reply, ModelReply):
        return reply
    raise InputError(f"a model must answer with a string or a ModelReply, got {safe_repr(reply, 80)}")
