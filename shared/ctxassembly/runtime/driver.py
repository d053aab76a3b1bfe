"""The two drivers of a flow, which differ by `await`.

A flow is a generator: it yields requests and is sent the replies. So it does no I/O itself and knows nothing of event
loops and threads, and the same flow serves synchronous and asynchronous callers. If a request fails, the exception is
thrown into the flow, which decides what the failure means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ctxassembly.concurrency import after_turns, in_turn, is_async
from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent, StageFailed
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown

if TYPE_CHECKING:
    from typing_extensions import Self

Asked = TypeVar("Asked")
Result = TypeVar("Result")
Event = TypeVar("Event")


def run(flow: Generator[Asked, Any, Result], ask: Callable[[Asked], Any]) -> Result:
    """Run `flow` to its end, with the replies of `ask` to its requests; its result.

    >>> def greeting():
    ...     name = yield "name?"
    ...     return f"Hello, {name}."
    >>> run(greeting(), {"name?": "Ann"}.__getitem__)
    'Hello, Ann.'
    """
    step = _resumed(flow.send, None)
    while not isinstance(step, _Ended):
        step = _asked(flow, ask, step)
    return cast(Result, step.result)


async def arun(flow: Generator[Asked, Any, Result], ask: Callable[[Asked], Awaitable[Any]]) -> Result:
    """The same, awaited. The flow's own work runs in one thread of the process, one flow at a time.

    If the caller is cancelled, the flow is closed once its piece of work has ended.
    """
    try:
        step = await in_turn(partial(_resumed, flow.send, None))
        while not isinstance(step, _Ended):
            try:
                reply = await ask(step)
            except Exception as error:  # noqa: BLE001 - see above
                step = await in_turn(partial(_resumed, flow.throw, error))
            else:
                step = await in_turn(partial(_resumed, flow.send, reply))
        return cast(Result, step.result)
    except BaseException:
        after_turns(flow.close)  # here it may still be running
        raise


def stream_run(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Any], event: type[Event]
) -> Iterator[Event | Result]:
    """Run `flow` to its end: what it yields of the type `event`, and then its result.

    >>> def counting():
    ...     said = yield "how far?"
    ...     for number in range(said):
    ...         yield number
    ...     return "done"
    >>> list(stream_run(counting(), {"how far?": 2}.__getitem__, int))
    [0, 1, 'done']
    """
    try:
        step = _resumed(flow.send, None)
        while not isinstance(step, _Ended):
            if isinstance(step, event):
                yield step
                step = _resumed(flow.send, None)
                continue
            step = _asked(flow, ask, step)
        yield cast(Result, step.result)
    finally:
        flow.close()


async def astream_run(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Awaitable[Any]], event: type[Event]
) -> AsyncIterator[Event | Result]:
    """The same, awaited. The flow's own work runs on the event loop: it has to be light."""
    try:
        step = _resumed(flow.send, None)
        while not isinstance(step, _Ended):
            if isinstance(step, event):
                yield step
                step = _resumed(flow.send, None)
                continue
            try:
                reply = await ask(step)
            except Exception as error:  # noqa: BLE001 - see above
                step = _resumed(flow.throw, error)
            else:
                step = _resumed(flow.send, reply)
        yield cast(Result, step.result)
    finally:
        flow.close()


@dataclass(frozen=True)
class _Ended:
    result: Any


def _asked(flow: Generator[Asked, Any, Any], ask: Callable[[Asked], Any], request: Asked) -> Asked | _Ended:
    """The step after `request`, which is answered or fails."""
    try:
        reply = ask(request)
    except Exception as error:  # noqa: BLE001 - see above
        return _resumed(flow.throw, error)
    return _resumed(flow.send, reply)


def _resumed(resume: Callable[[Any], Asked], given: Any) -> Asked | _Ended:
    """The next request of the flow, or its end as a value: no future takes a StopIteration."""
    try:
        return resume(given)
    except StopIteration as end:
        return _Ended(end.value)


# Flows whose stages somebody watches.
#
# `on_stage` is called where the requests of the flow are answered: what a stage asks for is asked between its beginning
# and its end, in the same context variables, and so it stands below the span of the stage.


def run_watched(flow: Generator[Any, Any, Result], ask: Callable[[Any], Any], on_stage: Any) -> Result:
    """Run `flow` to its end, as `run` does, and tell its stages.

    Raises:
        InputError: `on_stage` can't be called, or can only be awaited.
    """
    if on_stage is None:
        return run(flow, ask)
    if is_async(on_stage):
        raise InputError("on_stage can only be awaited: it needs the awaited function, or the adapter's async methods")
    with _Watched(ask, on_stage) as watched:
        return run(flow, watched.ask)


async def arun_watched(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Awaitable[Any]], on_stage: Any
) -> Result:
    """The same, awaited. An `on_stage` that needn't be awaited is called on the event loop: it has to be light."""
    if on_stage is None:
        return await arun(flow, ask)
    async with _Watched(ask, on_stage) as watched:
        return await arun(flow, watched.aask)


class _Watched:
    """`ask`, with the stages between the requests told to `on_stage`. Left by an error, the stage under way failed."""

    def __init__(self, ask: Callable[[Any], Any], on_stage: Callable[[StageEvent], Any]) -> None:
        if not callable(on_stage):
            raise InputError(f"on_stage must be a function from the event of a stage, got {shown(on_stage)}")
        self._ask, self._on_stage = ask, on_stage
        self._under_way: StageBegan | None = None

    def ask(self, request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return self._ask(request)
        self._under_way = None
        self._on_stage(request)
        self._under_way = request if isinstance(request, StageBegan) else None
        return None

    async def aask(self, request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return await self._ask(request)
        self._under_way = None
        if isawaitable(told := self._on_stage(request)):
            await told
        self._under_way = request if isinstance(request, StageBegan) else None
        return None

    def _failed(self, error: BaseException | None) -> Any:
        if error is None or self._under_way is None:
            return None
        return self._on_stage(StageFailed(self._under_way.name, error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self._failed(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        told = self._failed(error)
        if isawaitable(told):
            await told
