"""The language model; stores are asked in test_drive.py, embeddings in test_dedup_semantic.py."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import aassemble, assemble
from ctxassembly.assembly.arguments import Services
from ctxassembly.concurrency import is_async
from ctxassembly.data.requests import CompressTexts
from ctxassembly.errors import InputError
from ctxassembly.runtime import assemble as drive
from ctxassembly.runtime.assemble import AssemblyServices, map_output

HITS = hits_of([words_of("A", 1)])
REQUEST = CompressTexts(("first", "second", "third"), timeout_seconds=60.0)


def shout(prompt: str) -> str:
    return prompt.upper()


async def ashout(prompt: str) -> str:
    await asyncio.sleep(0)
    return prompt.upper()


class Shouting:
    async def __call__(self, prompt: str) -> str:
        return prompt.upper()


async def test_a_model_is_asked_each_prompt_sync_and_async():
    answers = ["FIRST", "SECOND", "THIRD"]
    assert AssemblyServices(llm=shout).ask(REQUEST) == answers
    for llm in (shout, ashout, Shouting()):
        assert await AssemblyServices(llm=llm, needs_sync=False).aask(REQUEST) == answers


async def test_a_function_is_called_in_threads():
    threads: list[threading.Thread] = []

    def where(prompt: str) -> str:
        threads.append(threading.current_thread())
        return prompt

    AssemblyServices(llm=where).ask(REQUEST)
    await AssemblyServices(llm=where, needs_sync=False).aask(REQUEST)
    assert len(threads) == 6
    assert threading.main_thread() not in threads


async def test_what_is_no_text_is_an_input_error_in_its_place():
    def listed(prompt: str) -> Any:
        return [prompt] if prompt == "second" else prompt

    for answers in (
        AssemblyServices(llm=listed).ask(REQUEST),
        await AssemblyServices(llm=listed, needs_sync=False).aask(REQUEST),
    ):
        first, wrong, last = answers
        assert (first, last) == ("first", "third")
        assert isinstance(wrong, InputError)
        assert str(wrong) == "llm must answer with a string, got ['second']"


async def test_the_requests_timeout_holds():
    released = threading.Event()

    def hang(prompt: str) -> str:
        released.wait(60)
        return prompt

    request = CompressTexts(("first",), timeout_seconds=0.05)
    (late,) = AssemblyServices(llm=hang).ask(request)
    assert isinstance(late, TimeoutError)
    (late,) = await AssemblyServices(llm=hang, needs_sync=False).aask(request)
    assert isinstance(late, TimeoutError)
    released.set()


@pytest.mark.parametrize("llm", [ashout, Shouting()])
def test_an_async_model_needs_aassemble(llm: Any):
    with pytest.raises(InputError, match=r"^llm can only be awaited: it needs aassemble\(\), or the adapter's async"):
        assemble(HITS, llm=llm)


async def test_what_is_no_function_is_an_error():
    with pytest.raises(InputError, match=r"^llm must be a function from a prompt to an answer, got str$"):
        assemble(HITS, llm="gpt-4o")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^llm must be a function from a prompt to an answer, got str$"):
        await aassemble(HITS, llm="gpt-4o")  # type: ignore[arg-type]


async def test_a_model_whose_answers_are_read_stays_what_it_is():
    """Called or awaited: the adapters read a framework's answers."""
    assert map_output(shout, len)("first") == 5
    for llm in (ashout, Shouting()):
        read = map_output(llm, len)
        assert is_async(read)
        assert await read("first") == 5


async def test_both_drivers_hand_the_request_to_the_model_and_the_answers_to_the_flow(monkeypatch):
    """With a flow that compresses and nothing else."""

    def flow(call: Any, services: Services, clock: Any) -> Generator[Any, Any, Any]:
        answers = (yield REQUEST) if services.can_compress else []
        return list(answers)

    monkeypatch.setattr(drive, "assemble_flow", flow)
    assert assemble(HITS) == []
    assert assemble(HITS, llm=shout) == ["FIRST", "SECOND", "THIRD"]
    assert await aassemble(HITS) == []
    assert await aassemble(HITS, llm=ashout) == ["FIRST", "SECOND", "THIRD"]
