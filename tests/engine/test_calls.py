from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time

import pytest

from ctxassembly.concurrency import (
    MAX_CONCURRENT_CALLS,
    DeadlineError,
    await_with_deadline,
    gather_async,
    gather_sync,
    is_async,
    submit,
    wait_with_deadline,
)

LONG = 60.0
SHORT = 0.05


def boom(number: int) -> int:
    if number == 1:
        raise ValueError("not this one")
    return number * 10


async def aboom(number: int) -> int:
    return boom(number)


async def every_way(function, afunction, given, timeout_seconds):
    """What comes of calls in threads, of the same awaited, and of an async function's."""
    return [
        await asyncio.to_thread(gather_sync, function, given, timeout_seconds),
        await gather_async(function, given, timeout_seconds),
        await gather_async(afunction, given, timeout_seconds),
    ]


async def test_answers_stand_in_the_order_of_what_was_given():
    """The first is answered last."""

    def slow_first(number: int) -> int:
        time.sleep(0.1 if number == 0 else 0)
        return number * 10

    async def aslow_first(number: int) -> int:
        await asyncio.sleep(0.1 if number == 0 else 0)
        return number * 10

    for answers in await every_way(slow_first, aslow_first, range(20), LONG):
        assert answers == [number * 10 for number in range(20)]


async def test_a_failure_stands_in_its_place_and_spoils_no_other():
    for first, failure, last in await every_way(boom, aboom, (0, 1, 2), LONG):
        assert (first, last) == (0, 20)
        assert isinstance(failure, ValueError)
        assert str(failure) == "not this one"


async def test_stop_iteration_is_a_failure_like_any_other():
    """A future can't hold one; the fake models of LangChain raise it when their answers are used up."""

    def used_up(_: int) -> int:
        raise StopIteration

    for call in (asyncio.to_thread(gather_sync, used_up, (0, 1), LONG), gather_async(used_up, (0, 1), LONG)):
        assert [type(each) for each in await call] == [StopIteration] * 2


async def test_nothing_given_gives_nothing():
    assert await every_way(boom, aboom, (), SHORT) == [[], [], []]


async def test_the_longest_timeout_is_no_error():
    """Of calls that are still to be waited for."""

    def soon(_: int) -> None:
        time.sleep(SHORT)

    async def asoon(_: int) -> None:
        await asyncio.sleep(SHORT)

    assert await every_way(soon, asoon, (0,), 1e300) == [[None]] * 3


async def test_calls_run_at_the_same_time():
    """Each waits until all have begun."""
    barrier = threading.Barrier(MAX_CONCURRENT_CALLS)

    def meet(_: int) -> bool:
        barrier.wait(LONG)
        return True

    begun = 0
    all_begun = asyncio.Event()

    async def ameet(_: int) -> bool:
        nonlocal begun
        begun += 1
        if begun == MAX_CONCURRENT_CALLS:
            all_begun.set()
        return await asyncio.wait_for(all_begun.wait(), LONG)

    for answers in await every_way(meet, ameet, range(MAX_CONCURRENT_CALLS), LONG):
        assert answers == [True] * MAX_CONCURRENT_CALLS


async def test_no_more_than_eight_run_at_once():
    """Of those in threads each waits until eight run, so that it doesn't matter how long a thread takes to begin."""
    lock, barrier = threading.Lock(), threading.Barrier(8)
    running, most = 0, 0

    def enter(change: int) -> None:
        nonlocal running, most
        with lock:
            running += change
            most = max(most, running)

    def stay(_: int) -> None:
        enter(1)
        barrier.wait(LONG)
        enter(-1)

    async def astay(_: int) -> None:
        enter(1)
        await asyncio.sleep(0.01)
        enter(-1)

    await every_way(stay, astay, range(40), LONG)
    assert most == 8


async def test_what_is_late_is_a_timeout_in_its_place_and_nothing_waits_for_it():
    released = threading.Event()

    def hang(number: int) -> int:
        return released.wait(LONG) if number == 1 else number

    async def ahang(number: int) -> int:
        return await asyncio.sleep(LONG if number == 1 else 0, number)

    began = time.monotonic()
    calls = (asyncio.to_thread(gather_sync, hang, (0, 1, 2), 2.5), gather_async(hang, (0, 1, 2), 2.5))
    for first, late, last in await asyncio.gather(*calls, gather_async(ahang, (0, 1, 2), 2.5)):
        assert (first, last) == (0, 2)
        assert isinstance(late, TimeoutError)
        assert str(late) == "no answer within 2.5 s"
    assert time.monotonic() - began < LONG / 2
    released.set()


async def test_one_deadline_holds_for_all_and_after_it_no_call_begins():
    """Eight hang, so the others get no turn, neither before the deadline nor when the eight end.

    On a busy machine the deadline comes before some of the eight threads.
    """
    released = threading.Event()
    ended = threading.Semaphore(0)
    in_threads: list[int] = []
    in_tasks: list[int] = []

    def hang(number: int) -> None:
        in_threads.append(number)
        released.wait(LONG)
        ended.release()

    async def ahang(number: int) -> None:
        in_tasks.append(number)
        await asyncio.sleep(LONG)

    for answers in await every_way(hang, ahang, range(12), SHORT):
        assert [type(each) for each in answers] == [TimeoutError] * 12
    released.set()
    for _ in tuple(in_threads):
        assert await asyncio.to_thread(ended.acquire, timeout=LONG)
    await asyncio.sleep(SHORT)
    assert set(in_threads) <= set(range(MAX_CONCURRENT_CALLS))
    assert in_tasks == [*range(MAX_CONCURRENT_CALLS)]


def test_what_is_no_exception_goes_through():
    """An interrupt isn't an answer."""

    def interrupt(number: int) -> int:
        if number == 1:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        gather_sync(interrupt, (0, 1, 2), LONG)


async def test_a_late_task_is_cancelled():
    cancelled = asyncio.Event()

    async def hang(_: int) -> None:
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    (late,) = await gather_async(hang, (0,), SHORT)
    assert isinstance(late, TimeoutError)
    await asyncio.wait_for(cancelled.wait(), LONG)


async def test_whoever_cancels_cancels_every_call():
    begun, cancelled = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def hang(_: int) -> None:
        begun.release()
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            cancelled.release()
            raise

    task = asyncio.create_task(gather_async(hang, (0, 1), LONG))
    for _ in range(2):
        await begun.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(2):
        await asyncio.wait_for(cancelled.acquire(), LONG)


async def test_a_cancelled_caller_waits_for_no_thread():
    released = threading.Event()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(gather_async(lambda _: released.wait(LONG), (0, 1), LONG), SHORT)
    released.set()


async def test_a_function_in_threads_does_not_stall_the_loop():
    """It waits for something that only the running loop can do."""
    turned = threading.Event()
    asyncio.get_running_loop().call_soon(turned.set)
    assert await gather_async(lambda _: turned.wait(LONG), (0,), LONG) == [True]


async def test_each_call_is_in_a_copy_of_the_callers_context():
    parent = contextvars.ContextVar[str]("parent")
    parent.set("run 1")

    def reads(number: int) -> str:
        found = parent.get()
        parent.set(f"left behind by {number}")
        return found

    async def areads(number: int) -> str:
        return reads(number)

    for answers in await every_way(reads, areads, range(20), LONG):
        assert answers == ["run 1"] * 20
    assert parent.get() == "run 1"


HANGING = """
import asyncio, time
from ctxassembly.concurrency import gather_async, gather_sync

def hang(number):
    time.sleep(600 if number else 0)

{call}
"""


@pytest.mark.parametrize("call", ["gather_sync(hang, (0, 1), 0.2)", "asyncio.run(gather_async(hang, (0, 1), 0.2))"])
def test_the_interpreter_ends_while_a_call_hangs(call: str):
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGING.format(call=call)], capture_output=True, text=True, check=True)
    assert time.monotonic() - began < 300
    assert done.stderr == ""


def test_what_is_async():
    class Awaited:
        async def __call__(self, given):
            return given

    class Called:
        def __call__(self, given):
            return given

    assert [is_async(each) for each in (aboom, Awaited(), boom, Called(), None)] == [True, True, False, False, False]


# One call in the background, and a deadline


async def both_ways(seconds, call):
    """What `call` comes to in the background, waited for and awaited."""
    for wait in (
        lambda future: asyncio.to_thread(wait_with_deadline, seconds, future),
        lambda it: await_with_deadline(seconds, it),
    ):
        yield await wait(submit(call))


async def test_a_call_in_the_background_is_made_in_a_copy_of_the_callers_context():
    parent = contextvars.ContextVar[str]("parent")
    parent.set("run 1")

    def read() -> str:
        found = parent.get()
        parent.set("left behind")
        return found

    assert [answer async for answer in both_ways(LONG, read)] == ["run 1"] * 2
    assert parent.get() == "run 1"


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), TimeoutError("its own"), KeyboardInterrupt()])
async def test_an_error_of_the_call_is_raised_as_it_is(error: BaseException):
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        wait_with_deadline(LONG, submit(fail))
    assert caught.value is error
    if isinstance(error, Exception):
        with pytest.raises(type(error)) as caught:
            await await_with_deadline(LONG, submit(fail))
        assert (type(caught.value), caught.value.args) == (type(error), error.args)


async def test_nobody_waits_for_a_call_that_is_late():
    released = threading.Event()
    with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
        wait_with_deadline(SHORT, submit(lambda: released.wait(LONG)))
    with pytest.raises(DeadlineError, match=r"within 0\.05 s"):
        await await_with_deadline(SHORT, submit(lambda: released.wait(LONG)))
    released.set()


async def test_a_late_coroutine_is_cancelled_and_what_it_does_about_it_is_not_waited_for():
    released, cancelled = asyncio.Event(), asyncio.Event()

    async def reluctant() -> None:
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            cancelled.set()
            await released.wait()
            raise ValueError("nobody hears of it") from None

    with pytest.raises(DeadlineError):
        await await_with_deadline(SHORT, reluctant())
    await asyncio.wait_for(cancelled.wait(), LONG)
    released.set()


async def test_whoever_is_cancelled_cancels_what_it_waits_for():
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def ask() -> None:
        try:
            began.set()
            await asyncio.sleep(LONG)
        finally:
            cancelled.set()

    asking = asyncio.create_task(await_with_deadline(LONG, ask()))
    await began.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(cancelled.wait(), LONG)


def test_threads_in_the_background_are_kept():
    def thread() -> int:
        return threading.get_ident()

    before = threading.active_count()
    for _ in range(50):
        wait_with_deadline(LONG, submit(thread))
    assert threading.active_count() <= before + 2


def test_as_many_calls_run_in_the_background_as_there_are():
    meeting = threading.Barrier(20)
    futures = [submit(meeting.wait) for _ in range(20)]
    assert sorted(wait_with_deadline(LONG, future) for future in futures) == list(range(20))


FORKED = """
import os
from ctxassembly.concurrency import submit, wait_with_deadline

assert wait_with_deadline(60, submit(os.getpid)) == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if wait_with_deadline(60, submit(os.getpid)) == os.getpid() else 1)
assert os.waitpid(child, 0)[1] == 0
submit(lambda: __import__("time").sleep(60))
"""


def test_a_fork_has_threads_of_its_own_and_the_interpreter_waits_for_none():
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    assert time.monotonic() - began < 30
    assert done.stderr == ""
