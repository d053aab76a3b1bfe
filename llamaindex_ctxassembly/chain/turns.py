"""LlamaIndex' messages <-> the exchanges of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.requests import Exchange
from ctxassembly.concurrency import lock
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import KEPT
from ctxassembly.errors import InputError
from ctxassembly.integrations.messages import Said, carried, exchanges
from ctxassembly.safe_repr import shown

SIDES = (MessageRole.USER, MessageRole.ASSISTANT)


def messages_of(history: Any) -> list[ChatMessage]:
    """The messages of both sides in a chat history; those of the system and of tools are left out.

    Raises:
        InputError: it is no list of ChatMessage.
    """
    if history is None:
        return []
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, ChatMessage) for one in history):
        raise InputError(f"chat_history must be a list of ChatMessage, got {shown(history)}")
    return [message for message in history if message.role in SIDES]


def exchanges_of(messages: Sequence[ChatMessage]) -> tuple[Exchange, ...]:
    """The questions in `messages` that were answered."""
    return exchanges(
        Said(message.role == MessageRole.USER, message.content or "", message.additional_kwargs.get(KEPT))
        for message in messages
    )


def labels_after(messages: Sequence[ChatMessage]) -> Labels:
    """Labels that go on after those of the answers in `messages`."""
    return Labels.after([message for message in messages if KEPT in message.additional_kwargs])


class Turns:
    """The turns of a conversation that are going on. They share their labels, since none is in the memory yet."""

    def __init__(self) -> None:
        self._lock, self._labels, self._count = lock(), Labels(), 0

    @contextmanager
    def begun(self) -> Iterator[Labels]:
        """A turn, and the labels that it takes its own from. It ends after its answer is in the memory.

        The memory must be read inside: then its messages, or these labels, have those of every other turn.
        """
        with self._lock:
            self._labels = self._labels if self._count else Labels()
            self._count += 1
            labels = self._labels
        try:
            yield labels
        finally:
            with self._lock:
                self._count -= 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Turns, ()


def question_message(text: str) -> ChatMessage:
    """The message of a question."""
    return ChatMessage(content=text, role=MessageRole.USER)


def answer_message(answer: Answer, labels: Labels) -> ChatMessage:
    """The message of `answer` for the history, with the chunks that it cites."""
    kept = {KEPT: carried(answer, labels)}
    return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=kept)
