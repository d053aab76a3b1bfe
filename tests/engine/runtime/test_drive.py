from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from builders import hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Conversation, Hit, Labels, MemoryStore, aassemble, assemble
from ctxassembly.errors import InputError

A = [words_of("A", n) for n in range(9)]
HITS = hits_of([A[5], A[2]])


class SyncOnly:
    def __init__(self) -> None:
        self.inner = MemoryStore(A)
        self.threads: list[threading.Thread] = []

    def fetch(self, refs):
        self.threads.append(threading.current_thread())
        return self.inner.fetch(refs)


class AsyncOnly:
    def __init__(self) -> None:
        self.inner = MemoryStore(A)

    async def afetch(self, refs):
        await asyncio.sleep(0)
        return self.inner.fetch(refs)


async def test_sync_and_async_stores_give_the_same():
    context = assemble(HITS, store=MemoryStore(A))
    assert standing(context) == ["A1", "A2", "A3", "A4", "A5", "A6"]
    sync = SyncOnly()
    for store in (MemoryStore(A), AsyncOnly(), sync):
        assert await aassemble(HITS, store=store) == context
    assert sync.threads
    assert threading.main_thread() not in sync.threads
    assert await aassemble(HITS) == assemble(HITS)


async def test_a_sync_store_does_not_stall_the_loop():
    """The store waits for something that only the running loop can do."""
    turned = threading.Event()

    class Slow(SyncOnly):
        def fetch(self, refs):
            assert turned.wait(60), "the loop stood still"
            return super().fetch(refs)

    async def turn() -> None:
        await asyncio.sleep(0)
        turned.set()

    context, _ = await asyncio.gather(aassemble(HITS, AssemblyConfig(on_store_error="raise"), store=Slow()), turn())
    assert "A4" in standing(context)


async def test_a_store_with_both_is_awaited():
    class Both(AsyncOnly):
        def fetch(self, refs):
            raise AssertionError("called synchronously")

    assert len(standing(await aassemble(HITS, AssemblyConfig(on_store_error="raise"), store=Both()))) == 6


async def test_a_store_that_can_do_neither_is_an_error_and_an_async_one_needs_aassemble():
    with pytest.raises(InputError, match=r"^AsyncOnly has no fetch\(refs\); what can only be awaited needs aassemble"):
        assemble(HITS, store=AsyncOnly())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^object has neither fetch\(refs\) nor afetch\(refs\)"):
        await aassemble(HITS, store=object())  # type: ignore[arg-type]


async def test_a_cancelled_fetch_cancels_the_assembly():
    class Never(AsyncOnly):
        async def afetch(self, refs):
            await asyncio.sleep(60)

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(aassemble(HITS, store=Never()), 0.05)


async def test_many_assemblies_at_once_do_not_mix():
    contexts = await asyncio.gather(*(aassemble(hits_of([A[n % 9]]), store=AsyncOnly()) for n in range(30)))
    assert contexts == [assemble(hits_of([A[n % 9]]), store=MemoryStore(A)) for n in range(30)]


# The thread that assembles


def counting(inside) -> AssemblyConfig:
    """A config whose tokenizer calls `inside` each time, which is in the middle of an assembly."""

    def count(text: str) -> int:
        inside()
        return len(text.split())

    return AssemblyConfig(encoding=count)


async def test_an_assembly_does_not_stall_the_loop():
    """It waits for something that only the running loop can do."""
    turned = threading.Event()
    waited = []
    asyncio.get_running_loop().call_soon(turned.set)
    context = await aassemble(HITS, counting(lambda: waited.append(turned.wait(10))))
    assert context.text
    assert all(waited)


async def test_all_assemblies_of_a_process_share_one_thread_and_each_keeps_its_callers_context():
    caller = contextvars.ContextVar[int]("caller")
    seen: set[tuple[int, int]] = set()
    config = counting(lambda: seen.add((caller.get(), threading.get_ident())))

    async def one(number: int) -> str:
        caller.set(number)
        return (await aassemble(HITS, config)).text

    texts = await asyncio.gather(*(one(number) for number in range(20)))
    assert set(texts) == {assemble(HITS, counting(lambda: None)).text}
    assert {number for number, _ in seen} == set(range(20))
    assert len({thread for _, thread in seen} - {threading.get_ident()}) == 1
    assert threading.get_ident() not in {thread for _, thread in seen}


async def test_whoever_is_cancelled_goes_on_at_once_and_the_next_gets_a_turn():
    began, released = threading.Event(), threading.Event()

    def hang() -> None:
        began.set()
        released.wait(60)

    hanging = asyncio.create_task(aassemble(HITS, counting(hang)))
    await asyncio.to_thread(began.wait, 60)
    calls: list[None] = []
    waiting = asyncio.create_task(aassemble(HITS, counting(lambda: calls.append(None))))
    await asyncio.sleep(0.01)
    for task in (hanging, waiting):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 30)
    released.set()
    assert (await aassemble(HITS, counting(lambda: None))).text
    assert calls == []  # its turn never came


async def test_an_assembly_within_an_assembly_does_not_wait_for_itself():
    inner: list[str] = []

    def nested() -> None:
        if not inner:
            inner.append(asyncio.run(aassemble(HITS)).text)

    await asyncio.wait_for(aassemble(HITS, counting(nested)), 60)
    assert inner == [assemble(HITS).text]


async def test_what_goes_wrong_in_the_thread_is_raised_to_the_caller_from_the_line_where_it_did():
    def fail() -> None:
        raise LookupError("a fault of the tokenizer")

    with pytest.raises(LookupError, match="a fault of the tokenizer"):
        assemble(HITS, counting(fail))
    with pytest.raises(LookupError, match="a fault of the tokenizer") as caught:
        await aassemble(HITS, counting(fail))
    assert caught.traceback[-1].name == "fail"


async def test_a_flow_that_is_given_up_is_closed_and_gives_its_labels_back():
    """The error is kept here with all frames, so that nothing but the driver closes the flow."""
    labels, asked = Labels(), asyncio.Event()

    async def llm(prompt: str) -> str:
        asked.set()
        await asyncio.sleep(60)
        return prompt

    config = AssemblyConfig(compress="llm", max_tokens=20, granularity="chunk", rank_by="rank")
    running = asyncio.create_task(
        aassemble(HITS, config, query="A1", llm=llm, conversation=Conversation(labels=labels))
    )
    await asyncio.wait_for(asked.wait(), 60)
    assert labels.next > 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError) as kept:
        await running
    await aassemble(HITS)  # its turn comes after that of the end
    assert labels.next == 1
    assert kept.value.__traceback__


def test_event_loops_one_after_the_other_and_at_once_share_the_thread():
    expected = assemble(HITS, store=MemoryStore(A)).text

    def texts() -> list[str]:
        return [asyncio.run(aassemble(HITS, store=MemoryStore(A))).text for _ in range(5)]

    assert texts() == [expected] * 5
    with ThreadPoolExecutor(4) as pool:
        assert [text for found in pool.map(lambda _: texts(), range(4)) for text in found] == [expected] * 20


def test_threads_assemble_while_a_counter_of_another_thread_works():
    hits = [Hit(Chunk(f"a#{at}", "a", f"Text {at} is on water. Drink it {at} times.", at)) for at in range(10)]

    def assemble_with(count: Callable[[str], int]) -> str:
        return assemble(hits, AssemblyConfig(encoding=count, max_tokens=40), query="water").text

    def count_words(text: str) -> int:
        return len(text.split())

    expected = assemble_with(count_words)
    with ThreadPoolExecutor(1) as other_thread:

        def count(text: str) -> int:
            assert other_thread.submit(assemble_with, count_words).result(60) == expected
            return count_words(text)

        assert assemble_with(count) == expected


async def test_stages_are_told_on_the_loop_and_in_the_callers_context():
    caller = contextvars.ContextVar[str]("caller")
    caller.set("the request")
    seen: set[tuple[str, int]] = set()
    await aassemble(HITS, on_stage=lambda _: seen.add((caller.get(), threading.get_ident())))
    assert seen == {("the request", threading.get_ident())}


ENDS = """
import asyncio, os, threading, time
from ctxassembly import AssemblyConfig, Chunk, Hit, aassemble

HITS = [Hit(Chunk("a", "a", "Drink water."))]
began = threading.Event()

def hang(text):
    began.set()
    time.sleep(3)

{ends}
"""
AFTER_A_FORK = """
assert asyncio.run(aassemble(HITS)).text
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(aassemble(HITS)).text else 1)
assert os.waitpid(child, 0)[1] == 0
assert asyncio.run(aassemble(HITS)).text
"""
AFTER_A_FORK_WHILE_IT_WORKS = """
async def main():
    working = asyncio.create_task(aassemble(HITS, AssemblyConfig(encoding=hang)))
    await asyncio.to_thread(began.wait)
    child = os.fork()
    if child == 0:
        text = []
        other = threading.Thread(target=lambda: text.append(asyncio.run(aassemble(HITS)).text))
        other.start()
        other.join(60)
        os._exit(0 if text else 1)
    assert os.waitpid(child, 0)[1] == 0
    working.cancel()

asyncio.run(main())
"""


@pytest.mark.parametrize("ends", [AFTER_A_FORK, AFTER_A_FORK_WHILE_IT_WORKS])
def test_a_fork_does_not_wait_for_the_thread(ends: str):
    began = time.monotonic()
    code = ENDS.format(ends=ends)
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 300
