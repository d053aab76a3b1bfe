"""Calls in threads and on the event loop. No other file of the engine knows of either.

Both are imported where they are used, so that importing the engine stays light.
"""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future
    from contextlib import AbstractContextManager
    from queue import SimpleQueue

Given = TypeVar("Given")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 8
"""As many calls as run at the same time; what serves them may allow fewer."""
TURNS = "ctxassembly-turns"
MOST_IN_BACKGROUND = 128
"""As many threads as are ever kept for single calls. Where so many hang, further calls wait, until their deadline."""


class DeadlineError(TimeoutError):
    """Nothing came within the time given here, as against a timeout that the call itself reports."""


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


def in_background(call: Callable[[], Answer]) -> Future[Answer]:
    """The future of `call`, which a daemon thread makes in a copy of the caller's context.

    The threads are kept, since starting one costs more than most calls. Neither a fork nor the interpreter's end waits
    for them, and whoever gives up a call goes on at once: the call itself can't be stopped.
    """
    return _crew("ctxassembly-background", MOST_IN_BACKGROUND).start(call)


async def in_turn(call: Callable[[], Answer]) -> Answer:
    """What `call` comes to, made in the one thread of the process for work that would keep the event loop busy.

    More threads would fight for the interpreter, and each piece of work take longer. Whoever is cancelled goes on at
    once; a call whose turn hasn't come isn't made then.
    """
    import asyncio
    from threading import current_thread

    if current_thread().name == TURNS:  # an event loop inside such a call would wait for itself
        return call()
    return await asyncio.wrap_future(_crew(TURNS, 1).start(call))


def within(seconds: float, future: Future[Answer]) -> Answer:
    """What `future` comes to.

    Raises:
        DeadlineError: it is not there after `seconds`. The future is cancelled; nobody waits for what that takes.
    """
    from concurrent.futures import TimeoutError as NotYet
    from threading import TIMEOUT_MAX

    try:
        return future.result(min(seconds, TIMEOUT_MAX))
    except NotYet:
        if future.done():  # a timeout of its own, or at the last moment
            return future.result()
        raise DeadlineError(f"no answer within {seconds:g} s") from None
    finally:
        future.cancel()


async def awaited_within(seconds: float, future: Awaitable[Answer] | Future[Answer]) -> Answer:
    """The same as `within`, awaited; of the event loop's own futures, of coroutines, and of calls in threads.

    If whoever awaits this is cancelled, so is the future.
    """
    import asyncio
    from concurrent.futures import Future

    asked = asyncio.wrap_future(future) if isinstance(future, Future) else asyncio.ensure_future(future)
    try:
        await asyncio.wait([asked], timeout=seconds)
        if asked.done():
            return asked.result()
    finally:
        if asked.cancel():
            # Drivers tell the server when they are cancelled, and wait for its answer: that is not waited for.
            _leaving.add(asked)
            asked.add_done_callback(_left)
    raise DeadlineError(f"no answer within {seconds:g} s")


def lock() -> AbstractContextManager[bool]:
    """What one thread at a time enters."""
    from threading import Lock

    return Lock()


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
            _make(future, call)

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


class _Crew:
    """Daemon threads that make calls in the order in which they come; started as they are needed, `most` of them."""

    def __init__(self, name: str, most: int) -> None:
        from queue import SimpleQueue
        from threading import Lock, Semaphore

        self._name, self._most = name, most
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._idle = Semaphore(0)
        self._starting = Lock()
        self._started = 0

    def start(self, call: Callable[[], Answer]) -> Future[Answer]:
        from concurrent.futures import Future
        from contextvars import copy_context
        from threading import Thread

        future: Future[Answer] = Future()
        self._calls.put((future, partial(copy_context().run, call)))
        if not self._idle.acquire(blocking=False):
            with self._starting:
                if self._started < self._most:
                    Thread(target=self._work, name=self._name, daemon=True).start()
                    self._started += 1
        return future

    def _work(self) -> None:
        while True:
            _make(*self._calls.get())
            self._idle.release()


def _make(future: Future[Any], call: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for the result
            future.set_exception(error)
        else:
            future.set_result(answer)


_crews: dict[tuple[int, str], _Crew] = {}
"""By process, since a fork takes no threads along."""


def _crew(name: str, most: int) -> _Crew:
    key = (os.getpid(), name)
    return _crews.get(key) or _crews.setdefault(key, _Crew(name, most))


_leaving: set[asyncio.Future[Any]] = set()
"""What was cancelled and isn't done yet: the event loop itself keeps no task alive."""


def _left(future: asyncio.Future[Any]) -> None:
    _leaving.discard(future)
    if not future.cancelled():
        future.exception()  # looked at, or asyncio would report it
