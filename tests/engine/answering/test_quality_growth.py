"""The quality of an answer takes time in proportion to its length, however its markers stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
from stopwatch import grows_less
from test_scaling import calls_of

KINDS: dict[str, Callable[[int], str]] = {
    "a sentence each": lambda marks: "It is so [1]. " * marks,
    "all in one line": lambda marks: "word [1] " * marks,
    "one after another": lambda marks: "It is so. " + "[1]" * marks,
    "markers first": lambda marks: "[1] says so. " * marks,
    "rows of a table, which are never cut": lambda marks: "| " + "cell [1] | " * marks,
    "after many blanks": lambda marks: " " * marks + "[1] and " * marks,
}


INDEX = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])


def judged(text: str) -> Callable[[], Any]:
    """A call that gives the quality of an answer with this text."""
    chain = AnswerChain.from_index(INDEX, lambda _: text, RetrievalConfig(strategy="keyword"))
    return lambda: chain.answer("When is ferritin measured?").quality


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_times_the_marks_take_some_twenty_times_the_time(kind: str) -> None:
    write = KINDS[kind]
    few, many = calls_of(judged(write(1_000))), calls_of(judged(write(20_000)))
    assert many <= 25 * few
    assert grows_less(lambda marks: judged(write(marks)), 2_000, 40_000, 80)


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
