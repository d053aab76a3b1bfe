"""An answer that the model had no room to finish says so, whole and in a stream, and isn't kept for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from chain_samples import ANSWER, QUESTION, retriever
from langchain_ctxassembly import answer_chain

ASKED: Any = {"input": QUESTION}
CUT = [
    {"finish_reason": "length"},
    {"stop_reason": "max_tokens"},
    {"finish_reason": "MAX_TOKENS"},
    {"finish_reason": "FinishReason.MAX_TOKENS"},
    {"done_reason": "length"},
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
]
WHOLE = [{"finish_reason": "stop"}, {"stop_reason": "end_turn"}, {"finish_reason": "STOP"}, {}, {"finish_reason": None}]


class Ending(BaseChatModel):
    """Answers, and ends as `told` says. In a stream the tokens come last, in a piece of their own."""

    told: dict[str, Any]

    @property
    def _llm_type(self) -> str:
        return "ending"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER, response_metadata=self.told))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(ANSWER))
        yield ChatGenerationChunk(message=AIMessageChunk("", response_metadata=self.told))
        usage: Any = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
        yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=usage))


async def results(chain: Any) -> list[dict[str, Any]]:
    """What the chain gives: called, awaited, streamed, and streamed to awaiting readers."""
    streamed = [piece for piece in chain.stream(ASKED) if "result" in piece]
    awaited = [piece async for piece in chain.astream(ASKED) if "result" in piece]
    return [chain.invoke(ASKED), await chain.ainvoke(ASKED), *streamed, *awaited]


@pytest.mark.parametrize("told", CUT, ids=str)
async def test_a_cut_answer_says_so(told: dict[str, Any]) -> None:
    found = await results(answer_chain(Ending(told=told), retriever()))
    assert len(found) == 4
    for each in found:
        assert each["result"].is_truncated
        assert each["trace"]["is_truncated"] is True
        (note,) = each["trace"]["notes"]
        assert note.startswith("answer: cut, the model ended by ")
        assert note.endswith("raise answer_tokens of the mode, or the model's own limit")


@pytest.mark.parametrize("told", WHOLE, ids=str)
async def test_a_whole_answer_says_nothing(told: dict[str, Any]) -> None:
    for each in await results(answer_chain(Ending(told=told), retriever())):
        assert (each["result"].is_truncated, each["trace"]["is_truncated"], each["trace"]["notes"]) == (
            False,
            False,
            [],
        )
