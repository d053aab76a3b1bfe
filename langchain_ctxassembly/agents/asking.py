"""The messages that a model reads, as a generator: it yields the contexts that it takes to find them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage

from ctxassembly.context import Context
from langchain_ctxassembly.agents.assembling import Ask
from langchain_ctxassembly.agents.found import together
from langchain_ctxassembly.agents.room import Room
from langchain_ctxassembly.agents.turn import Turn, changed


class Written(NamedTuple):
    """The messages of a prompt with the context of its turn."""

    messages: list[AnyMessage]
    changed: list[AnyMessage]
    last_label: int


Asking = Generator[Ask, Context, "Written | None"]


def asking(turn: Turn, room: Room, before: Sequence[BaseMessage], wanted: Ask) -> Generator[Ask, Context, Written]:
    """The messages of `turn`, which stand after `before` in the prompt, with a context for what its calls found.

    `wanted` has the most tokens, the first label and the runtime. The context gets the room that is left, and is asked
    for again in less if the whole prompt then still is too long: what other messages say of it is known only
    afterwards, and a counter of the caller's may not add up.
    """
    found = together([call.found for call in turn.calls])
    lighter, left = _made_room(turn, room, before, wanted.max_tokens)
    while True:
        context = yield wanted._replace(found=found, query=turn.query, max_tokens=max(left, 1))
        messages = lighter.holding(context)
        excess = room.excess([*before, *messages])
        if excess <= 0 or left <= 1:
            labels = [int(citation.label) for citation in context.citations]
            return Written(messages, changed(turn.messages, messages), max([wanted.first_label - 1, *labels]))
        # Counted by another counter, a token of the context may cost more than one.
        cost = room.count(messages) - room.count(lighter.emptied())
        left = max(min(left - 1, context.token_count * (cost - excess) // max(cost, 1)), 1)


def advanced(flow: Asking, context: Context | None = None) -> tuple[Ask | None, Written | None]:
    """The next context that `flow` asks for; or, at its end, the messages."""
    try:
        return (next(flow) if context is None else flow.send(context)), None
    except StopIteration as done:
        return None, done.value


def _made_room(turn: Turn, room: Room, before: Sequence[BaseMessage], limit: int) -> tuple[Turn, int]:
    """The turn with as many of the oldest contexts left out as it needs room, and the room there is."""
    texts = (str(turn.messages[call.place].text) for call in turn.calls)
    needed = min(room.left([], limit), sum(map(room.count_text, texts)))
    left = room.left([*before, *turn.emptied()], limit)
    for lighter in turn.lighter():
        if left >= needed:
            break
        turn, left = lighter, room.left([*before, *lighter.emptied()], limit)
    return turn, left
