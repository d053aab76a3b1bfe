"""One port for each service of the caller's, which may be sync, async or both.

A caller passes a plain function, a coroutine function, or an object with a method `fetch` and its async twin `afetch`.
Handlers of requests don't distinguish between them: a sync handler uses `call`, an async one `acall`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ctxassembly.concurrency import gather_async, gather_sync, is_async, to_async
from ctxassembly.errors import InputError

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
    method = getattr(service, name, None)
    return method if callable(method) else None
