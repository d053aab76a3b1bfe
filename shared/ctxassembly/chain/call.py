"""One call of an answer chain: all that it may say besides the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ctxassembly.chain.reach import Reach
from ctxassembly.chain.requests import Exchange
from ctxassembly.conversations.labels import Labels


@dataclass(frozen=True, slots=True)
class Call:
    """A question in a conversation."""

    question: str
    history: tuple[Exchange, ...] = ()
    mode: str = "normal"
    filter: Any = None
    """The caller's filter, in the form of the retriever."""
    today: str = ""
    """The date, for words like "this year"."""
    streamed: bool = False
    reach: Reach | None = None
    """All that the call may read, if there is a cache to ask."""
    labels: Labels | None = None
    """Those of the conversation, in which a kept answer needs the labels that it had."""
