"""What a provider says of an answer: that it was cut, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableLambda

from chain_samples import ANSWER, HOW, QUESTION, retriever
from ctxassembly import AnswerError, Chunk, MemoryIndex, RetrievalConfig, StoreError
from langchain_ctxassembly import ContextRetriever, answer_chain

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


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("told", "is_cut"), [*((one, True) for one in CUT), *((one, False) for one in WHOLE)])
def test_an_answer_that_was_cut_says_so(told: dict[str, Any], is_cut: bool, how: str) -> None:
    output = HOW[how](answer_chain(Ending(told=told), retriever()), ASKED)
    assert output["result"].is_truncated is output["trace"]["is_truncated"] is is_cut
    assert [note.partition(",")[0] for note in output["trace"]["notes"]] == (["answer: cut"] if is_cut else [])


class RateLimitError(Exception):
    status_code = 429


def failing(*_: Any) -> Any:
    raise RateLimitError("slow down")


@pytest.mark.parametrize("how", HOW)
def test_an_error_of_the_model_is_the_cause_of_ours_which_retries_and_fallbacks_name(how: str) -> None:
    chain = answer_chain(RunnableLambda(failing), retriever())
    with pytest.raises(AnswerError, match="the model failed: RateLimitError: slow down") as caught:
        HOW[how](chain, ASKED)
    assert isinstance(caught.value.__cause__, RateLimitError)
    assert caught.value.partial == ""
    other = answer_chain(RunnableLambda(lambda _: ANSWER), retriever())
    replaced = chain.with_fallbacks([other], exceptions_to_handle=(AnswerError,))
    assert HOW[how](replaced, ASKED)["answer"] == ANSWER


def test_an_error_of_the_embedding_model_is_the_cause_of_ours() -> None:
    index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)], [[1.0, 0.0]])
    found = ContextRetriever(index, failing, config=RetrievalConfig(strategy="vector"))
    with pytest.raises(StoreError, match="RateLimitError: slow down"):
        answer_chain(RunnableLambda(lambda _: ANSWER), found).invoke(ASKED)
    with pytest.raises(StoreError) as caught:
        found.invoke(QUESTION)
    assert isinstance(caught.value.__cause__, RateLimitError)
