"""`llm=` of the LangChain adapter."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda

from ctxassembly import AssemblyConfig, TokenBudget
from ctxassembly.assembly.arguments import AssemblyCall, Services
from ctxassembly.assembly.pipeline import assemble_flow
from ctxassembly.data.requests import CompressTexts
from ctxassembly.errors import InputError
from ctxassembly.runtime import assemble as drive
from langchain_ctxassembly import ContextAssembler
from langchain_samples import Recorder, document

HITS = [document("A", 5), document("B", 2)]
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


async def ashout(prompt: str) -> str:
    return prompt.upper()


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


async def test_the_config_reaches_the_model(answers: list[Any]) -> None:
    def tenant(prompt: str, config: RunnableConfig) -> str:
        return f"{prompt} of {config['configurable']['tenant']}, {config['metadata']['trace']}, {config['tags']}"

    config = RunnableConfig(configurable={"tenant": "north"}, metadata={"trace": "t1"}, tags=["compressed"])
    assembler = ContextAssembler(llm=RunnableLambda(tenant))
    assembler.invoke(HITS, config)
    await assembler.ainvoke(HITS, config)
    assert answers == ["first of north, t1, ['compressed']", "second of north, t1, ['compressed']"] * 2


async def test_an_async_function_needs_ainvoke(answers: list[Any]) -> None:
    assembler = ContextAssembler(llm=ashout)
    with pytest.raises(InputError, match="llm can only be awaited"):
        assembler.invoke(HITS)
    await assembler.ainvoke(HITS)
    assert answers == ["FIRST", "SECOND"]


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
