"""What a caller gives: called in threads or awaited, in the caller's context, each within its time."""

from __future__ import annotations

import asyncio
import contextvars
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Hit,
    RetrievalConfig,
    StoreError,
    aassemble,
    aretrieve,
    assemble,
    retrieve,
)
from ctxassembly.errors import InputError

LONG = 60.0
COMPRESSED = AssemblyConfig(compress="llm", max_tokens=40, granularity="chunk")
HITS = hits_of([words_of(document, 1) for document in "ABC"])
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


async def test_a_model_is_asked_eight_prompts_at_once_called_or_awaited():
    text = (
        "Parking {0} costs three euro. The visit {0} takes thirty minutes. No dogs are let in to {0}."
        + " Nor cats." * 200
    )
    hits = [Hit(Chunk(f"{at}", f"{at}", text.format(at) + " Nor cats." * 200)) for at in range(12)]
    running, most, threads, lock = 0, 0, set[threading.Thread](), threading.Lock()

    def enter(change: int) -> None:
        nonlocal running, most
        with lock:
            running += change
            most = max(most, running)

    def model(prompt: str) -> str:
        threads.add(threading.current_thread())
        enter(1)
        time.sleep(0.02)
        enter(-1)
        return re.findall(r"The visit \d+ takes thirty minutes\.", prompt)[-1]

    async def amodel(prompt: str) -> str:
        enter(1)
        await asyncio.sleep(0.02)
        enter(-1)
        return re.findall(r"The visit \d+ takes thirty minutes\.", prompt)[-1]

    class Model:
        async def __call__(self, prompt: str) -> str:
            return await amodel(prompt)

    config = replace(COMPRESSED, max_tokens=2_000)
    called = assemble(hits, config, query="How long is a visit?", llm=model)
    assert threading.main_thread() not in threads
    for llm in (model, amodel, Model()):
        assert (await aassemble(hits, config, query="How long is a visit?", llm=llm)).text == called.text
    assert 1 < most <= 8


async def test_an_answer_that_is_no_text_leaves_its_chunk_as_it_is():
    for context in (
        assemble(HITS, COMPRESSED, query="A1", llm=lambda _: ["short"]),  # type: ignore[arg-type, return-value]
        await aassemble(HITS, COMPRESSED, query="A1", llm=lambda _: ["short"]),  # type: ignore[arg-type, return-value]
    ):
        assert "short" not in context.text
        assert "llm must answer with a string, got ['short']" in " ".join(context.trace.notes)


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
        ({"scorer": "all-MiniLM-L6-v2"}, r"^scorer must be a model .* write SentenceTransformer\('all-MiniLM-L6-v2'\)"),
        ({"scorer": lambda texts: texts}, r"^scorer must be .* write def scorer\(query, sentences\): return"),
    ],
)
def test_what_can_not_be_called_is_an_error_before_anything_is_asked(services: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        assemble(HITS, **services)
