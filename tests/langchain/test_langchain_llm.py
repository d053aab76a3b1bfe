"""`llm=` of the LangChain adapter."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

from ctxassembly import AssemblyConfig, TokenBudget
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler

LONG = Document(
    id="A#0",
    page_content="The valley is wide. The market closes at noon. Wool was carded in winter. The lake is deep there.",
    metadata={"document_id": "A", "source": "A.pdf"},
)


CONFIG = AssemblyConfig(window=0, max_tokens=25, compress="llm")
GIVEN = {"documents": [LONG], "query": "market hours"}
SAID = "The market closes at noon."
REASONED = AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": SAID}])


@pytest.mark.parametrize(
    ("answer", "by", "read"),
    [
        (SAID, "llm", SAID),
        (REASONED, "llm", SAID),
        (AIMessage("The market never closes."), "extractive", f"The valley is wide. {SAID}"),
    ],
)
async def test_what_the_model_extracts_stands_in_the_document_and_is_flagged(answer: Any, by: str, read: str) -> None:
    """What it makes up doesn't: then what fits is chosen by words."""
    for llm in (RunnableLambda(lambda _: answer), lambda _: answer):
        assembler = ContextAssembler(config=CONFIG, llm=llm)
        for (found,) in (assembler.invoke(GIVEN), await assembler.ainvoke(GIVEN)):
            assert found.page_content == f"[1] Source: A.pdf\n{read}"
            (shortened,) = found.metadata["citation"]["shortened"]
            assert shortened == {
                "chunk_id": "A#0",
                "by": by,
                "tokens_before": 24,
                "tokens_after": 6 if by == "llm" else 11,
            }
            notes = found.metadata["trace"]["notes"]
            assert any("not in the source" in note for note in notes) == (by == "extractive")


async def test_the_config_reaches_the_model() -> None:
    seen: list[Any] = []

    def model(prompt: str, config: RunnableConfig) -> str:
        seen.append((config["configurable"]["tenant"], config["metadata"]["trace"], config["tags"]))
        return SAID

    config = RunnableConfig(configurable={"tenant": "north"}, metadata={"trace": "t1"}, tags=["compressed"])
    assembler = ContextAssembler(config=CONFIG, llm=RunnableLambda(model))
    assembler.invoke(GIVEN, config)
    await assembler.ainvoke(GIVEN, config)
    assert seen == [("north", "t1", ["compressed"])] * 2


async def test_an_async_function_needs_ainvoke() -> None:
    async def extract(prompt: str) -> str:
        return SAID

    assembler = ContextAssembler(config=CONFIG, llm=extract)
    with pytest.raises(InputError, match="llm can only be awaited"):
        assembler.invoke(GIVEN)
    assert SAID in (await assembler.ainvoke(GIVEN))[0].page_content


def test_a_context_that_has_no_room_in_the_window_of_the_model_is_warned_of():
    small = FakeListChatModel(responses=["kept"], profile={"max_input_tokens": 4_096})
    with pytest.warns(
        UserWarning, match=r"A context of up to 8,000 tokens doesn't fit into the 4,096 tokens of FakeList"
    ):
        ContextAssembler(llm=small)
    budget = TokenBudget.for_model(small)
    assert budget.context == 4_096 - 1_024 - 64
    ContextAssembler(llm=small, config=AssemblyConfig(max_tokens=budget))
