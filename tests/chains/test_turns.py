"""What the message of an answer carries, and exchanges out of the messages of a conversation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda

from ctxassembly import Chunk, Conversation, MemoryIndex, RetrievalConfig, resolve
from ctxassembly.answering import AnswerConfig
from langchain_ctxassembly import ContextRetriever, answer_chain

INDEX = MemoryIndex(
    [
        Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0, metadata={"source": "lab.pdf"}, vector=[0.5]),
        Chunk("wait#0", "wait", "Ferritin takes a day.", 0),
    ]
)
QUESTION = "When is ferritin measured?"


@dataclass
class Message:
    """A message as both frameworks have it."""

    content: str
    additional_kwargs: dict[str, Any]
    role: str = "assistant"


def ask(text: str = "In the morning [1].", **given: Any) -> tuple[AIMessage, list[str]]:
    """The message of an answer, and the prompt."""
    prompt: list[str] = []

    def model(messages: Any) -> AIMessage:
        prompt.extend(message.content for message in messages)
        return AIMessage(text)

    retriever = ContextRetriever(INDEX, config=RetrievalConfig(strategy="keyword"))
    chain = answer_chain(RunnableLambda(model), retriever, AnswerConfig(rewrite="off"))
    inputs: Any = {"input": QUESTION, **given}
    return chain.invoke(inputs)["message"], prompt


def answered(text: str = "In the morning [1].", conversation: Conversation | None = None) -> dict[str, Any]:
    """What the message of an answer carries, saved and restored."""
    kept: dict[str, Any] = json.loads(
        json.dumps(ask(text, conversation=conversation)[0].additional_kwargs["ctxassembly"])
    )
    return kept


def test_messages_of_one_side_in_a_row_are_one() -> None:
    said = [
        AIMessage("Hello!"),
        HumanMessage("One question,"),
        HumanMessage("and another"),
        AIMessage(" "),
        AIMessage("Yes."),
        AIMessage("And no."),
        HumanMessage("Still open"),
    ]
    assert ask(chat_history=said)[1][1:-1] == ["One question,\nand another", "Yes.\n\nAnd no."]
    assert len(ask(chat_history=said[:2])[1]) == len(ask(chat_history=[])[1]) == 2


def test_labels_go_on_after_those_that_no_answer_used() -> None:
    first = Message("In the morning [1].", {"ctxassembly": answered()})
    assert Conversation.from_messages([first]).next_label == 3
    assert Conversation.from_messages([Message("Hi", {})]).next_label == 1
    assert answered("Nowhere.")["last_label"] == 2


LABELED = {"citations": [], "cited": [], "last_label": 1}


@pytest.mark.parametrize("kept", [{}, {**LABELED, "cited": 3}, {**LABELED, "cited": [7]}, "lab#0", 7])
def test_other_data_under_the_key_are_skipped(kept: Any) -> None:
    """No message may end a conversation."""
    said = [HumanMessage(QUESTION), AIMessage("So.", additional_kwargs={"ctxassembly": kept})]
    with pytest.warns(UserWarning, match="'ctxassembly' must be as the answer chain gave it"):
        assert ask(chat_history=said)[1][1:-1] == [QUESTION, "So."]


@pytest.mark.parametrize("kept", [{}, {**LABELED, "last_label": -1}, {**LABELED, "last_label": 10**6}, "lab#0", 7])
def test_other_labels_under_the_key_are_skipped(kept: Any) -> None:
    with pytest.warns(UserWarning, match="'ctxassembly' must be as the answer chain gave it"):
        assert resolve("[1]", [Message("So.", {"ctxassembly": kept})]).unknown == ("1",)


@pytest.mark.parametrize("role", ["user", "system", "tool"])
def test_only_the_assistants_messages_carry_an_answer(role: str) -> None:
    assert resolve("So [1].", [Message("So [1].", {"ctxassembly": answered()}, role)]).unknown == ("1",)
