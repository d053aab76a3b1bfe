"""The two drivers of a flow, which differ by `await`.

A flow is a generator: it yields requests and is sent the replies. So it does no I/O itself and knows nothing of event
loops and threads, and the same flow serves synchronous and asynchronous callers. If a request fails, the exception is
thrown into the flow, which decides what the failure means.

The stages of an observed flow are reported where its requests are answered: what a stage asks for is asked between its
beginning and its end, in the same context variables, so its span is below the span of the stage.

The caller passes each service as a plain function, a coroutine function, or an object with a method `fetch` and its
async twin `afetch`. A `Port` makes them one: a sync handler of requests uses `call`, an async one `acall`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import gather_async, gather_sync, is_async, run_in_worker, schedule_in_worker, to_async
from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent, StageFailed
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

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
        step = _advance(*_answer(flow, ask, step))
    return cast(Result, step.result)


async def adrive(flow: Generator[RequestT, Any, Result], ask: Callable[[RequestT], Awaitable[Any]]) -> Result:
    """Async version of `drive`. The flow's own work runs in one thread of the process, one flow at a time.

    If the caller is cancelled, the flow is closed once its piece of work has ended.
    """
    try:
        step = await run_in_worker(partial(_advance, flow.send, None))
        while not isinstance(step, _Finished):
            resume, value = await _aanswer(flow, ask, step)
            step = await run_in_worker(partial(_advance, resume, value))
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
            else:
                step = _advance(*_answer(flow, ask, step))
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
            else:
                step = _advance(*await _aanswer(flow, ask, step))
        yield cast(Result, step.result)
    finally:
        flow.close()


@dataclass(frozen=True)
class _Finished:
    result: Any


def _answer(flow: Generator[Any, Any, Any], ask: Callable[[Any], Any], request: Any) -> tuple[Callable[..., Any], Any]:
    """Return how the flow goes on once `request` is answered or has failed: `send` or `throw`, and its argument."""
    try:
        return flow.send, ask(request)
    except Exception as error:  # noqa: BLE001 - see above
        return flow.throw, error


async def _aanswer(
    flow: Generator[Any, Any, Any], ask: Callable[[Any], Awaitable[Any]], request: Any
) -> tuple[Callable[..., Any], Any]:
    """Async version of `_answer`."""
    try:
        return flow.send, await ask(request)
    except Exception as error:  # noqa: BLE001 - see above
        return flow.throw, error


def _advance(resume: Callable[[Any], RequestT], value: Any) -> RequestT | _Finished:
    """Return the next request of the flow, or its end as a value: no future accepts a StopIteration."""
    try:
        return resume(value)
    except StopIteration as end:
        return _Finished(end.value)


def drive_observed(flow: Generator[Any, Any, Result], ask: Callable[[Any], Any], on_stage: Any) -> Result:
    """Run `flow` to its end, as `drive` does, and report its stages to `on_stage`.

    Raises:
        InputError: `on_stage` can't be called, or can only be awaited.
    """
    if on_stage is None:
        return drive(flow, ask)
    if is_async(on_stage):
        raise InputError("on_stage can only be awaited: it needs the awaited function, or the adapter's async methods")
    _check_on_stage(on_stage)
    running: list[StageBegan] = []

    def ask_or_report(request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return ask(request)
        running.clear()
        on_stage(request)
        if isinstance(request, StageBegan):
            running.append(request)
        return None

    try:
        return drive(flow, ask_or_report)
    except BaseException as error:
        for stage in running:
            on_stage(StageFailed(stage.name, error))
        raise


async def adrive_observed(
    flow: Generator[Any, Any, Result], ask: Callable[[Any], Awaitable[Any]], on_stage: Any
) -> Result:
    """Async version of `drive_observed`. A sync `on_stage` is called on the event loop: it has to be light."""
    if on_stage is None:
        return await adrive(flow, ask)
    _check_on_stage(on_stage)
    running: list[StageBegan] = []

    async def report(event: StageEvent) -> None:
        if isawaitable(result := on_stage(event)):
            await result

    async def ask_or_report(request: Any) -> Any:
        if not isinstance(request, (StageBegan, StageEnded)):
            return await ask(request)
        running.clear()
        await report(request)
        if isinstance(request, StageBegan):
            running.append(request)
        return None

    try:
        return await adrive(flow, ask_or_report)
    except BaseException as error:
        for stage in running:
            await report(StageFailed(stage.name, error))
        raise


def _check_on_stage(on_stage: object) -> None:
    if not callable(on_stage):
        raise InputError(f"on_stage must be a function from the event of a stage, got {safe_repr(on_stage)}")


Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Port:
    """A service as a function to call, as a function to await, or as both; empty if the caller passed none.

    >>> Port.of(len).call("four")
    4
    """

    sync: Function | None = None
    async_: Function | None = None

    @classmethod
    def of(cls, service: object, method: str = "", *, accepts_function: bool = True) -> Port:
        """Return the port of `service`: its `method` and its `a`-prefixed twin, or `service` itself as a function.

        It is empty if `service` has neither; `accepts_function=False` requires one of the methods.
        """
        sync, async_ = (_find_method(service, name) for name in (method, f"a{method}")) if method else (None, None)
        if sync is None and accepts_function and callable(service):
            sync = service
        return cls(None, async_ or sync) if is_async(sync) else cls(sync, async_)

    @classmethod
    def of_embedder(cls, embed: object, method: str = "embed_documents") -> Port:
        """Return the port of `embed`, a function or an object with `method`; empty for None.

        Raises:
            InputError: it is something else.
        """
        port = cls.of(embed, method)
        if embed is not None and not port:
            mapping = "a text to its vector" if method == "embed_query" else "texts to vectors"
            raise InputError(f"embed must be a function from {mapping}, or have {method}, got {safe_repr(embed)}")
        return port

    def __bool__(self) -> bool:
        """Return True if there is a function to call or to await."""
        return self.sync is not None or self.async_ is not None

    def require_sync(self, message: str) -> Port:
        """Return the port if it is empty or can be called.

        Raises:
            InputError: it can only be awaited. `message` says so, and what to use instead.
        """
        if self.async_ is not None and self.sync is None:
            raise InputError(message)
        return self

    def call(self, *arguments: Any) -> Any:
        """Call the service in the current thread."""
        return cast(Function, self.sync)(*arguments)

    async def acall(self, *arguments: Any) -> Any:
        """Await the service, or call it in a thread if it has no async version."""
        if self.async_ is not None:
            return await self.async_(*arguments)
        return await to_async(lambda _: self.call(*arguments))(None)

    def gather(self, arguments: Sequence[Any], timeout_seconds: float) -> list[Any]:
        """Return the reply to each of `arguments`, or its exception, from calls in threads; see `gather_sync`."""
        return gather_sync(self.call, arguments, timeout_seconds)

    async def agather(self, arguments: Sequence[Any], timeout_seconds: float) -> list[Any]:
        """Async version of `gather`."""
        return await gather_async(self.call if self.async_ is None else self.acall, arguments, timeout_seconds)


def _find_method(service: object, name: str) -> Function | None:
    method = None if isinstance(service, type) else getattr(service, name, None)
    return method if callable(method) else None
