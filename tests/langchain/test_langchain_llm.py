"""`llm=` of the LangChain adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda

from ctxassembly import AssemblyConfig, TokenBudget
from ctxassembly.assembly.arguments import AssemblyCall, Services
from ctxassembly.assembly.pipeline import assemble_flow
from ctxassembly.data.requests import CompressTexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime import assemble as drive
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever
from langchain_ctxassembly.convert.models import async_text_model, text_model
from langchain_samples import Recorder, document, documents, vector_store

HITS = [document("A", 5), document("B", 2)]
COMPRESS = AssemblyConfig(compress="llm")
PROMPTS = ("first", "second")


class ModelRecorder(Recorder):
    """Notes the runs of models too."""

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.runs[kwargs["run_id"]] = (messages[0][0].content, kwargs.get("parent_run_id"))

    def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
        self.runs[kwargs["run_id"]] = (prompts[0], kwargs.get("parent_run_id"))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the model answers: the flow asks it before it does anything else."""
    found: list[Any] = []

    def flow(call: AssemblyCall, services: Services, clock: Any) -> Generator[Any, Any, Any]:
        found.extend((yield CompressTexts(PROMPTS, timeout_seconds=60.0)) if services.can_compress else [])
        return (yield from assemble_flow(call, replace(services, can_compress=False), clock))

    monkeypatch.setattr(drive, "assemble_flow", flow)
    return found


def both(text: str) -> Any:
    """A message with reasoning beside its text, as it comes from some providers."""
    return AIMessage(content=[{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": text}, "!"])


def shout(prompt: str) -> str:
    return prompt.upper()


async def ashout(prompt: str) -> str:
    return prompt.upper()


ECHO = RunnableLambda(lambda value: AIMessage(value.to_string() if hasattr(value, "to_string") else value))


@pytest.mark.parametrize(
    ("llm", "expected"),
    [
        (FakeListChatModel(responses=["kept"]), "kept"),
        (FakeListLLM(responses=["kept"]), "kept"),
        (ChatPromptTemplate.from_template("Say: {prompt}") | ECHO, "Human: Say: first"),
        (ChatPromptTemplate.from_template("Say: {prompt}") | ECHO | StrOutputParser(), "Human: Say: first"),
        (RunnableLambda(both), "first!"),
        (shout, "FIRST"),
        (both, "first!"),
    ],
)
async def test_whatever_answers_gives_its_text(llm: Any, expected: str) -> None:
    answer = text_model(llm, RunnableConfig)("first")
    assert isinstance(answer, str)
    assert answer == expected
    ask = async_text_model(llm, RunnableConfig)
    assert (await ask("first") if asyncio.iscoroutinefunction(ask) else ask("first")) == expected


async def test_an_async_function_is_awaited() -> None:
    assert await async_text_model(ashout, RunnableConfig)("first") == "FIRST"


async def test_a_runnable_is_awaited_by_what_it_has_for_that() -> None:
    def fail(_: str) -> str:
        raise AssertionError("called synchronously")

    assert await async_text_model(RunnableLambda(fail, ashout), RunnableConfig)("first") == "FIRST"


def test_no_model_is_none() -> None:
    assert text_model(None, RunnableConfig) is None
    assert async_text_model(None, RunnableConfig) is None


async def test_the_models_runs_stand_below_the_assemblers(answers: list[Any]) -> None:
    """Both of them, though they run in threads."""
    assembler = ContextAssembler(llm=FakeListChatModel(responses=["kept"]))
    for run in (assembler, assembler.as_context()):
        for awaited in (False, True):
            recorder = ModelRecorder()
            config = RunnableConfig(callbacks=[recorder])
            await run.ainvoke(HITS, config) if awaited else run.invoke(HITS, config)
            name = run.get_name()
            assert recorder.parents() == {name: None, "first": name, "second": name}
            assert [event for event, _ in recorder.events] == ["context_assembled"]
    assert answers == ["kept"] * 8


async def test_so_they_do_in_a_retriever(answers: list[Any]) -> None:
    assembler = ContextAssembler(llm=FakeListLLM(responses=["kept"]))
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(documents("A")), assembler=assembler)
    for awaited in (False, True):
        recorder = ModelRecorder()
        config = RunnableConfig(callbacks=[recorder])
        await retriever.ainvoke("harbour", config) if awaited else retriever.invoke("harbour", config)
        parents = recorder.parents()
        assert (parents["first"], parents["second"]) == ("ContextAssembler", "ContextAssembler")
    assert answers == ["kept"] * 4


def test_a_model_that_a_function_invokes_stands_there_too(answers: list[Any]) -> None:
    inner = FakeListChatModel(responses=["kept"])
    recorder = ModelRecorder()
    ContextAssembler(llm=lambda prompt: inner.invoke([("human", prompt)])).invoke(HITS, {"callbacks": [recorder]})
    assert recorder.parents()["second"] == "ContextAssembler"
    assert answers == ["kept", "kept"]


async def test_the_config_reaches_the_model(answers: list[Any]) -> None:
    def tenant(prompt: str, config: RunnableConfig) -> str:
        return f"{prompt} of {config['configurable']['tenant']}, {config['metadata']['trace']}, {config['tags']}"

    config = RunnableConfig(configurable={"tenant": "north"}, metadata={"trace": "t1"}, tags=["compressed"])
    assembler = ContextAssembler(llm=RunnableLambda(tenant))
    assembler.invoke(HITS, config)
    await assembler.ainvoke(HITS, config)
    assert answers == ["first of north, t1, ['compressed']", "second of north, t1, ['compressed']"] * 2


async def test_a_failing_run_is_an_exception_in_its_place(answers: list[Any]) -> None:
    def fails(prompt: str) -> str:
        if prompt == "first":
            raise ValueError("rate limit")
        return prompt

    assembler = ContextAssembler(llm=RunnableLambda(fails))
    assembler.invoke(HITS)
    await assembler.ainvoke(HITS)
    assert [repr(each) for each in answers] == ["ValueError('rate limit')", "'second'"] * 2


async def test_an_async_function_needs_ainvoke(answers: list[Any]) -> None:
    assembler = ContextAssembler(llm=ashout)
    with pytest.raises(InputError, match="llm can only be awaited"):
        assembler.invoke(HITS)
    await assembler.ainvoke(HITS)
    assert answers == ["FIRST", "SECOND"]


def test_without_a_model_none_is_asked(answers: list[Any]) -> None:
    assert len(ContextAssembler().invoke(HITS)) == 2
    assert answers == []


def test_compression_by_a_model_without_one_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match="compress='llm' needs a language model: pass llm="):
        ContextAssembler(config=COMPRESS)


def test_what_can_not_answer_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match="llm must be a Runnable or a function from a prompt to an answer"):
        ContextAssembler(config=COMPRESS, llm="gpt-4o")


@pytest.mark.parametrize("llm", [FakeListChatModel(responses=["kept"]), shout, ashout])
@pytest.mark.parametrize("config", [COMPRESS, AssemblyConfig()])
def test_a_model_is_no_error_whatever_is_compressed(config: AssemblyConfig, llm: Any) -> None:
    assert ContextAssembler(config=config, llm=llm).llm is llm


LONG = Document(
    id="A#0",
    page_content="The valley is wide. The market closes at noon. Wool was carded in winter. The lake is deep there.",
    metadata={"document_id": "A", "source": "A.pdf"},
)


@pytest.mark.parametrize(
    ("answer", "by"), [("The market closes at noon.", "llm"), ("The market never closes.", "extractive")]
)
async def test_what_the_model_extracts_stands_in_the_document_and_is_flagged(answer: str, by: str) -> None:
    """What it makes up doesn't."""
    config = AssemblyConfig(window=0, max_tokens=25, compress="llm")
    assembler = ContextAssembler(config=config, llm=FakeListChatModel(responses=[answer]))
    given = {"documents": [LONG], "query": "market hours"}
    for (found,) in (assembler.invoke(given), await assembler.ainvoke(given)):
        assert found.page_content == "[1] Source: A.pdf\nThe market closes at noon. [...]"
        (shortened,) = found.metadata["citation"]["shortened"]
        assert shortened == {"chunk_id": "A#0", "by": by, "tokens_before": 24, "tokens_after": 6}
        notes = found.metadata["trace"]["notes"]
        assert any("not in the source" in note for note in notes) == (by == "extractive")


def test_a_context_that_has_no_room_in_the_window_of_the_model_is_warned_of():
    small = FakeListChatModel(responses=["kept"], profile={"max_input_tokens": 4_096})
    with pytest.warns(
        UserWarning, match=r"A context of up to 8,000 tokens doesn't fit into the 4,096 tokens of FakeList"
    ):
        ContextAssembler(llm=small)
    budget = TokenBudget.for_model(small)
    assert budget.context == 4_096 - 1_024 - 64
    ContextAssembler(llm=small, config=AssemblyConfig(max_tokens=budget))
