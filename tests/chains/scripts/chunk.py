"""A module of an application that has the name of one of the standard library (until Python 3.12)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


def ask(run: Callable[[str], object], question: str) -> object:
    """Return the answer of a chain or an engine."""
    return run(question)  # own_module


async def aask(run: Callable[[str], Awaitable[object]], question: str) -> object:
    """Async version of `ask`."""
    return await run(question)  # own_module_async
