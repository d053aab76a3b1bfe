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

from ctxassembly.concurrency import is_async, run_in_worker, schedule_in_worker
from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent, StageFailed
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from typing_extensions import Self

RequestT = TypeVar("RequestT")
Result = TypeVar("Result")
Event = TypeVar("Event")


def drive(flow: Generator[RequestT, Any, Result], ask: Callable[[RequestT], Any]) -> Result:
    """Run `flow` to its end, with the replies of `ask` to its requests; its result.

    >>> def greeting():
    ...     name = yield "name?"
    ...     return f"Hello, {name}."
    >>> drive(greeting(), {"name?": "Ann"}.__getitem__)
    'Hello, Ann.'
    """
    step = _advance(flow.send, None)
    while not isinstance(step, _Finished):
        step = _answer(flow, ask, step)
    return cast(Result, step.result)


async def adrive(flow: Generator[RequestT, Any, Result], ask: Callable[[RequestT], Awaitable[Any]]) -> Result:
    """Async version of `drive`. The flow's own work runs in one thread of the process, one flow at a time.

    If the caller is cancelled, the flow is closed once its piece of work has ended.
    """
    try:
        step = await run_in_worker(partial(_advance, flow.send, None))
        while not isinstance(step, _Finished):
            try:
                reply = await ask(step)
            except Exception as error:  # noqa: BLE001 - see above
                step = await run_in_worker(partial(_advance, flow.throw, error))
            else:
                step = await run_in_worker(partial(_advance, flow.send, reply))
        return cast(Result, step.result)
    except BaseException:
        schedule_in_worker(flow.close)  # here it may still be running
        raise


def drive_stream(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Any], event: type[Event]
) -> Iterator[Event | Result]:
    """Run `flow` to its end: what it yields of the type `event`, and then its result.

    >>> def counting():
    ...     said = yield "how far?"
    ...     for number in range(said):
    ...         yield number
    ...     return "done"
    >>> list(drive_stream(counting(), {"how far?": 2}.__getitem__, int))
    [0, 1, 'done']
    """
    try:
        step = _advance(flow.send, None)
        while not isinstance(step, _Finished):
            if isinstance(step, event):
                yield step
                step = _advance(flow.send, None)
                continue
            step = _answer(flow, ask, step)
        yield cast(Result, step.result)
    finally:
        flow.close()


async def adrive_stream(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Awaitable[Any]], event: type[Event]
) -> AsyncIterator[Event | Result]:
    """Async version of `drive_stream`. The flow's own work runs on the event loop, so it has to be light."""
    try:
        step = _advance(flow.send, None)
        while not isinstance(step, _Finished):
            if isinstance(step, event):
                yield step
                step = _advance(flow.send, None)
                continue
            try:
                reply = await ask(step)
            except Exception as error:  # noqa: BLE001 - see above
                step = _advance(flow.throw, error)
            else:
                step = _advance(flow.send, reply)
        yield cast(Result, step.result)
    finally:
        flow.close()


@dataclass(frozen=True)
class _Finished:
    result: Any


def _answer(
    flow: Generator[RequestT, Any, Any], ask: Callable[[RequestT], Any], request: RequestT
) -> RequestT | _Finished:
    """Return the step after `request`, once it is answered or has failed."""
    try:
        reply = ask(request)
    except Exception as error:  # noqa: BLE001 - see above
        return _advance(flow.throw, error)
    return _advance(flow.send, reply)


def _advance(resume: Callable[[Any], RequestT], value: Any) -> RequestT | _Finished:
    """Return the next request of the flow, or its end as a value: no future accepts a StopIteration."""
    try:
        return resume(value)
    except StopIteration as end:
        return _Finished(end.value)


# Observed flows.
#
# `on_stage` is called where the requests of the flow are answered: what a stage asks for is asked between its beginning
# and its end, in the same context variables, so its span is below the span of the stage.


def drive_observed(flow: Generator[Any, Any, Result], ask: Callable[[Any], Any], on_stage: Any) -> Result:
    """Run `flow` to its end, as `drive` does, and report its stages to `on_stage`.

    Raises:
        InputError: `on_stage` can't be called, or can only be awaited.
    """
    if on_stage is None:
        return drive(flow, ask)
    if is_async(on_stage):
        raise InputError("on_stage can only be awaited: it needs the awaited function, or the adapter's async methods")
    with _Observer(ask, on_stage) as observer:
        return drive(flow, observer.ask)


async def adrive_observed(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Awaitable[Any]], on_stage: Any
) -> Result:
    """Async version of `drive_observed`. A sync `on_stage` is called on the event loop: it has to be light."""
    if on_stage is None:
        return await adrive(flow, ask)
    async with _Observer(ask, on_stage) as observer:
        return await adrive(flow, observer.aask)


class _Observer:
    """`ask`, which also reports stages to `on_stage`. If an error ends the flow, the current stage has failed."""

    def __init__(self, ask: Callable[[Any], Any], on_stage: Callable[[StageEvent], Any]) -> None:
        if not callable(on_stage):
            raise InputError(f"on_stage must be a function from the event of a stage, got {safe_repr(on_stage)}")
        self._ask, self._on_stage = ask, on_stage
        self._running_stage: StageBegan | None = None

    def ask(self, request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return self._ask(request)
        self._running_stage = None
        self._on_stage(request)
        self._running_stage = request if isinstance(request, StageBegan) else None
        return None

    async def aask(self, request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return await self._ask(request)
        self._running_stage = None
        if isawaitable(result := self._on_stage(request)):
            await result
        self._running_stage = request if isinstance(request, StageBegan) else None
        return None

    def _report_failure(self, error: BaseException | None) -> Any:
        if error is None or self._running_stage is None:
            return None
        return self._on_stage(StageFailed(self._running_stage.name, error))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        self._report_failure(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        result = self._report_failure(error)
        if isawaitable(result):
            await result
