"""Calls in threads and on the event loop. No other file of the engine knows of either.

Both are imported where they are used, so that importing the engine stays light.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from concurrent.futures import Future

Given = TypeVar("Given")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 8
"""As many calls as run at the same time; what serves them may allow fewer."""


def is_async(function: object) -> bool:
    """Whether what `function` returns has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def in_thread(function: Callable[[Given], Answer]) -> Callable[[Given], Awaitable[Answer]]:
    """`function`, to be awaited: it is called in a thread.

    What it raises comes back as a value: no future takes a StopIteration, and whoever awaits it would wait for ever.
    """

    async def awaited(given: Given) -> Answer:
        import asyncio

        answer = await asyncio.to_thread(_called, function, given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return awaited


def call_all(
    function: Callable[[Given], Answer], given: Sequence[Given], timeout_seconds: float
) -> list[Answer | Exception]:
    """What `function` answers to each of `given`, in their order, or the exception that came instead.

    The calls run in threads. What isn't there after `timeout_seconds` is a TimeoutError in its place. A thread can't be
    stopped: a late call goes on and its answer is lost, but neither this function nor the interpreter's end waits for
    it.
    """
    from concurrent.futures import wait
    from threading import TIMEOUT_MAX

    futures = _started(function, given)
    try:
        wait(futures, min(timeout_seconds, TIMEOUT_MAX))
        return [future.result() if future.done() else _late(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            future.cancel()  # what waits for a thread never begins


async def await_all(
    function: Callable[[Given], Awaitable[Answer] | Answer], given: Sequence[Given], timeout_seconds: float
) -> list[Answer | Exception]:
    """The same as `call_all`, awaited. Of an async `function` there are no threads but tasks.

    Late tasks are cancelled, and so are all of them if whoever awaits this is.
    """
    import asyncio

    futures: list[asyncio.Future[Any]]
    if is_async(function):
        room = asyncio.Semaphore(MOST_AT_ONCE)
        awaited = cast(Callable[[Given], Awaitable[Answer]], function)
        futures = [asyncio.ensure_future(_awaited(awaited, each, room)) for each in given]
    else:
        futures = [asyncio.wrap_future(future) for future in _started(function, given)]
    try:
        if futures:
            await asyncio.wait(futures, timeout=timeout_seconds)
        return [future.result() if future.done() else _late(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _started(function: Callable[[Given], Any], given: Sequence[Given]) -> list[Future[Any]]:
    """The futures of calls that daemon threads work off: the pool of the library keeps the interpreter from ending."""
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    futures: list[Future[Any]] = [Future() for _ in given]
    # Each call in the caller's context: there tracing finds below what it stands.
    calls = [partial(copy_context().run, _called, function, each) for each in given]
    waiting = deque(zip(futures, calls, strict=True))

    def work() -> None:
        while True:
            try:
                future, call = waiting.popleft()
            except IndexError:
                return
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
                    future.set_exception(error)

    for _ in range(min(MOST_AT_ONCE, len(calls))):
        Thread(target=work, name="ctxassembly-call", daemon=True).start()
    return futures


def _called(function: Callable[[Given], Answer], given: Given) -> Answer | Exception:
    try:
        return function(given)
    except Exception as error:  # noqa: BLE001 - what a failure means is not decided here
        return error


async def _awaited(function: Callable[[Given], Awaitable[Answer]], given: Given, room: Any) -> Answer | Exception:
    async with room:
        try:
            return await function(given)
        except Exception as error:  # noqa: BLE001 - see above
            return error


def _late(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {timeout_seconds:g} s")
