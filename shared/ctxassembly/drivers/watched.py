"""Flows whose stages somebody watches.

`on_stage` is called where the requests of the flow are answered: what a stage asks for is asked between its beginning
and its end, in the same context variables, and so it stands below the span of the stage.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ctxassembly.concurrency import is_async
from ctxassembly.data.trace import StageBegan, StageEnded, StageEvent, StageFailed
from ctxassembly.drivers.run import arun, run
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown

if TYPE_CHECKING:
    from typing_extensions import Self

Result = TypeVar("Result")


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
