"""Calls in threads and on the event loop. No other file of the engine knows of either.

A thread can't be stopped from outside, so a call that is late is given up, not ended: its caller goes on at the
deadline, and its answer is dropped when it comes. So calls with a deadline run in daemon threads of their own: the
executors of the standard library are joined when the interpreter or the event loop ends, and one call that hangs would
keep the process alive. Cancelled tasks are left to finish by themselves, too: a driver notifies its server first.

Every call runs in a copy of its caller's context variables, by which tracers find the span that it belongs to. asyncio
and threading are imported where they are used: importing the engine stays light.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future, ThreadPoolExecutor
    from contextlib import AbstractContextManager

T = TypeVar("T")
R = TypeVar("R")

MAX_CONCURRENT_CALLS = 8
"""Calls of one batch that run at the same time; the service called may allow fewer."""
WORKER_THREAD = "ctxassembly-turns"
"""Name of the thread that `run_in_worker` works in."""


class DeadlineError(TimeoutError):
    """No answer came in time. A timeout that the call itself reports is another error."""


def is_async(function: object) -> bool:
    """Return True if the result of `function` has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def to_async(function: Callable[[T], R]) -> Callable[[T], Awaitable[R]]:
    """Return an async version of `function`, which is called in a thread.

    Inside, an exception is passed as a value: no future takes a StopIteration, and the caller would wait for ever.
    """

    async def call_in_thread(argument: T) -> R:
        import asyncio

        answer = await asyncio.to_thread(_call_safely, function, argument)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call_in_thread


def submit(call: Callable[[], R], turns: AbstractContextManager[Any] | None = None) -> Future[R]:
    """Start `call` in a daemon thread, and give back its future. It waits for its turn, if several share `turns`.

    >>> wait_with_deadline(5.0, submit(lambda: 6 * 7))
    42
    """
    from concurrent.futures import Future
    from contextlib import nullcontext
    from contextvars import copy_context
    from threading import Thread

    future: Future[R] = Future()
    context, gate = copy_context(), nullcontext() if turns is None else turns

    def work() -> None:
        with gate:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(context.run(call))
            except BaseException as error:  # noqa: BLE001 - the future raises it again for its reader
                future.set_exception(error)

    Thread(target=work, name="ctxassembly-call", daemon=True).start()
    return future


async def run_in_worker(call: Callable[[], R]) -> R:
    """Run work that would block the event loop in a thread, one piece at a time in the whole process.

    With more threads the pieces would fight for the interpreter, and each would take longer. A caller that is cancelled
    goes on at once; a piece whose turn hasn't come is never begun.
    """
    import asyncio
    from contextvars import copy_context
    from threading import current_thread

    if current_thread().name.startswith(WORKER_THREAD):  # a call that runs an event loop would wait for itself
        return call()
    return await asyncio.wrap_future(_worker(os.getpid()).submit(copy_context().run, call))


def schedule_in_worker(call: Callable[[], object]) -> None:
    """Make `call` in the thread of `run_in_worker`, after all that has begun or waits there. Nobody waits for it."""
    _worker(os.getpid()).submit(call)


@lru_cache(1)
def _worker(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a fork doesn't copy threads
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, WORKER_THREAD)


def wait_with_deadline(seconds: float, future: Future[R]) -> R:
    """Wait for the result of `future`, at most `seconds`.

    Raises:
        DeadlineError: there is none by then. The future is cancelled, and nobody waits until it is.
    """
    from concurrent.futures import wait

    try:
        if wait([future], _capped(seconds)).done:
            return future.result()
    finally:
        future.cancel()
    raise DeadlineError(f"no answer within {seconds:g} s")


async def await_with_deadline(seconds: float, future: Awaitable[R] | Future[R]) -> R:
    """Async version of `wait_with_deadline`: for a coroutine, a future of the loop or a call in a thread.

    If the caller is cancelled, so is the future.
    """
    import asyncio
    from concurrent.futures import Future

    task = asyncio.wrap_future(future) if isinstance(future, Future) else asyncio.ensure_future(future)
    try:
        if (await asyncio.wait([task], timeout=seconds))[0]:
            return task.result()
    finally:
        _cancel(task)
    raise DeadlineError(f"no answer within {seconds:g} s")


def lock() -> AbstractContextManager[bool]:
    """Return a lock, which one thread at a time can acquire."""
    from threading import Lock

    return Lock()


def gather_sync(function: Callable[[T], R], arguments: Sequence[T], timeout_seconds: float) -> list[R | Exception]:
    """Call `function` with each of `arguments` in threads: the answers in order, or the exceptions raised instead.

    A call that takes longer than `timeout_seconds`, counted from the start of the batch, gives a TimeoutError.

    >>> gather_sync(int, ["1", "2"], 5.0)
    [1, 2]
    """
    from concurrent.futures import wait

    futures = _start_batch(function, arguments)
    try:
        wait(futures, _capped(timeout_seconds))
        return [future.result() if future.done() else _timeout_error(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            future.cancel()  # calls still waiting for a thread never begin


async def gather_async(
    function: Callable[[T], Awaitable[R] | R], arguments: Sequence[T], timeout_seconds: float
) -> list[R | Exception]:
    """Async version of `gather_sync`. An async `function` runs in tasks, not in threads.

    Late tasks are cancelled. If the caller is cancelled, all of them are.
    """
    import asyncio

    futures: list[asyncio.Future[Any]]
    if is_async(function):
        semaphore = asyncio.Semaphore(MAX_CONCURRENT_CALLS)
        coroutine_function = cast(Callable[[T], Awaitable[R]], function)
        futures = [asyncio.ensure_future(_await_safely(coroutine_function, one, semaphore)) for one in arguments]
    else:
        futures = [asyncio.wrap_future(future) for future in _start_batch(function, arguments)]
    try:
        if futures:
            await asyncio.wait(futures, timeout=timeout_seconds)
        return [future.result() if future.done() else _timeout_error(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            _cancel(future)


def iter_completed(
    function: Callable[[T], R], arguments: Iterable[T], max_concurrent: int
) -> Iterator[tuple[T, R | Exception]]:
    """Call `function` with each of `arguments` in threads, `max_concurrent` at a time.

    Each comes back with its answer, or the exception raised instead, as soon as it is done. The next call begins when
    the caller reads on: once it stops, none does.

    >>> sorted(iter_completed(int, ["1", "2", "3"], 2))
    [('1', 1), ('2', 2), ('3', 3)]
    """
    from concurrent.futures import wait

    pending, running = iter(arguments), dict[Any, T]()
    while True:
        for argument in islice(pending, max_concurrent - len(running)):
            running[submit(partial(_call_safely, function, argument))] = argument
        if not running:
            return
        future = next(iter(wait(running, return_when="FIRST_COMPLETED").done))
        yield running.pop(future), future.result()


async def aiter_completed(
    function: Callable[[T], Awaitable[R]], arguments: Iterable[T], max_concurrent: int
) -> AsyncGenerator[tuple[T, R | Exception], None]:
    """Async version of `iter_completed`, in tasks. Running ones are cancelled once the caller stops."""
    import asyncio
    from contextlib import nullcontext

    pending, running = iter(arguments), dict[Any, T]()
    try:
        while True:
            for argument in islice(pending, max_concurrent - len(running)):
                running[asyncio.ensure_future(_await_safely(function, argument, nullcontext()))] = argument
            if not running:
                return
            task = next(iter((await asyncio.wait(running, return_when="FIRST_COMPLETED"))[0]))
            yield running.pop(task), task.result()
    finally:
        for task in running:
            _cancel(task)


def _start_batch(function: Callable[[T], Any], arguments: Sequence[T]) -> list[Future[Any]]:
    """Start a batch in threads of its own, and return the futures in the order of `arguments`."""
    from threading import BoundedSemaphore

    turns = BoundedSemaphore(MAX_CONCURRENT_CALLS)
    return [submit(partial(_call_safely, function, one), turns) for one in arguments]


def _call_safely(function: Callable[[T], R], argument: T) -> R | Exception:
    try:
        return function(argument)
    except Exception as error:  # noqa: BLE001 - the caller decides what a failure means
        return error


async def _await_safely(function: Callable[[T], Awaitable[R]], argument: T, semaphore: Any) -> R | Exception:
    async with semaphore:
        try:
            return await function(argument)
        except Exception as error:  # noqa: BLE001 - see above
            return error


def _cancel(future: asyncio.Future[Any]) -> None:
    """Cancel what isn't done. An error that it ends with is heard by nobody, and asyncio needn't report it."""
    if future.cancel():
        future.add_done_callback(lambda done: done.cancelled() or done.exception())


def _capped(seconds: float) -> float:
    from threading import TIMEOUT_MAX

    return min(seconds, TIMEOUT_MAX)


def _timeout_error(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {timeout_seconds:g} s")
