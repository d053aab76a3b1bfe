"""The quality of an answer takes time in proportion to its length, however its markers stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig

INDEX = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])


def judged(text: str) -> Callable[[], Any]:
    """A call that gives the quality of an answer with this text."""
    chain = AnswerChain.from_index(INDEX, lambda _: text, RetrievalConfig(strategy="keyword"))
    return lambda: chain.answer("When is ferritin measured?").quality


@pytest.mark.parametrize(
    ("rule", "text", "labeled"),
    [
        ("a marker speaks for the sentence that it is in", "Ask here [1]. Ask there.", 0.5),
        ("after the full stop it speaks for the one before", "Ask here. [1] Ask there.", 0.5),
        ("unless the answer puts markers first", "[1] says here. [1] says there.", 1.0),
        ("blanks before the first one don't matter", "\n [1] says here. [1] says there.", 1.0),
        ("two sentences", "Ask here [1]. Ask there [1].", 1.0),
        ("no marker", "Ask here. Ask there.", 0.0),
    ],
)
def test_the_share_of_sentences_with_a_label(rule: str, text: str, labeled: float | None) -> None:
    assert judged(text)().labeled == labeled
