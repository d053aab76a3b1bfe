"""The labels of an agent's turns: calls of one turn share a counter, and each turn goes on after the one before."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from langchain_core.messages import AIMessage

from ctxassembly.calls import lock
from ctxassembly.conversations.contexts import field_of
from ctxassembly.conversations.labels import Labels

MOST_TURNS = 1_000
"""Turns whose labels are remembered. Only calls of one turn need them, which follow each other closely."""


class TurnLabels:
    """The labels of each turn that is going on, by the message that called the tools.

    Those messages tell what was labelled before, so that a conversation goes on in any process. The calls of one turn
    run at the same time, and none sees the others' results: they share one `Labels`.
    """

    def __init__(self) -> None:
        self._turns: OrderedDict[str, Labels] = OrderedDict()
        self._lock = lock()

    def of(self, state: Any) -> Labels | None:
        """The labels of the turn that an agent is in, by its `state`; None where it tells no messages."""
        messages = field_of(state, "messages")
        if not isinstance(messages, list):
            return None
        asked = next((one.id for one in reversed(messages) if isinstance(one, AIMessage)), None)
        if asked is None:
            return Labels.after(messages)
        with self._lock:
            if asked not in self._turns:
                self._turns[asked] = Labels.after(messages)
                while len(self._turns) > MOST_TURNS:
                    self._turns.popitem(last=False)
            return self._turns[asked]
