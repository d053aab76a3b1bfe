"""What a provider has cached of a conversation's prompts: how often the next prompt begins in another way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from chat_models import LlamaIndexModel, Prompt, Says, engine_model, langchain_model
from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
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


def broken_prefixes(prompts: Sequence[Prompt]) -> int:
    """The prompts that don't begin with all of the one before but its last message, the one that has the context."""
    return sum(after[: len(before) - 1] != before[:-1] for before, after in pairwise(prompts))


def engine_prompts(config: AnswerConfig, says: Says) -> None:
    chain = AnswerChain.from_index(INDEX, engine_model(says), RETRIEVAL, config=config)
    history: list[Exchange] = []
    for question in QUESTIONS:
        history.append(chain.answer(question, history=history).exchange)


def langchain_prompts(config: AnswerConfig, says: Says) -> None:
    chain = answer_chain(langchain_model(says), LangChainRetriever(INDEX, config=RETRIEVAL), config)
    history: list[Any] = []
    for question in QUESTIONS:
        output: Any = chain.invoke({"input": question, "chat_history": history})
        history += [HumanMessage(question), output["message"]]


def llamaindex_prompts(config: AnswerConfig, says: Says) -> None:
    retriever = LlamaIndexRetriever(INDEX, config=RETRIEVAL)
    chat = AnswerChatEngine(AnswerQueryEngine(LlamaIndexModel(says=says), retriever, config))
    for question in QUESTIONS:
        chat.chat(question)


def prompts_of(through: Any, config: AnswerConfig, said: str) -> list[Prompt]:
    """The prompts of a conversation whose every answer is the same."""
    prompts: list[Prompt] = []

    def says(prompt: Prompt) -> str:
        prompts.append(prompt)
        return said

    through(config, says)
    return prompts


THROUGH = pytest.mark.parametrize("through", [engine_prompts, langchain_prompts, llamaindex_prompts])


@THROUGH
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
def test_a_conversation_of_twenty_turns_is_cut_in_steps(through: Any, settings: Any, said: str, broken: int) -> None:
    config = AnswerConfig(rewrite="off", **settings)
    assert broken_prefixes(prompts_of(through, config, said)) == broken


@THROUGH
@pytest.mark.parametrize(("exchanges", "broken"), [(5, 3), (20, 0)])
def test_so_is_the_conversation_by_which_a_question_is_understood(through: Any, exchanges: int, broken: int) -> None:
    config = AnswerConfig(history_exchanges=exchanges)
    asked = [
        prompt for prompt in prompts_of(through, config, SAID) if prompt[0][1].startswith("Prepare a user's question")
    ]
    conversations = [user.partition('], "question": ')[0] for _, (_, user) in asked]
    assert len(asked) == TURNS - 1
    assert sum(not after.startswith(before) for before, after in pairwise(conversations)) == broken
