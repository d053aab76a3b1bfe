"""Two tenants with a contract each, whose answers must never meet: for tests of answer chains and engines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ctxassembly import Chunk
from ctxassembly.answering import AnswerConfig

QUESTION = "When does the contract end?"
SAID = {"ours": "The contract ends on 31 March.", "theirs": "The contract ends on 24 December."}
REWRITTEN = {"question": "When does the contract end, exactly?"}
NOT_REWRITTEN = pytest.mark.parametrize(
    ("config", "understood"),
    [
        (AnswerConfig(rewrite="off"), "{}"),
        (AnswerConfig(), "no JSON"),
        (AnswerConfig(), '{"question": 3}'),
        (AnswerConfig(), TimeoutError("late")),
    ],
    ids=["off", "malformed", "of another type", "late"],
)
"""The ways in which a question keeps leaning on its conversation."""


def texts_of(tenant: str) -> tuple[str, str]:
    return SAID[tenant], f"Notice is given in writing to {tenant}."


def chunks(*tenants: str) -> list[Chunk]:
    return [
        Chunk(f"{tenant}#{at}", tenant, text, at, metadata={"source": f"{tenant}.pdf", "tenant": tenant})
        for tenant in tenants or SAID
        for at, text in enumerate(texts_of(tenant))
    ]


def said_of(messages: Sequence[Any]) -> str:
    """An answer in the words of the context."""
    read = str(messages[-1].content)
    return " ".join(text for text in SAID.values() if text in read) + " [1]."


def leaning(understood: object) -> Callable[[Sequence[Any]], str]:
    """A script: `understood` of a question, and an answer that shows whether a private conversation was read."""

    def says(messages: Sequence[Any]) -> str:
        if str(messages[0].content).startswith("Prepare a user's question"):
            if isinstance(understood, Exception):
                raise understood
            return str(understood)
        return "Not after methadone [1]." if "methadone" in str(messages) else "No [1]."

    return says
