"""One port for a service that can be called, awaited or both."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ctxassembly.errors import InputError
from ctxassembly.runtime.driver import Port


def sync_name(_: int = 0) -> str:
    return f"sync in {threading.current_thread().name}"


async def async_name(_: int = 0) -> str:
    await asyncio.sleep(0)
    return "async"


class Both:
    read = staticmethod(sync_name)
    aread = staticmethod(async_name)


class AsyncRead:
    read = staticmethod(async_name)


class AsyncCallable:
    async def __call__(self, _: int = 0) -> str:
        return "async"


async def test_an_object_with_both_methods_uses_the_one_of_its_caller():
    port = Port.of(Both(), "read")
    assert port.call() == "sync in MainThread"
    assert await port.acall() == "async"
    assert await port.agather([1, 2], 5.0) == ["async", "async"]
    assert all(reply.startswith("sync in ctxassembly") for reply in port.gather([1, 2], 5.0))


@pytest.mark.parametrize("service", [AsyncRead(), async_name, AsyncCallable()])
async def test_a_service_that_is_only_async_is_awaited_whatever_its_name(service: object):
    port = Port.of(service, "read")
    assert await port.acall() == "async"
    with pytest.raises(InputError, match="needs aread"):
        port.require_sync("it needs aread()")


async def test_a_sync_service_is_called_in_a_thread_when_awaited():
    for port in (Port.of(sync_name), Port.of(sync_name).require_sync("")):
        assert (await port.acall()).startswith("sync in asyncio")


def test_a_service_without_method_and_function_is_an_empty_port():
    assert not Port.of(None, "read")
    assert not Port.of(object(), "read")
    assert not Port.of(sync_name, "read", accepts_function=False)
    assert Port().require_sync("an empty port lacks nothing") == Port()
