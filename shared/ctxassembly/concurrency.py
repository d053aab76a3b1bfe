"""Calls in threads and on the event loop. No other file of the engine knows of either.

How a deadline holds. A thread can't be stopped from outside, so a call that is late is given up, not ended: its caller
goes on at the deadline, and its answer is dropped when it comes. Three things follow:

- no caller ever joins a thread. It waits for a future with a timeout, and cancels it: a call that hasn't begun never
  does, one that has runs on by itself;
- the threads of calls with a deadline are daemons. The pools of `concurrent.futures` are joined when the interpreter
  ends, so one call that hangs would keep the process alive;
- a thread that hangs is lost. `in_background` may start others in its place, up to `MOST_IN_BACKGROUND`; `call_all`
  starts its own threads for each batch, `MOST_AT_ONCE` of them, so that one batch can't hold up another.

A task of the event loop can be cancelled, but a driver may answer that slowly: it tells the server, and waits for the
reply. So cancelled tasks are left to finish by themselves, too.

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
    from types import FrameType

Given = TypeVar("Given")
Answer = TypeVar("Answer")

MOST_AT_ONCE = 8
"""Calls of one batch that run at the same time; the service called may allow fewer."""
TURNS = "ctxassembly-turns"
"""Name of the thread that `in_turn` works in."""
MOST_IN_BACKGROUND = 128
"""Most threads for single calls. If all of them hang, further calls wait until their deadline."""


class DeadlineError(TimeoutError):
    """No answer came in time. A timeout that the call itself reports is another error."""


def is_async(function: object) -> bool:
    """True if the result of `function` has to be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def in_thread(function: Callable[[Given], Answer]) -> Callable[[Given], Awaitable[Answer]]:
    """An awaitable version of `function`, which is called in a thread.

    Inside, an exception is handed over as a value and raised afterwards: no future takes a StopIteration, and the
    caller would wait for it for ever.
    """

    async def awaited(given: Given) -> Answer:
        import asyncio

        answer = await asyncio.to_thread(_called, function, given)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return awaited


def in_background(call: Callable[[], Answer]) -> Future[Answer]:
    """Start `call` in a daemon thread, and give back its future.

    Threads are kept for further calls, since starting one costs more than most calls take. Neither a fork nor the end
    of the interpreter waits for them.

    >>> within(5.0, in_background(lambda: 6 * 7))
    42
    """
    return _crew("ctxassembly-background", MOST_IN_BACKGROUND).start(call)


async def in_turn(call: Callable[[], Answer]) -> Answer:
    """Run work that would block the event loop in a thread, one piece at a time in the whole process.

    With more threads the pieces would fight for the interpreter, and each would take longer. A caller that is cancelled
    goes on at once; a piece whose turn hasn't come is never begun.
    """
    import asyncio
    from threading import current_thread

    if current_thread().name == TURNS:  # a call that runs an event loop would wait for itself
        return call()
    return await asyncio.wrap_future(_crew(TURNS, 1).start(call))


def after_turns(call: Callable[[], object]) -> None:
    """Have `call` made in the thread of `in_turn`, after all that has begun or waits there. Nobody waits for it."""
    _crew(TURNS, 1).start(call)


def within(seconds: float, future: Future[Answer]) -> Answer:
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


async def awaited_within(seconds: float, future: Awaitable[Answer] | Future[Answer]) -> Answer:
    """The same as `within`, awaited: for a coroutine, a future of the event loop or a call in a thread.

    If the caller is cancelled, so is the future.
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
            # A cancelled driver tells the server and waits for its reply. Nobody here waits with it.
            _leaving.add(asked)
            asked.add_done_callback(_left)
    raise DeadlineError(f"no answer within {seconds:g} s")


def lock() -> AbstractContextManager[bool]:
    """A lock, which one thread at a time can hold."""
    from threading import Lock

    return Lock()


def call_all(
    function: Callable[[Given], Answer], given: Sequence[Given], timeout_seconds: float
) -> list[Answer | Exception]:
    """Call `function` with each of `given` in threads: the answers in their order, or the exceptions raised instead.

    A call that takes longer than `timeout_seconds`, counted from the start of the batch, gives a TimeoutError.

    >>> call_all(int, ["1", "2"], 5.0)
    [1, 2]
    """
    from concurrent.futures import wait
    from threading import TIMEOUT_MAX

    futures = _started(function, given)
    try:
        wait(futures, min(timeout_seconds, TIMEOUT_MAX))
        return [future.result() if future.done() else _late(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            future.cancel()  # calls still waiting for a thread never begin


async def await_all(
    function: Callable[[Given], Awaitable[Answer] | Answer], given: Sequence[Given], timeout_seconds: float
) -> list[Answer | Exception]:
    """The same as `call_all`, awaited. An async `function` runs in tasks, not in threads.

    Late tasks are cancelled. If the caller is cancelled, all of them are.
    """
    import asyncio

    futures: list[asyncio.Future[Any]]
    if is_async(function):
        room = asyncio.Semaphore(MOST_AT_ONCE)
        awaited = cast(Callable[[Given], Awaitable[Answer]], function)
        futures = [asyncio.ensure_future(_awaited(awaited, one, room)) for one in given]
    else:
        futures = [asyncio.wrap_future(future) for future in _started(function, given)]
    try:
        if futures:
            await asyncio.wait(futures, timeout=timeout_seconds)
        return [future.result() if future.done() else _late(timeout_seconds) for future in futures]
    finally:
        for future in futures:
            future.cancel()


def each_done(
    function: Callable[[Given], Answer], given: Iterable[Given], at_once: int
) -> Iterator[tuple[Given, Answer | Exception]]:
    """Call `function` with each of `given` in threads, `at_once` at a time.

    Each comes back with its answer, or the exception raised instead, as soon as it is done. The next call begins when
    the caller reads on: once it stops, none does.

    >>> sorted(each_done(int, ["1", "2", "3"], 2))
    [('1', 1), ('2', 2), ('3', 3)]
    """
    from queue import SimpleQueue

    waiting = iter(given)
    done: SimpleQueue[tuple[Given, Future[Any]]] = SimpleQueue()
    running = 0
    while True:
        for one in islice(waiting, at_once - running):
            running += 1
            in_background(partial(_called, function, one)).add_done_callback(_put(done, one))
        if not running:
            return
        one, future = done.get()
        running -= 1
        yield one, future.result()


async def aeach_done(
    function: Callable[[Given], Awaitable[Answer]], given: Iterable[Given], at_once: int
) -> AsyncGenerator[tuple[Given, Answer | Exception], None]:
    """The same as `each_done`, awaited, in tasks. Those under way are cancelled once the caller stops reading."""
    import asyncio
    from contextlib import nullcontext

    waiting = iter(given)
    done: asyncio.Queue[tuple[Given, asyncio.Future[Any]]] = asyncio.Queue()
    tasks: set[asyncio.Future[Any]] = set()
    try:
        while True:
            for one in islice(waiting, at_once - len(tasks)):
                task: asyncio.Future[Any] = asyncio.ensure_future(_awaited(function, one, nullcontext()))
                tasks.add(task)
                task.add_done_callback(_put(done, one))
            if not tasks:
                return
            one, future = await done.get()
            tasks.discard(future)
            yield one, future.result()
    finally:
        for task in tasks:
            task.cancel()


def _put(done: Any, one: object) -> Callable[[Any], None]:
    """A function that puts a future that is done into a queue, with what it was started for."""
    return lambda future: done.put_nowait((one, future))


def _started(function: Callable[[Given], Any], given: Sequence[Given]) -> list[Future[Any]]:
    """Start a batch in daemon threads of its own, and give back the futures in the order of `given`."""
    from concurrent.futures import Future
    from contextvars import copy_context
    from threading import Thread

    futures: list[Future[Any]] = [Future() for _ in given]
    calls = [partial(copy_context().run, _called, function, one) for one in given]
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
    except Exception as error:  # noqa: BLE001 - the caller decides what a failure means
        return error


async def _awaited(function: Callable[[Given], Awaitable[Answer]], given: Given, room: Any) -> Answer | Exception:
    async with room:
        try:
            return await function(given)
        except Exception as error:  # noqa: BLE001 - see above
            return error


def is_of_loop(frame: FrameType) -> bool:
    """True if `frame` is an event loop's: whoever called for the step that it runs is not on the stack."""
    return str(frame.f_globals.get("__name__")).startswith(("asyncio.events", "asyncio.runners", "uvloop"))


def waiting_frames() -> Iterator[FrameType]:
    """The frames that wait for the task under way, innermost first; none outside of a task.

    Python keeps no way back from a task to who awaits it, so all tasks of the event loop are looked at.
    """
    import asyncio

    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return
    seen: list[Any] = []
    while task is not None:
        seen.append(task)
        others = [other for other in asyncio.all_tasks() if other not in seen]
        task, frames = next(
            ((other, frames) for other in others if _waits_for(task, other, frames := _suspended(other))), (None, [])
        )
        yield from reversed(frames)


def _suspended(task: Any) -> list[FrameType]:
    """The frames of a task that waits, outermost first, as far as generators tell what they wait for."""
    frames: list[FrameType] = []
    at: Any = task.get_coro()
    while at is not None:
        kind = next((kind for kind in ("cr", "gi", "ag") if hasattr(at, f"{kind}_frame")), None)
        if kind is None:
            break
        if (frame := getattr(at, f"{kind}_frame")) is not None:
            frames.append(frame)
        at = getattr(at, {"cr": "cr_await", "gi": "gi_yieldfrom", "ag": "ag_await"}[kind])
    return frames


def _waits_for(task: Any, other: Any, frames: Sequence[FrameType]) -> bool:
    """True if `other`, suspended in `frames`, waits for `task`: itself, by asyncio.gather, or by asyncio.wait."""
    waiter = getattr(other, "_fut_waiter", None)
    if waiter is task or any(child is task for child in getattr(waiter, "_children", ())):
        return True
    names = (value for frame in frames if _is_asyncios(frame) for value in frame.f_locals.values())
    return any(one is task for value in names for one in (value if isinstance(value, (set, list, tuple)) else (value,)))


def _is_asyncios(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("asyncio.")


def _late(timeout_seconds: float) -> TimeoutError:
    return TimeoutError(f"no answer within {timeout_seconds:g} s")


class _Crew:
    """At most `most` daemon threads that take calls in the order they come. A thread is started if none is idle."""

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
        except BaseException as error:  # noqa: BLE001 - the future raises it again for its reader
            future.set_exception(error)
        else:
            future.set_result(answer)


_crews: dict[tuple[int, str], _Crew] = {}
"""Crews by process and name: a fork takes no threads along."""


def _crew(name: str, most: int) -> _Crew:
    key = (os.getpid(), name)
    return _crews.get(key) or _crews.setdefault(key, _Crew(name, most))


_leaving: set[asyncio.Future[Any]] = set()
"""Cancelled futures that aren't done yet, kept here because the event loop holds only weak references to tasks."""


def _left(future: asyncio.Future[Any]) -> None:
    _leaving.discard(future)
    if not future.cancelled():
        future.exception()  # asyncio reports an exception that nobody has looked at
