"""Calls that come back one by one, as they are done: in threads, and awaited."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from contextlib import aclosing
from typing import Any

import pytest

from ctxassembly.concurrency import aiter_completed, iter_completed

LONG = 60.0


def boom(number: int) -> int:
    if number == 1:
        raise ValueError("not this one")
    return number * 10


async def aboom(number: int) -> int:
    return boom(number)


async def both(given: Any, at_once: int) -> list[list[Any]]:
    awaited = [one async for one in aiter_completed(aboom, given, at_once)]
    return [await asyncio.to_thread(lambda: list(iter_completed(boom, given, at_once))), awaited]


@pytest.mark.parametrize("at_once", [1, 2, 99])
async def test_each_comes_back_with_its_answer_or_its_failure(at_once: int):
    for found in await both(range(3), at_once):
        answers = dict(found)
        assert (answers[0], answers[2]) == (0, 20)
        assert str(answers[1]) == "not this one"


async def test_nothing_given_gives_nothing():
    assert await both([], 3) == [[], []]


def test_whoever_is_done_first_comes_first():
    released = threading.Event()

    def call(number: int) -> int:
        if number == 0:
            assert released.wait(LONG)
        return number

    found = iter_completed(call, range(3), 2)
    assert [next(found), next(found)] == [(1, 1), (2, 2)]
    released.set()
    assert list(found) == [(0, 0)]


async def test_the_next_call_begins_when_the_caller_reads_on():
    begun: list[int] = []

    async def acall(number: int) -> int:
        begun.append(number)
        return number

    for given in (iter_completed(begun.append, range(9), 2), None):
        begun.clear()
        if given is None:
            async with aclosing(aiter_completed(acall, range(9), 2)) as each:
                await anext(each)
                await asyncio.sleep(0.05)
        else:
            next(given)
            await asyncio.sleep(0.05)
            given.close()
        assert sorted(begun) == [0, 1]


async def test_tasks_under_way_are_cancelled_once_the_caller_stops():
    cancelled: list[int] = []

    async def acall(number: int) -> int:
        if number:
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise
        return number

    async with aclosing(aiter_completed(acall, range(9), 3)) as each:
        assert await anext(each) == (0, 0)
    await asyncio.sleep(0.05)
    assert sorted(cancelled) == [1, 2]


def test_a_call_is_made_in_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    assert list(iter_completed(lambda _: variable.get(), [0], 1)) == [(0, "set")]


def test_what_is_no_exception_is_raised_for_the_caller():
    def call(_: int) -> int:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(iter_completed(call, [0], 1))
    assert time.monotonic() - began < LONG
