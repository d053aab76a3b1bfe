"""Answers to the requests of an answer chain, for one call of it: from a model, and from a source of evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
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
from ctxassembly.concurrency import await_with_deadline, submit, wait_with_deadline
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate
from ctxassembly.errors import InputError
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.port import Port
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

SEARCH_SECONDS = 30.0
"""The timeout for all searches of a question together."""
_END = object()
"""The end of a stream. None is a piece."""


class AnswerServices:
    """The services of one call, and the stream that it has open.

    It is a context manager, sync and async. Leaving it closes the stream: a reader who goes away stops the model.
    """

    def __init__(self, model: Any, source: Any, cache: AnswerCache | None = None) -> None:
        """Check that `model` can be asked.

        Raises:
            InputError: it is neither a function nor an object with `ask` or `aask`.
        """
        if model is not None and not (callable(model) or hasattr(model, "ask") or hasattr(model, "aask")):
            raise InputError(
                f"model must be a function from a request to a reply, or have ask(request), got {safe_repr(model)}"
            )
        self._model, self._cache = model, cache
        self._ask_port = Port.of(model, "ask")
        self._search, self._assemble, self._readmit = (
            Port.of(source, name, accepts_function=False) for name in ("search", "assemble", "readmit")
        )
        self._readmit = self._readmit or Port(_readmit_agreeing)
        self._source_name = type(source).__name__
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
        port, name = self._source_port(request)
        if port.sync is None:
            raise InputError(f"{self._source_name} has no {name}(request); what can only be awaited needs aanswer()")
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
        port, name = self._source_port(request)
        if not port:
            raise InputError(f"{self._source_name} has neither {name}(request) nor a{name}(request)")
        if isinstance(request, SearchAll):
            return await port.agather(request.searches, SEARCH_SECONDS)
        return await port.acall(request)

    def _source_port(self, request: SearchAll | Readmit | Assemble) -> tuple[Port, str]:
        """Return the method of the source that answers `request`, and its name."""
        if isinstance(request, SearchAll):
            return self._search, "search"
        return (self._readmit, "readmit") if isinstance(request, Readmit) else (self._assemble, "assemble")

    def _sync_model(self) -> Port:
        if self._ask_port.sync is None:
            raise InputError("a model that can only be awaited needs aanswer(), or the adapter's async methods")
        return self._ask_port

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


def _readmit_agreeing(request: Readmit) -> tuple[Hit, ...]:
    """Return the cited chunks that agree with a hit: the filter of a custom source can't be seen."""
    return keep_agreeing(keep_passing(request.cited, [as_predicate(request.filter)]), request.found)


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
    if isinstance(reply, str):
        return ModelReply(reply)
    if isinstance(reply, ModelReply):
        return reply
    raise InputError(f"a model must answer with a string or a ModelReply, got {safe_repr(reply, 80)}")
