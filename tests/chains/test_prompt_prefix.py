"""What a provider has cached of a conversation's prompts: how often the next prompt begins in another way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import CustomLLM
from pydantic import PrivateAttr

from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig, trim_history
from ctxassembly.answering import AnswerConfig, Exchange
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from langchain_ctxassembly import answer_chain
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

TURNS = 20
QUESTIONS = [f"What does leaflet {number} say of parking?" for number in range(TURNS)]
SAID = "Parking is free for the first hour, on every day of the week [1]. "
INDEX = MemoryIndex([Chunk(f"p#{n}", f"p{n}", f"Leaflet {n}: parking is free for {n} hours.", 0) for n in range(TURNS)])
RETRIEVAL = RetrievalConfig(strategy="keyword", limit=2)
Prompt = list[tuple[str, str]]


def broken_prefixes(prompts: Sequence[Prompt]) -> int:
    """The prompts that don't begin with all of the one before but its last message, the one that has the context."""
    return sum(after[: len(before) - 1] != before[:-1] for before, after in pairwise(prompts))


def engine_prompts(config: AnswerConfig, said: str) -> list[Prompt]:
    prompts: list[Prompt] = []

    def model(request: Any) -> str:
        prompts.append([(message["role"], message["content"]) for message in request.messages])
        return said

    chain = AnswerChain.from_index(INDEX, model, RETRIEVAL, config=config)
    history: list[Exchange] = []
    for question in QUESTIONS:
        history.append(chain.answer(question, history=history).exchange)
    return prompts


def langchain_prompts(config: AnswerConfig, said: str) -> list[Prompt]:
    prompts: list[Prompt] = []

    def model(messages: Any) -> AIMessage:
        prompts.append([(message.type, str(message.content)) for message in messages])
        return AIMessage(said)

    history: list[Any] = []
    chain = answer_chain(RunnableLambda(model), LangChainRetriever(INDEX, config=RETRIEVAL), config)
    for question in QUESTIONS:
        output: Any = chain.invoke({"input": question, "chat_history": history})
        history += [HumanMessage(question), output["message"]]
    return prompts


class Model(CustomLLM):
    said: str
    _prompts: list[Prompt] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, context_window=100_000)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        self._prompts.append([(message.role.value, message.content) for message in messages])
        return ChatResponse(message=ChatMessage(content=self.said, role="assistant"))

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    stream_complete = complete


def llamaindex_prompts(config: AnswerConfig, said: str) -> list[Prompt]:
    llm = Model(said=said)
    chat = AnswerChatEngine(AnswerQueryEngine(llm, LlamaIndexRetriever(INDEX, config=RETRIEVAL), config))
    for question in QUESTIONS:
        chat.chat(question)
    return llm._prompts


PROMPTS = pytest.mark.parametrize("prompts", [engine_prompts, langchain_prompts, llamaindex_prompts])


@PROMPTS
@pytest.mark.parametrize(
    ("settings", "said", "broken"),
    [
        ({}, SAID, 3),  # five to eight exchanges
        ({"history_exchanges": 20}, SAID, 0),
        ({"history_exchanges": 20, "history_tokens": 1_500}, SAID * 10, 3),  # at most nine, by their tokens
        ({"history_exchanges": 20, "history_tokens": 1_000}, SAID * 10, 14),  # five, none of which is left out
        ({"history_exchanges": 20}, SAID * 100, 15),  # fewer than five have room, and none of these is left out
    ],
)
def test_a_conversation_of_twenty_turns_is_cut_in_steps(prompts: Any, settings: Any, said: str, broken: int) -> None:
    config = AnswerConfig(rewrite="off", **settings)
    assert broken_prefixes(prompts(config, said)) == broken


@PROMPTS
@pytest.mark.parametrize(("exchanges", "broken"), [(5, 3), (20, 0)])
def test_so_is_the_conversation_by_which_a_question_is_understood(prompts: Any, exchanges: int, broken: int) -> None:
    config = AnswerConfig(history_exchanges=exchanges)
    asked = [prompt for prompt in prompts(config, SAID) if prompt[0][1].startswith("Prepare a user's question")]
    conversations = [user.partition('], "question": ')[0] for _, (_, user) in asked]
    assert len(asked) == TURNS - 1
    assert sum(not after.startswith(before) for before, after in pairwise(conversations)) == broken


def test_a_cut_at_every_turn_would_break_nearly_every_prompt() -> None:
    """The published rule, by `trim_history`: the last five exchanges at each turn."""
    said = [message for question in QUESTIONS for message in (("user", question), ("assistant", SAID))]
    prompts = []
    for turn in range(TURNS):
        messages = [{"role": role, "content": text} for role, text in said[: 2 * turn]][-10:]
        kept = trim_history(messages, 8_000, lambda text: len(text.split())).messages
        prompts.append([*((one["role"], one["content"]) for one in kept), ("user", "context")])
    assert broken_prefixes(prompts) == 14
