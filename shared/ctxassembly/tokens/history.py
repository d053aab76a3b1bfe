"""A conversation trimmed to a number of tokens, in whole exchanges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.data.validation import check_int
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

Message = Any
"""A string, a mapping with `content` (and `role`), or an object with `content` (and `type` or `role`)."""

USER_ROLES = frozenset({"user", "human"})
"""Roles that begin an exchange, as the frameworks name them."""


@dataclass(frozen=True, slots=True)
class History:
    """The messages of a conversation that are sent, and those that are not.

    >>> asked = ("May I drink water beforehand?", "May I eat?", "May I drive?")
    >>> said = [{"role": "user", "content": text} for text in asked]
    >>> words = lambda text: len(text.split())
    >>> history = trim_history(said, 9, words)
    >>> [message["content"] for message in history.left_out], history.token_count
    (['May I drink water beforehand?'], 6)
    """

    messages: tuple[Message, ...]
    """The messages to send, unchanged and in order."""
    left_out: tuple[Message, ...]
    token_count: int


def trim_history(
    messages: Sequence[Message],
    max_tokens: int,
    count: Callable[[str], int],
    *,
    keep_exchanges: int = 5,
    force: bool = False,
) -> History:
    """Trim a conversation to `max_tokens`, in whole exchanges and from the oldest on.

    A conversation that fits stays whole, even if it has more than `keep_exchanges` exchanges. One that doesn't fit
    keeps as many of its last exchanges as do, at most `keep_exchanges`. An exchange begins with a user's message;
    messages before the first one make an exchange of their own. With `force` it is exactly the last `keep_exchanges`,
    whatever they count and whatever fits; a shorter conversation stays whole.

    >>> said = [{"role": "user", "content": "May I drink?"}, {"role": "assistant", "content": "Water."}] * 3
    >>> history = trim_history(said, 6, lambda text: len(text.split()))
    >>> [message["content"] for message in history.messages], len(history.left_out), history.token_count
    (['May I drink?', 'Water.'], 4, 4)

    Raises:
        ConfigError: `max_tokens` or `keep_exchanges` is negative.
        InputError: a message has no text.
    """
    check_int("max_tokens", max_tokens, 0)
    check_int("keep_exchanges", keep_exchanges, 0)
    exchanges = _exchanges(messages)
    last = exchanges[max(0, len(exchanges) - keep_exchanges) :]
    if not force and history_tokens(messages, count) <= max_tokens:
        last = exchanges
    kept: list[Message] = []
    tokens = 0
    for exchange in reversed(last):
        exchange_tokens = history_tokens(exchange, count)
        if not force and tokens + exchange_tokens > max_tokens:
            break
        kept = [*exchange, *kept]
        tokens += exchange_tokens
    return History(tuple(kept), tuple(messages[: len(messages) - len(kept)]), tokens)


def history_tokens(messages: Sequence[Message], count: Callable[[str], int]) -> int:
    """Return the tokens of the messages' texts. The budget's buffer pays for role markers."""
    return sum(count(_text(message)) for message in messages)


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    exchanges: list[list[Message]] = []
    for message in messages:
        if not exchanges or _role(message) in USER_ROLES:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def _role(message: Message) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role", ""))
    role = getattr(message, "role", None) or getattr(message, "type", "")
    return str(getattr(role, "value", role))


def _text(message: Message) -> str:
    content = message
    if not isinstance(message, str):
        content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
    if not isinstance(content, str):
        raise InputError(f"a message must be a string or have a text as its content, got {safe_repr(message)}")
    return content
