"""The check that an adapter's `to_messages` begins with: it is called with whatever a chain handed on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.cache_key import Hidden
from ctxassembly.answering.requests import Exchange
from ctxassembly.assembly.selection.supplement import Given
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.sources import KEPT, is_context
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from ctxassembly.serialization.plain import plain, revived


def context_given(context: Any, instead: str) -> Context:
    """`context`, if it is one or the dict of one; `instead` is the call that gives one.

    Raises:
        InputError: it is something else, such as the documents of a context.
    """
    if not is_context(context):
        raise InputError(f"context must be a Context, got {shown(context)}: {instead} gives one")
    return Context.from_dict(context)


class Said(NamedTuple):
    """One message of a conversation."""

    is_user: bool
    text: str
    kept: Any = None
    """The value of `carried` that its own data hold under `KEPT`, if any."""


def exchanges(said: Iterable[Said]) -> tuple[Exchange, ...]:
    """The questions that were answered, each with its answer and the chunks that this cited.

    Several messages of one side in a row are one. What stands before the first question, a question still without an
    answer, and messages without text are left out.

    >>> [(one.question, one.answer) for one in exchanges([Said(True, "May I eat?"), Said(False, "No [1].")])]
    [('May I eat?', 'No [1].')]

    Raises:
        InputError: a message carries something else than `carried` gave.
    """
    found: list[Exchange] = []
    asked: list[str] = []
    answered: list[Said] = []
    for one in (one for one in said if one.text.strip()):
        if one.is_user and answered:
            found.append(_exchange(asked, answered))
            asked, answered = [], []
        if one.is_user:
            asked.append(one.text)
        elif asked:
            answered.append(one)
    return (*found, _exchange(asked, answered)) if answered else tuple(found)


def carried(answer: Answer, labels: Labels | None) -> dict[str, Any]:
    """The data that the message of `answer` carries under `KEPT`, as builtins: they survive JSON and checkpoints.

    They are the chunks that it cites, which are candidates for the next question; its citations, by which `resolve`
    finds them in the messages; and the last label given, after which `Labels.after(messages)` goes on.
    """
    last = max((int(one.label) for one in _all_citations(answer)), default=0)  # of a kept answer, too
    return {
        "cited": [plain(_without_vector(hit)) for hit in answer.exchange.cited],
        "citations": [plain(citation) for citation in answer.citations],
        "last_label": max(last, labels.next - 1) if labels else last,
    }


def may_recall(cache: object, labels: Labels) -> bool:
    """True if there is a cache, and the conversation has no labels yet: a kept answer has the labels it had."""
    return cache is not None and labels.next == 1


def supplement_named(given: Given) -> Any:
    """The name of a supplement for the key of a kept answer: a text is its own, a function may know the caller."""
    return Hidden("supplement", given) if callable(given) else plain(given)


def _exchange(asked: Sequence[str], answered: Sequence[Said]) -> Exchange:
    kept = next((one.kept for one in reversed(answered) if one.kept is not None), None)
    return Exchange("\n".join(asked), "\n\n".join(one.text for one in answered), _cited(kept))


def _cited(kept: Any) -> tuple[Hit, ...]:
    if kept is None:
        return ()
    try:
        hits: tuple[Hit, ...] = revived(tuple[Hit, ...], kept["cited"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"a message's {KEPT!r} must be as the answer chain gave it, got {shown(kept, 80)}") from error
    return hits


def _without_vector(hit: Hit) -> Hit:
    return replace(hit, chunk=replace(hit.chunk, vector=None))


def _all_citations(answer: Answer) -> Sequence[Any]:
    return answer.context.citations if answer.context else ()
