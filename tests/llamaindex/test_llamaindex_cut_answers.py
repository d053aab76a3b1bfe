"""An answer that the LLM had no room to finish says so, and a provider's error keeps its class, in both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx
import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.llms import LLM

from ctxassembly import AnswerError, Chunk, MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextRetriever

QUESTION, ANSWER = "When is ferritin measured?", "In the morning [1]."
USAGE = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 5}}
CUT: list[Any] = [
    {"choices": [{"finish_reason": "length"}]},
    {"stop_reason": "max_tokens"},
    {"delta": {"stop_reason": "max_tokens"}},
    {"candidates": [{"finish_reason": "MAX_TOKENS"}]},
    {"done_reason": "length"},
    {"incomplete_details": {"reason": "max_output_tokens"}},
]
WHOLE: list[Any] = [{"choices": [{"finish_reason": "stop"}]}, {"stop_reason": "end_turn"}, {}, None]


def rate_limited() -> anthropic.RateLimitError:
    request = httpx.Request("POST", "https://api.example/v1/messages")
    return anthropic.RateLimitError("slow down", response=httpx.Response(429, request=request), body=None)


class Ending(LLM):
    """Answers, and ends as `told` says. In a stream None comes between, and the tokens come last."""

    told: Any = None
    fails: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, context_window=100_000)

    def _response(self, delta: str, raw: Any) -> ChatResponse:
        if self.fails:
            raise rate_limited()
        return ChatResponse(message=ChatMessage(content=ANSWER, role="assistant"), delta=delta, raw=raw)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._response("", self.told)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        return self._response("", self.told)

    def _pieces(self) -> Iterator[Any]:
        yield self._response("In the ", None)
        yield None
        yield self._response("morning [1].", self.told)
        yield self._response("", USAGE)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        return self._pieces()

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        async def pieces() -> AsyncIterator[Any]:
            for piece in self._pieces():
                yield piece

        return pieces()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        raise NotImplementedError

    async def acomplete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        raise NotImplementedError

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError

    async def astream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


def engine(llm: LLM, **given: Any) -> AnswerQueryEngine:
    index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    return AnswerQueryEngine(llm, ContextRetriever(index, config=RetrievalConfig(strategy="keyword")), **given)


async def traces(llm: LLM) -> list[dict[str, Any]]:
    """The traces of an answer: of both engines, called and awaited, whole and in a stream."""
    found: list[Any] = [engine(llm).query(QUESTION), await engine(llm).aquery(QUESTION)]
    found += [AnswerChatEngine(engine(llm)).chat(QUESTION), await AnswerChatEngine(engine(llm)).achat(QUESTION)]
    streamed: Any = engine(llm, streaming=True).query(QUESTION)
    assert "".join(streamed.response_gen) == ANSWER
    awaited: Any = await engine(llm, streaming=True).aquery(QUESTION)
    assert "".join([piece async for piece in awaited.response_gen]) == ANSWER
    return [each.metadata["trace"] for each in (*found, streamed, awaited)]


@pytest.mark.parametrize("told", CUT, ids=str)
async def test_a_cut_answer_says_so(told: Any) -> None:
    for trace in await traces(Ending(told=told)):
        assert trace["is_truncated"] is True
        (note,) = trace["notes"]
        assert note.startswith("answer: cut, the model ended by ")


@pytest.mark.parametrize("told", WHOLE, ids=str)
async def test_a_whole_answer_says_nothing(told: Any) -> None:
    for trace in await traces(Ending(told=told)):
        assert (trace["is_truncated"], trace["notes"]) == (False, [])


async def test_a_providers_error_is_the_cause() -> None:
    llm = Ending(fails=True)
    with pytest.raises(AnswerError) as caught:
        engine(llm).query(QUESTION)
    assert isinstance(caught.value.__cause__, anthropic.RateLimitError)
    with pytest.raises(AnswerError):
        engine(llm, streaming=True).query(QUESTION)
    with pytest.raises(AnswerError):
        await engine(llm).aquery(QUESTION)
    with pytest.raises(AnswerError):
        AnswerChatEngine(engine(llm)).chat(QUESTION)
    with pytest.raises(AnswerError):
        AnswerChatEngine(engine(llm)).stream_chat(QUESTION)
    with pytest.raises(AnswerError):
        await AnswerChatEngine(engine(llm)).astream_chat(QUESTION)
