"""Calls in threads and on the event loop. No other file of the engine knows of either.

How a deadline holds. A thread can't be stopped from outside, so a call that is late is given up, not ended: its caller
goes on at the deadline, and its answer is dropped when it comes. Three things follow:

- no caller ever joins a thread. It waits for a future with a timeout, and cancels it: a call that hasn't begun never
  does, one that has runs on by itself;
- the threads of calls with a deadline are daemons. The pools of `concurrent.futures` are joined when the interpreter
  ends, so one call that hangs would keep the process alive;
- a thread that hangs is lost. `submit` may start others in its place, up to `MAX_BACKGROUND_THREADS`; `gather_sync`
  starts its own threads for each batch, `MAX_CONCURRENT_CALLS` of them, so that one batch can't block another.

A task of the event loop can be cancelled, but a driver may take long to react: it notifies the server, and waits for
the reply. So cancelled tasks are left to finish by themselves, too.

Every call runs in a copy of its caller's context variables, by which tracers find the span that it belongs to. asyncio
and threading are imported where they are used: importing the engine stays light.
"""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future
    from contextlib import AbstractContextManager
    from queue import SimpleQueue

T = TypeVar("T")
R = TypeVar("R")

MAX_CONCURRENT_CALLS = 8
"""Calls of one batch that run at the same time; the service called may allow fewer."""
WORKER_THREAD = "ctxassembly-turns"
"""Name of the thread that `run_in_worker` works in."""
MAX_BACKGROUND_THREADS = 128
"""Most threads for single calls. If all of them hang, further calls wait until their deadline."""


class DeadlineError(TimeoutError):
    """No answer came in time. A timeout that the call itself reports is another error."""


def is_async(function: object) -> bool:
    """Return True if the result of `function` has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def to_async(function: Callable[[T], R]) -> Callable[[T], Awaitable[R]]:
    """Return an async version of `function`, which is called in a thread.

    Inside, an exception is passed as a value and raised afterwards: no future takes a StopIteration, and the
    caller would wait for it for ever.
    """

    async def call_in_thread(argument: T) -> R:
        import asyncio

        answer = await asyncio.to_thread(_call_safely, function, argument)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call_in_thread


def submit(call: Callable[[], R]) -> Future[R]:
    """Start `call` in a daemon thread, and give back its future.

    Threads are kept for further calls, since starting one costs more than most calls take. Neither a fork nor the end
    of the interpreter waits for them.

    >>> wait_with_deadline(5.0, submit(lambda: 6 * 7))
    42
    """
    return _pool("ctxassembly-background", MAX_BACKGROUND_THREADS).submit_call(call)


async def run_in_worker(call: Callable[[], R]) -> R:
    """Run work that would block the event loop in a thread, one piece at a time in the whole process.

    With more threads the pieces would fight for the interpreter, and each would take longer. A caller that is cancelled
    goes on at once; a piece whose turn hasn't come is never begun.
    """
    import asyncio
    from threading import current_thread

    if current_thread().name == WORKER_THREAD:  # a call that runs an event loop would wait for itself
        return call()
    return await asyncio.wrap_future(_pool(WORKER_THREAD, 1).submit_call(call))


def schedule_in_worker(call: Callable[[], object]) -> None:
    """Make `call` in the thread of `run_in_worker`, after all that has begun or waits there. Nobody waits for it."""
    _pool(WORKER_THREAD, 1).submit_call(call)


def wait_with_deadline(seconds: float, future: Future[R]) -> R:
    """Wait for the result of `future`, at most `seconds`.

    Raises:
        DeadlineError: there is none by then. The future is cancelled, and nobody waits until it is.
    """
    from concurrent.futures import TimeoutError as NotYet
    from threading import TIMEOUT_MAX

    try:
        return future.result(min(seconds, TIMEOUT_MAX))
    except NotYet:
        if future.done():  # the call raised a timeout of its own, or ended at the last moment
            return future.result()
        raise DeadlineError(f"no answer within {seconds:g} s") from None
    finally:
        future.cancel()


async def await_with_deadline(seconds: float, future: Awaitable[R] | Future[R]) -> R:
    """Async version of `wait_with_deadline`: for a coroutine, a future of the loop or a call in a thread.

    If the caller is cancelled, so is the future.
    """
    import asyncio
    from concurrent.futures import Future

    task = asyncio.wrap_future(future) if isinstance(future, Future) else asyncio.ensure_future(future)
    try:
        await asyncio.wait([task], timeout=seconds)
        if task.done():
            return task.result()
    finally:
        if task.cancel():
            # A cancelled driver notifies the server and waits for its reply. The caller doesn't wait for it.
            _cancelled_tasks.add(task)
            task.add_done_callback(_discard_task)
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
    from threading import TIMEOUT_MAX

    futures = _start_batch(function, arguments)
    try:
        wait(futures, min(timeout_seconds, TIMEOUT_MAX))
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
            future.cancel()


def iter_completed(
    function: Callable[[T], R], arguments: Iterable[T], max_concurrent: int
) -> Iterator[tuple[T, R | Exception]]:
    """Call `function` with each of `arguments` in threads, `max_concurrent` at a time.

    Each comes back with its answer, or the exception raised instead, as soon as it is done. The next call begins when
    the caller reads on: once it stops, none does.

    >>> sorted(iter_completed(int, ["1", "2", "3"], 2))
    [('1', 1), ('2', 2), ('3', 3)]
    """
    from queue import SimpleQueue

    pending = iter(arguments)
    completed: SimpleQueue[tuple[T, Future[Any]]] = SimpleQueue()
    running = 0
    while True:
        for argument in islice(pending, max_concurrent - running):
            running += 1
            submit(partial(_call_safely, function, argument)).add_done_callback(_put_completed(completed, argument))
        if not running:
            return
        argument, future = completed.get()
        running -= 1
        yield argument, future.result()


async def aiter_completed(
    function: Callable[[T], Awaitable[R]], arguments: Iterable[T], max_concurrent: int
) -> AsyncGenerator[tuple[T, R | Exception], None]:
    """Async version of `iter_completed`, in tasks. Running ones are cancelled once the caller stops."""
    import asyncio
    from contextlib import nullcontext

    pending = iter(arguments)
    completed: asyncio.Queue[tuple[T, asyncio.Future[Any]]] = asyncio.Queue()
    tasks: set[asyncio.Future[Any]] = set()
    try:
        while True:
            for argument in islice(pending, max_concurrent - len(tasks)):
                task: asyncio.Future[Any] = asyncio.ensure_future(_await_safely(function, argument, nullcontext()))
                tasks.add(task)
                task.add_done_callback(_put_completed(completed, argument))
            if not tasks:
                return
            argument, future = await completed.get()
            tasks.discard(future)
            yield argument, future.result()
    finally:
        for task in tasks:
            task.cancel()


def _put_completed(completed: Any, argument: object) -> Callable[[Any], None]:
    """Return a callback that puts a completed future into a queue, with its argument."""
    return lambda future: completed.put_nowait((argument, future))


def _start_batch(function: Callable[[T], Any], arguments: Sequence[T]) -> list[Future[Any]]:
    """Start a batch in daemon threads of its own, and return the futures in the order of `arguments`."""
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    futures: list[Future[Any]] = [Future() for _ in arguments]
    calls = [partial(copy_context().run, _call_safely, function, one) for one in arguments]
    pending = deque(zip(futures, calls, strict=True))

    def work() -> None:
        while True:
            try:
                future, call = pending.popleft()
            except IndexError:
                return
            _run_into(future, call)

    for _ in range(min(MAX_CONCURRENT_CALLS, len(calls))):
        Thread(target=work, name="ctxassembly-call", daemon=True).start()
    return futures


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


def _timeout_error(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {timeout_seconds:g} s")


class _DaemonPool:
    """At most `max_workers` daemon threads that take calls in order. A thread is started if none is idle."""

    def __init__(self, name: str, max_workers: int) -> None:
        from queue import SimpleQueue
        from threading import Lock, Semaphore

        self._name, self._max_workers = name, max_workers
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._idle = Semaphore(0)
        self._start_lock = Lock()
        self._started_count = 0

    def submit_call(self, call: Callable[[], R]) -> Future[R]:
        from concurrent.futures import Future
        from contextvars import copy_context
        from threading import Thread

        future: Future[R] = Future()
        self._calls.put((future, partial(copy_context().run, call)))
        if not self._idle.acquire(blocking=False):
            with self._start_lock:
                if self._started_count < self._max_workers:
                    Thread(target=self._work, name=self._name, daemon=True).start()
                    self._started_count += 1
        return future

    def _work(self) -> None:
        while True:
            _run_into(*self._calls.get())
            self._idle.release()


def _run_into(future: Future[Any], call: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - the future raises it again for its reader
            future.set_exception(error)
        else:
            future.set_result(answer)


_pools: dict[tuple[int, str], _DaemonPool] = {}
"""Pools by process and name: a fork doesn't copy threads."""


def _pool(name: str, max_workers: int) -> _DaemonPool:
    key = (os.getpid(), name)
    return _pools.get(key) or _pools.setdefault(key, _DaemonPool(name, max_workers))


_cancelled_tasks: set[asyncio.Future[Any]] = set()
"""Cancelled futures that aren't done yet, kept here because the event loop holds only weak references to tasks."""


def _discard_task(future: asyncio.Future[Any]) -> None:
    _cancelled_tasks.discard(future)
    if not future.cancelled():
        future.exception()  # asyncio reports an exception that nobody has looked at
