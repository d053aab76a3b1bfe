"""LangChain's messages <-> the exchanges of a conversation."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.requests import Exchange
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import KEPT
from ctxassembly.errors import InputError
from ctxassembly.integrations.messages import Said, carried, exchanges
from ctxassembly.safe_repr import shown


def messages_of(history: Any) -> list[BaseMessage]:
    """The messages of a `chat_history`, in any form that LangChain takes; None is an empty one.

    Raises:
        InputError: it is something else.
    """
    try:
        return convert_to_messages(history or [])
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"chat_history must be a list of messages, got {shown(history)}") from error


def exchanges_of(messages: list[BaseMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered. Those of the system and of tools are left out."""
    return exchanges(
        Said(isinstance(message, HumanMessage), str(message.text), message.additional_kwargs.get(KEPT))
        for message in messages
        if isinstance(message, (HumanMessage, AIMessage))
    )


def message_of(answer: Answer, labels: Labels | None) -> AIMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    return AIMessage(answer.text, additional_kwargs={KEPT: carried(answer, labels)})
