"""Answers to the requests of an answer chain, for one call of it: from a model, and from a source of evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ctxassembly.answering.requests import AskModel, Assemble, Keep, ModelReply, NextPiece, Readmit, Recall, SearchAll
from ctxassembly.answering.search import agreeing, passing
from ctxassembly.concurrency import await_all, awaited_within, call_all, in_background, in_thread, is_async, within
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate
from ctxassembly.errors import InputError
from ctxassembly.protocols import AnswerCache
from ctxassembly.safe_repr import shown

if TYPE_CHECKING:
    from typing_extensions import Self

Ask = Callable[[Any], Any]
_END = object()
"""The end of a stream. None is a piece."""


class Answering:
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
                f"model must be a function from a request to a reply, or have ask(request), got {shown(model)}"
            )
        self._model, self._source, self._cache, self._seconds = model, source, cache, config.search_seconds
        self._stream: Any = None

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if isinstance(request, AskModel):
            if request.streamed:
                self._stream = self._opened(request)
                return None
            return _reply(call_all(self._called(), (request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            return _piece(within(request.timeout_seconds, in_background(lambda: next(self._stream, _END))))
        if isinstance(request, SearchAll):
            return call_all(_sync(self._source, "search"), request.searches, self._seconds)
        if isinstance(request, Readmit):
            return _sync(self._source, "readmit", _readmitted)(request)
        if isinstance(request, (Recall, Keep)):
            return _cached(cast(AnswerCache, self._cache), request)
        return _sync(self._source, "assemble")(cast(Assemble, request))

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
        if isinstance(request, AskModel):
            if request.streamed:
                self._stream = self._awaitably_opened(request)
                return None
            return _reply(await await_all(self._awaited(), (request,), request.timeout_seconds))
        if isinstance(request, NextPiece):
            if isinstance(self._stream, AsyncIterator):
                return _piece(await awaited_within(request.timeout_seconds, _next_of(self._stream)))
            future = in_background(lambda: next(self._stream, _END))
            return _piece(await awaited_within(request.timeout_seconds, future))
        if isinstance(request, SearchAll):
            return await await_all(_async(self._source, "search"), request.searches, self._seconds)
        if isinstance(request, Readmit):
            return await _async(self._source, "readmit", _readmitted)(request)
        if isinstance(request, (Recall, Keep)):
            return await in_thread(partial(_cached, cast(AnswerCache, self._cache)))(request)
        return await _async(self._source, "assemble")(cast(Assemble, request))

    def _called(self) -> Ask:
        function = getattr(self._model, "ask", self._model)
        if not callable(function) or is_async(function):
            raise InputError("a model that can only be awaited needs aanswer(), or the adapter's async methods")
        return cast(Ask, function)

    def _awaited(self) -> Ask:
        function = getattr(self._model, "aask", None) or getattr(self._model, "ask", self._model)
        return cast(Ask, function)

    def _opened(self, request: AskModel) -> Iterator[Any]:
        """The pieces of the answer: one, if the model doesn't stream."""
        if hasattr(self._model, "stream"):
            return iter(self._model.stream(request))
        called = self._called()
        return (called(request) for _ in range(1))

    def _awaitably_opened(self, request: AskModel) -> Iterator[Any] | AsyncIterator[Any]:
        if hasattr(self._model, "astream"):
            return cast(AsyncIterator[Any], aiter(self._model.astream(request)))
        if hasattr(self._model, "stream") or not is_async(self._awaited()):
            return self._opened(request)
        awaited = self._awaited()

        async def once() -> AsyncIterator[Any]:
            yield await awaited(request)

        return once()

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


async def _next_of(stream: AsyncIterator[Any]) -> Any:
    return await anext(stream, _END)


def _cached(cache: AnswerCache, request: Recall | Keep) -> str | None:
    if isinstance(request, Recall):
        return cache.get(request.key)
    cache.set(request.key, request.entry)
    return None


def _readmitted(request: Readmit) -> tuple[Hit, ...]:
    """What a source of the caller's may give, whose own filter can't be seen."""
    return agreeing(passing(request.cited, [as_predicate(request.filter)]), request.found)


def _sync(source: Any, name: str, default: Ask | None = None) -> Ask:
    method = getattr(source, name, default)
    if method is None or is_async(method):
        raise InputError(f"{type(source).__name__} has no {name}(request); what can only be awaited needs aanswer()")
    return cast(Ask, method)


def _async(source: Any, name: str, default: Ask | None = None) -> Ask:
    method = getattr(source, f"a{name}", None) or getattr(source, name, default)
    if method is None:
        raise InputError(f"{type(source).__name__} has neither {name}(request) nor a{name}(request)")
    return cast(Ask, method) if is_async(method) else in_thread(method)


def _reply(replies: list[Any]) -> ModelReply:
    """The one reply of a batch.

    Raises:
        Exception: the model's own.
    """
    (reply,) = replies
    if isinstance(reply, Exception):
        raise reply
    return _checked(reply)


def _piece(reply: Any) -> ModelReply | None:
    """The next reply of a stream; None at its end. A model may write None for a piece without text."""
    if reply is _END:
        return None
    return ModelReply("") if reply is None else _checked(reply)


def _checked(reply: Any) -> ModelReply:
    """A reply of the model: a text is one by itself."""
    if isinstance(reply, str):
        return ModelReply(reply)
    if isinstance(reply, ModelReply):
        return reply
    raise InputError(f"a model must answer with a string or a ModelReply, got {shown(reply, 80)}")
