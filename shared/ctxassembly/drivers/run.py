"""The two drivers of a flow: they do what it asks for, and differ by `await`.

A flow is a generator. It yields requests and is sent the replies, so it does no I/O itself and knows nothing of loops
and threads. Where a request fails the exception is thrown into it, since what a failure means is the flow's to decide.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from ctxassembly.calls import in_turn

Asked = TypeVar("Asked")
Result = TypeVar("Result")


def run(flow: Generator[Asked, Any, Result], ask: Callable[[Asked], Any]) -> Result:
    """What `flow` comes to; `ask` replies to its requests."""
    step = _resumed(flow.send, None)
    while not isinstance(step, _Ended):
        try:
            reply = ask(step)
        except Exception as error:  # noqa: BLE001 - see above
            step = _resumed(flow.throw, error)
        else:
            step = _resumed(flow.send, reply)
    return cast(Result, step.result)


async def arun(flow: Generator[Asked, Any, Result], ask: Callable[[Asked], Awaitable[Any]]) -> Result:
    """The same, awaited. What the flow does between its requests is done in one thread for the process, in turn."""
    step = await in_turn(partial(_resumed, flow.send, None))
    while not isinstance(step, _Ended):
        try:
            reply = await ask(step)
        except Exception as error:  # noqa: BLE001 - see above
            step = await in_turn(partial(_resumed, flow.throw, error))
        else:
            step = await in_turn(partial(_resumed, flow.send, reply))
    return cast(Result, step.result)


@dataclass(frozen=True)
class _Ended:
    result: Any


def _resumed(resume: Callable[[Any], Asked], given: Any) -> Asked | _Ended:
    """What the flow asks for next, or what it ends with: no future takes a StopIteration."""
    try:
        return resume(given)
    except StopIteration as end:
        return _Ended(end.value)
