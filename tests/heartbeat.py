"""The pulse of an event loop, and work that stops it if it is done there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, serialization
from ctxassembly.adapters import metadata

PULSE_SECONDS = 0.005
SLOW_SECONDS = 0.6


class Pulse:
    longest_seconds = 0.0
    """The longest time that the loop stood still."""


@asynccontextmanager
async def pulse() -> AsyncIterator[Pulse]:
    """The pulse of the running loop, for as long as the block lasts."""
    found = Pulse()

    async def beat() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(PULSE_SECONDS)
            found.longest_seconds = max(found.longest_seconds, time.perf_counter() - began - PULSE_SECONDS)

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0)
    try:
        yield found
        await asyncio.sleep(2 * PULSE_SECONDS)  # a loop that stood still till the end is late, too
    finally:
        beating.cancel()


class Slow:
    """Work that takes long, wherever it is done: counting the tokens, and writing out what a context tells."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.config = AssemblyConfig(encoding=self._count)
        self._left: set[str] = set()
        self._slow_down(patch, metadata, "trace_to_plain")
        self._slow_down(patch, serialization, "to_plain")

    async def leaves_the_loop_free(self, run: Callable[[], Awaitable[Any]], *kinds: str) -> Any:
        """What `run` gives. Checks that work of these kinds is slow there, and that the loop goes on meanwhile.

        The first run is not measured: it imports what it needs.
        """
        await run()
        self._left = set(kinds)
        async with pulse() as found:
            given = await run()
        assert not self._left
        assert found.longest_seconds < SLOW_SECONDS / 2
        return given

    def _count(self, text: str) -> int:
        self._wait("count")
        return len(text.split())

    def _slow_down(self, patch: pytest.MonkeyPatch, module: object, name: str) -> None:
        function = getattr(module, name)

        def slowed(*given: object) -> object:
            self._wait(name)
            return function(*given)

        patch.setattr(module, name, slowed)

    def _wait(self, kind: str) -> None:
        """Take long, once."""
        if kind in self._left:
            self._left.discard(kind)
            time.sleep(SLOW_SECONDS)
