"""Checks of what a chain passes to `to_messages`, and the turns in its messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.cache import HiddenFilter
from ctxassembly.answering.requests import Exchange
from ctxassembly.assembly.selection.supplement import SupplementInput
from ctxassembly.context import Context
from ctxassembly.conversations.sources import MESSAGE_KEY, is_context
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain, to_plain


def check_context(context: Any, hint: str) -> Context:
    """Return `context` if it is a Context or its dict; `hint` is the call that gives one.

    Raises:
        InputError: it is something else, such as the documents of a context.
    """
    if not is_context(context):
        raise InputError(f"context must be a Context, got {safe_repr(context)}: {hint} gives one")
    return Context.from_dict(context)


class HistoryMessage(NamedTuple):
    """One message of a conversation."""

    is_user: bool
    text: str
    payload: Any = None
    """The value of `answer_payload` that its own data hold under `MESSAGE_KEY`, if any."""


def to_exchanges(messages: Iterable[HistoryMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions, each with its answer and the chunks that it cited.

    Several messages of one side in a row are one. Text before the first question, a question still without an
    answer, and messages without text are left out.

    >>> messages = [HistoryMessage(True, "May I eat?"), HistoryMessage(False, "No [1].")]
    >>> [(one.question, one.answer) for one in to_exchanges(messages)]
    [('May I eat?', 'No [1].')]

    Raises:
        InputError: a message carries something else than `answer_payload` gave.
    """
    found: list[Exchange] = []
    questions: list[str] = []
    answers: list[HistoryMessage] = []
    for message in (message for message in messages if message.text.strip()):
        if message.is_user and answers:
            found.append(_exchange(questions, answers))
            questions, answers = [], []
        if message.is_user:
            questions.append(message.text)
        elif questions:
            answers.append(message)
    return (*found, _exchange(questions, answers)) if answers else tuple(found)


def answer_payload(answer: Answer) -> dict[str, Any]:
    """Return the data of `answer` for a message, under `MESSAGE_KEY`: builtins, which survive JSON.

    They are the chunks that it cites, which are candidates for the next question; the citations of its context, by
    which `resolve` finds them in the messages and documents keep their labels; and the last label given.
    """
    citations = answer.context.citations if answer.context and answer.resolved else ()
    return {
        "cited": [to_plain(_without_vector(hit)) for hit in answer.exchange.cited],
        "citations": [to_plain(citation) for citation in citations],
        "last_label": answer.conversation.next_label - 1,
    }


def supplement_key(supplement: SupplementInput) -> Any:
    """Return the part of the cache key for a supplement: a text itself, or what a function may depend on."""
    return HiddenFilter("supplement", supplement) if callable(supplement) else to_plain(supplement)


def _exchange(questions: Sequence[str], answers: Sequence[HistoryMessage]) -> Exchange:
    payload = next((one.payload for one in reversed(answers) if one.payload is not None), None)
    return Exchange("\n".join(questions), "\n\n".join(one.text for one in answers), _cited_hits(payload))


def _cited_hits(payload: Any) -> tuple[Hit, ...]:
    if payload is None:
        return ()
    try:
        hits: tuple[Hit, ...] = from_plain(tuple[Hit, ...], payload["cited"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"a message's {MESSAGE_KEY!r} must be as the answer chain gave it, got {safe_repr(payload, 80)}"
        ) from error
    return hits


def _without_vector(hit: Hit) -> Hit:
    return replace(hit, chunk=replace(hit.chunk, vector=None))
