"""The quality of an answer takes time in proportion to its length, however its markers stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxassembly import AnswerChain, Chunk, Context, Hit, MemoryIndex, RetrievalConfig, assemble
from ctxassembly.answering.answer import measure_quality
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


def context() -> Context:
    return assemble([Hit(Chunk("lab#0", "lab", "Ferritin is measured in the morning."))])


def judged(text: str) -> Callable[[], Any]:
    resolved = context().resolve(text, mode="keep")
    return lambda: measure_quality(text, resolved, ())


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_times_the_marks_take_some_twenty_times_the_time(kind: str) -> None:
    write = KINDS[kind]
    few, many = calls_of(judged(write(1_000))), calls_of(judged(write(20_000)))
    assert many <= 25 * few
    assert grows_less(lambda marks: judged(write(marks)), 2_000, 40_000, 80)


def test_an_answer_of_many_marks_comes_back() -> None:
    index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    chain = AnswerChain.from_index(index, lambda _: "It is so [1]. " * 50_000, RetrievalConfig(strategy="keyword"))
    quality = chain.answer("When is ferritin measured?").quality
    assert quality is not None
    assert (quality.sentences, quality.labeled) == (50_000, 1.0)


@pytest.mark.parametrize(
    ("rule", "text", "labeled"),
    [
        ("a marker speaks for the sentence that it is in", "Ask here [1]. Ask there.", 0.5),
        ("after the full stop it speaks for the one before", "Ask here. [1] Ask there.", 0.5),
        ("unless the answer puts markers first", "[1] says here. [1] says there.", 1.0),
        ("blanks before the first one don't matter", "\n [1] says here. [1] says there.", 1.0),
        ("two sentences", "Ask here [1]. Ask there [1].", 1.0),
        ("no marker", "Ask here. Ask there.", 0.0),
        ("no sentence", " ", None),
    ],
)
def test_the_share_of_sentences_with_a_label(rule: str, text: str, labeled: float | None) -> None:
    assert judged(text)().labeled == labeled
