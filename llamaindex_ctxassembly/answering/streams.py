"""An answer as a stream of LlamaIndex: its pieces, and then something to do with the whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager, aclosing, closing
from itertools import chain
from typing import Any, TypeVar

from ctxassembly.answering.answer import Answer, AnswerPiece

Events = Generator[AnswerPiece | Answer, None, None]
AsyncEvents = AsyncGenerator[AnswerPiece | Answer, None]
Piece = TypeVar("Piece")


def pieces_of(
    events: Events, wrap: Callable[[str], Piece], finish: Callable[[Answer], None]
) -> Generator[Piece, None, None]:
    """Return the pieces of the answer, each as `wrap` makes it; `finish` is called once it is whole.

    The chain runs up to the first piece here: an error before it is raised in this call, not to the reader.
    """
    first = next(events)

    def pieces() -> Generator[Piece, None, None]:
        with closing(events):
            for event in chain([first], events):
                if isinstance(event, Answer):
                    finish(event)
                else:
                    yield wrap(event.text)

    return pieces()


def with_turn(events: Events, turn: AbstractContextManager[Any]) -> Events:
    """Return `events`, and `turn` until they end or are closed."""
    with turn, closing(events):
        yield from events


async def awith_turn(events: AsyncEvents, turn: AbstractContextManager[Any]) -> AsyncEvents:
    """Async version of `with_turn`."""
    with turn:
        async with aclosing(events):
            async for event in events:
                yield event


async def apieces_of(
    events: AsyncEvents, wrap: Callable[[str], Piece], finish: Callable[[Answer], Awaitable[None]]
) -> AsyncGenerator[Piece, None]:
    """Async version of `pieces_of`."""
    first = await anext(events)

    async def all_events() -> AsyncEvents:
        yield first
        async for event in events:
            yield event

    async def pieces() -> AsyncGenerator[Piece, None]:
        async with aclosing(events):
            async for event in all_events():
                if isinstance(event, Answer):
                    await finish(event)
                else:
                    yield wrap(event.text)

    return pieces()
