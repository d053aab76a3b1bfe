"""Answers to the requests of an answer chain, for one call of it: from a model, and from a source of evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from ctxassembly.calls import await_all, awaited_within, call_all, in_background, in_thread, is_async, within
from ctxassembly.chain.requests import Assemble, AskModel, ModelReply, NextPiece, SearchAll
from ctxassembly.drivers.source import EvidenceSource
from ctxassembly.errors import InputError
from ctxassembly.settings.answering import AnswerConfig
from ctxassembly.shown import shown

ChatModel = Any
"""A function from an `AskModel` to a `ModelReply` or a text, called or awaited.

Or an object with `ask(request)`, `aask(request)`, and for streams `stream(request)` and `astream(request)`, which give
the replies piece by piece; what it lacks is made of what it has.
"""


class Answering:
    """The objects that one call asks, and the stream that it has open."""

    def __init__(self, model: ChatModel, source: EvidenceSource | None, config: AnswerConfig) -> None:
        self._model, self._source, self._config = model, source, config
        self._stream: Iterator[Any] | AsyncIterator[Any] | None = None

    def ask(self, request: Any) -> Any:
        """The reply to `request`."""
        if isinstance(request, AskModel):
            return self._ask(request)
        if isinstance(request, NextPiece):
            piece = within(request.timeout_seconds, in_background(lambda: next(self._stream, None)))  # type: ignore[call-overload]
            return None if piece is None else reply_of(piece)
        if isinstance(request, SearchAll):
            return call_all(self._source.search, request.searches, self._config.search_seconds)
        return self._source.assemble(request)

    async def aask(self, request: Any) -> Any:
        """The same, awaited."""
