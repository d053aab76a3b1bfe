"""An answer that the LLM had no room to finish says so, and a provider's error keeps its class, in both engines."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AnswerError
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine
from test_llamaindex_answer_chain import ANSWER, QUESTION, Scripted, retriever

CUT: list[Any] = [
    {"choices": [{"finish_reason": "length"}]},
    {"stop_reason": "max_tokens"},
    {"delta": {"stop_reason": "max_tokens"}},
    {"candidates": [{"finish_reason": "MAX_TOKENS"}]},
    {"done_reason": "length"},
    {"incomplete_details": {"reason": "max_output_tokens"}},
]
WHOLE: list[Any] = [{"choices": [{"finish_reason": "stop"}]}, {"stop_reason": "end_turn"}, {}, None]


def engine(llm: Scripted, **given: Any) -> AnswerQueryEngine:
    return AnswerQueryEngine(llm, retriever(), **given)


@pytest.mark.parametrize("raw", [*CUT, *WHOLE], ids=str)
async def test_an_answer_that_was_cut_says_so_and_no_other(raw: Any) -> None:
    llm = Scripted(raw=raw)
    found: list[Any] = [engine(llm).query(QUESTION), await engine(llm).aquery(QUESTION)]
    found += [AnswerChatEngine(engine(llm)).chat(QUESTION), await AnswerChatEngine(engine(llm)).achat(QUESTION)]
    streamed: Any = engine(llm, streaming=True).query(QUESTION)
    assert "".join(streamed.response_gen) == ANSWER
    awaited: Any = await engine(llm, streaming=True).aquery(QUESTION)
    assert "".join([piece async for piece in awaited.response_gen]) == ANSWER
    for trace in (each.metadata["trace"] for each in (*found, streamed, awaited)):
        assert trace["is_truncated"] is (raw in CUT)
        assert [note[:31] for note in trace["notes"]] == ["answer: cut, the model ended by"] * (raw in CUT)


async def test_a_providers_error_is_the_cause() -> None:
    class RateLimitError(Exception):
        """As a provider's client has one."""

    def says(messages: Any) -> str:
        raise RateLimitError("slow down")

    llm = Scripted(says=says)
    for ask in (engine(llm).query, engine(llm, streaming=True).query, AnswerChatEngine(engine(llm)).stream_chat):
        with pytest.raises(AnswerError) as caught:
            ask(QUESTION)
        assert isinstance(caught.value.__cause__, RateLimitError)
    for aask in (engine(llm).aquery, AnswerChatEngine(engine(llm)).achat, AnswerChatEngine(engine(llm)).astream_chat):
        with pytest.raises(AnswerError):
            await aask(QUESTION)
