"""What a caller gives is called in threads or awaited, and the work between runs in one thread of the process."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from builders import hits_of, standing, words_of
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Conversation,
    Hit,
    Labels,
    MemoryStore,
    RetrievalConfig,
    StoreError,
    aassemble,
    aretrieve,
    assemble,
    retrieve,
)
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


ENDS = """
import asyncio, os, threading, time
from ctxassembly import AssemblyConfig, Chunk, Hit, aassemble

HITS = [Hit(Chunk("a", "a", "Drink water.", metadata=dict(source="a")))]
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


LONG = 60.0
SERVED = hits_of([words_of(document, 1) for document in "ABC"])
CHANNELS = RetrievalConfig(timeout_seconds=LONG)


def found(*names: str) -> list[Hit]:
    return [Hit(Chunk(name, name, f"Text {name}.")) for name in names]


async def both(config: RetrievalConfig, **channels: Any) -> list[Any]:
    """What comes of the same channels called and awaited: texts, or the error."""
    embed = channels.pop("embed", lambda _: [1.0])
    calls = (
        asyncio.to_thread(retrieve, "words", config, channels=channels, embed=embed),
        aretrieve("words", config, channels=channels, embed=embed),
    )
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    return [[hit.chunk.id for hit in one.hits] if hasattr(one, "hits") else one for one in outcomes]


async def test_channels_run_at_the_same_time_each_in_a_copy_of_the_callers_context():
    caller = contextvars.ContextVar[str]("caller")
    caller.set("the request")
    meetings = [threading.Barrier(2), threading.Barrier(2)]

    def search(channel: str):
        def call(*_: Any) -> list[Hit]:
            assert caller.get() == "the request"
            caller.set("left behind")
            meeting = meetings[0] if meetings[0].n_waiting < 2 and not meetings[0].broken else meetings[1]
            meeting.wait(LONG)
            return found(channel)

        return call

    channels: Any = {"vector": search("v"), "keyword": search("k")}
    called = retrieve("words", CHANNELS, channels=channels, embed=lambda _: [1.0])
    awaited = await aretrieve("words", CHANNELS, channels=channels, embed=lambda _: [1.0])
    assert [sorted(hit.chunk.id for hit in one.hits) for one in (called, awaited)] == [["k", "v"]] * 2
    assert caller.get() == "the request"


@pytest.mark.parametrize("error", [StopIteration(), TimeoutError("its own"), LookupError("x")])
async def test_a_failure_stands_in_its_place_and_spoils_no_other(error: Exception):
    """StopIteration, too, which no future can hold; the fake models of LangChain raise it."""

    def fail(*_: Any) -> list[Hit]:
        raise error

    assert await both(CHANNELS, vector=fail, keyword=lambda *_: found("k")) == [["k"], ["k"]]


async def test_nobody_waits_for_a_call_that_is_late():
    released = threading.Event()
    began = time.monotonic()
    short = RetrievalConfig(timeout_seconds=0.2)
    for error in await both(short, vector=lambda *_: released.wait(LONG), keyword=lambda *_: released.wait(LONG)):
        assert isinstance(error, StoreError)
        assert "no answer within 0.2 s" in str(error)
        assert time.monotonic() - began < LONG / 2
    released.set()


async def test_late_and_cancelled_tasks_are_cancelled_and_what_they_do_about_it_is_not_waited_for():
    began, cancelled, released = asyncio.Semaphore(0), asyncio.Semaphore(0), asyncio.Event()

    async def search(*_: Any) -> list[Hit]:
        try:
            began.release()
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            cancelled.release()
            await released.wait()
            raise ValueError("nobody hears of it") from None
        return []

    channels: Any = {"vector": search, "keyword": search}
    with pytest.raises(StoreError):
        await aretrieve("words", RetrievalConfig(timeout_seconds=0.2), channels=channels, embed=lambda _: [1.0])
    running = asyncio.create_task(aretrieve("words", CHANNELS, channels=channels, embed=lambda _: [1.0]))
    for _ in range(4):
        await asyncio.wait_for(began.acquire(), LONG)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for _ in range(4):
        await asyncio.wait_for(cancelled.acquire(), LONG)
    released.set()


def test_an_interrupt_is_no_answer():
    def interrupt(*_: Any) -> list[Hit]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrieve("words", CHANNELS, channels={"vector": interrupt, "keyword": interrupt}, embed=lambda _: [1.0])


HANGING = """
import time
from ctxassembly import RetrievalConfig, StoreError, retrieve

def hang(*_):
    time.sleep(600)

try:
    retrieve("words", RetrievalConfig(strategy="keyword", timeout_seconds=0.2), channels={"keyword": hang})
except StoreError:
    print("given up")
"""


def test_the_interpreter_ends_while_a_call_hangs():
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("given up\n", "")
    assert time.monotonic() - began < 300


async def awaited(*_: Any) -> Any:
    raise AssertionError("never awaited")


@pytest.mark.parametrize(
    ("services", "message"),
    [
        ({"llm": awaited}, r"^llm can only be awaited: it needs aassemble\(\), or the adapter's async methods$"),
        ({"transform_fetched": awaited}, "^transform_fetched can only be awaited"),
        ({"scorer": awaited}, "^scorer "),
        ({"llm": "gpt-4o"}, "^llm must be a function from a prompt to an answer, got str$"),
        ({"transform_fetched": 7}, "^transform_fetched must be a function from chunks to chunks, got int$"),
        ({"embeddings": object()}, r"^object is no function and has no embed_documents\(texts\)"),
        ({"scorer": "all-MiniLM-L6-v2"}, "^scorer must be a model .*, got 'all-MiniLM-L6-v2'$"),
        ({"scorer": lambda texts: texts}, "^scorer must be a model"),
    ],
)
def test_what_can_not_be_called_is_an_error_before_anything_is_asked(services: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        assemble(SERVED, **services)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_model_is_asked_eight_prompts_at_once(is_async: bool):
    """Answers that are no text leave the chunks as they are, with a note."""
    hits = [
        Hit(Chunk(f"{at}", f"{at}", f"The visit {at} takes thirty minutes." + " Nor cats." * 400)) for at in range(12)
    ]
    config = AssemblyConfig(compress="llm", max_tokens=2_000, granularity="chunk")
    running: list[int] = []
    most: list[int] = []

    def answered(prompt: str) -> Any:
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        return ["no text"]

    async def aanswered(prompt: str) -> Any:
        return await asyncio.to_thread(answered, prompt)

    given: dict[str, Any] = {"query": "How long is a visit?", "llm": aanswered if is_async else answered}
    context = await aassemble(hits, config, **given) if is_async else assemble(hits, config, **given)
    assert 1 < max(most) <= 8
    assert "llm must answer with a string, got ['no text']" in " ".join(context.trace.notes)
