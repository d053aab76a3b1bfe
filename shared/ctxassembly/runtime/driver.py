"""The two drivers of a flow, which differ by `await`.

A flow is a generator: it yields requests and is sent the replies. So it does no I/O itself and knows nothing of event
loops and threads, and the same flow serves synchronous and asynchronous callers. A table says which `Port` answers each
type of request. If one fails, the exception is thrown into the flow, which decides what the failure means.

The stages of an observed flow are reported where its requests are answered: what a stage asks for is asked between its
beginning and its end, in the same context variables, so its span is below the span of the stage.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import gather_async, gather_sync, is_async, run_in_worker, schedule_in_worker, to_async
from ctxassembly.data.trace import StageBegan, StageEnded, StageFailed
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

Result = TypeVar("Result")
Function = Callable[..., Any]


def drive(flow: Generator[Any, Any, Result], ports: Ports) -> Result:
    """Run `flow` to its end, with the replies of `ports` to its requests; its result.

    >>> def greeting():
    ...     name = yield "name?"
    ...     return f"Hello, {name}."
    >>> drive(greeting(), {str: Port({"name?": "Ann"}.__getitem__)})
    'Hello, Ann.'
    """
    *_, result = drive_stream(flow, ports)
    return cast(Result, result)


async def adrive(flow: Generator[Any, Any, Result], ports: Ports) -> Result:
    """Async version of `drive`. The flow's own work runs in one thread of the process, one flow at a time.

    If the caller is cancelled, the flow is closed once its piece of work has ended.
    """
    async with aclosing(adrive_stream(flow, ports, in_worker=True)) as events:
        *_, result = [event async for event in events]
    return cast(Result, result)


def drive_stream(flow: Generator[Any, Any, Any], ports: Ports) -> Generator[Any, None, None]:
    """Run `flow` to its end: what it yields that no port answers, and then its result.

    >>> def counting():
    ...     said = yield "how far?"
    ...     for number in range(said):
    ...         yield number
    ...     return "done"
    >>> list(drive_stream(counting(), {str: Port({"how far?": 2}.__getitem__)}))
    [0, 1, 'done']
    """
    stage: StageBegan | None = None
    step = _advance(flow.send, None)
    with closing(flow):
        try:
            while not isinstance(step, _Finished):
                if (port := ports.get(type(step))) is None:
                    yield step
                    step = _advance(flow.send, None)
                    continue
                stage = None if isinstance(step, (StageBegan, StageEnded)) else stage
                try:
                    resume, reply = flow.send, port.call(step)
                    stage = step if isinstance(step, StageBegan) else stage
                except Exception as error:  # noqa: BLE001 - see above
                    resume, reply = flow.throw, error
                step = _advance(resume, reply)
        except BaseException as error:
            if stage:
                ports[StageFailed].call(StageFailed(stage.name, error))
            raise
    yield step.result


async def adrive_stream(
    flow: Generator[Any, Any, Any], ports: Ports, *, in_worker: bool = False
) -> AsyncGenerator[Any, None]:
    """Async version of `drive_stream`. The flow's own work runs on the event loop, or in a thread, as in `adrive`."""
    stage: StageBegan | None = None
    try:
        step = await _aadvance(flow.send, None, in_worker)
        while not isinstance(step, _Finished):
            if (port := ports.get(type(step))) is None:
                yield step
                step = await _aadvance(flow.send, None, in_worker)
                continue
            stage = None if isinstance(step, (StageBegan, StageEnded)) else stage
            try:
                resume, reply = flow.send, await port.acall(step)
                stage = step if isinstance(step, StageBegan) else stage
            except Exception as error:  # noqa: BLE001 - see above
                resume, reply = flow.throw, error
            step = await _aadvance(resume, reply, in_worker)
    except BaseException as error:
        schedule_in_worker(flow.close) if in_worker else flow.close()  # in the thread it may still be running
        if stage:
            await ports[StageFailed].acall(StageFailed(stage.name, error))
        raise
    yield step.result


@dataclass(frozen=True)
class _Finished:
    result: Any


def _advance(resume: Callable[[Any], Any], value: Any) -> Any:
    """Return the next request of the flow, or its end as a value: no future accepts a StopIteration."""
    try:
        return resume(value)
    except StopIteration as end:
        return _Finished(end.value)


async def _aadvance(resume: Callable[[Any], Any], value: Any, in_worker: bool) -> Any:
    """Async version of `_advance`."""
    return await run_in_worker(partial(_advance, resume, value)) if in_worker else _advance(resume, value)


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

    def taking(self, read: Callable[[Any], Sequence[Any]], check: Callable[[Any], Any] = lambda reply: reply) -> Port:
        """Return the port that is called with a request: `read` gives the arguments, and `check` makes the reply."""

        async def acall(request: Any) -> Any:
            return check(await cast(Function, self.async_)(*read(request)))

        sync = None if self.sync is None else lambda request: check(self.call(*read(request)))
        return Port(sync, None if self.async_ is None else acall)

    def each(self, items: Callable[[Any], Sequence[Any]], seconds: Callable[[Any], float]) -> Port:
        """Return the port that is called with a request for several `items`, at the same time.

        It gives the reply to each, or its exception; after so many `seconds` that is a TimeoutError.
        """

        async def gather(request: Any) -> list[Any]:
            function = self.call if self.async_ is None else self.acall
            return await gather_async(function, items(request), seconds(request))

        sync = None if self.sync is None else lambda request: gather_sync(self.call, items(request), seconds(request))
        return Port(sync, gather if self else None)

    def call(self, *arguments: Any) -> Any:
        """Call the service in the current thread."""
        return cast(Function, self.sync)(*arguments)

    async def acall(self, *arguments: Any) -> Any:
        """Await the service, or call it in a thread if it has no async version."""
        if self.async_ is not None:
            return await self.async_(*arguments)
        return await to_async(lambda _: self.call(*arguments))(None)


def _find_method(service: object, name: str) -> Function | None:
    method = None if isinstance(service, type) else getattr(service, name, None)
    return method if callable(method) else None


Ports = Mapping[type, Port]
"""The port that answers each type of request."""


def stage_ports(on_stage: Any, *, needs_sync: bool) -> dict[type, Port]:
    """Return the ports that report the stages of a flow to `on_stage`; none for None.

    A sync `on_stage` is called on the event loop, too: it has to be light.

    Raises:
        InputError: `on_stage` can't be called, or can only be awaited and `needs_sync`.
    """
    if on_stage is None:
        return {}
    if not callable(on_stage):
        raise InputError(f"on_stage must be a function from the event of a stage, got {safe_repr(on_stage)}")
    if needs_sync and is_async(on_stage):
        raise InputError("on_stage can only be awaited: it needs the awaited function, or the adapter's async methods")

    async def report(event: Any) -> None:
        if isawaitable(result := on_stage(event)):
            await result

    return dict.fromkeys((StageBegan, StageEnded, StageFailed), Port(on_stage, report))
