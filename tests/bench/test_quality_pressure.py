"""What is kept whole under which pressure, on a set where chunks lose what sentences find."""

from __future__ import annotations

import pytest

from ctxassembly import Chunk, Hit
from quality.data import Document, Question, QuestionSet, Span
from quality.pressure import measured, table

TALK = "".join(f"In talk {n} nothing was agreed upon. " for n in range(8))
ANSWER = "The owl of the northern woods hunts at night, when mice are awake. "


@pytest.fixture
def talks() -> QuestionSet:
    """Twenty chunks of the same length; the answer stands once in each."""
    texts = {f"D{n}": f"{n}: {ANSWER}{TALK}" for n in range(20)}
    chunks = {name: Chunk(name, name, text, index=0, start=0) for name, text in texts.items()}
    evidence = tuple(Span(name, 3, 3 + len(ANSWER)) for name in texts)
    question = Question("q", "When does the owl hunt?", evidence, tuple(map(Hit, chunks.values())))
    documents = {name: Document(name, name, text) for name, text in texts.items()}
    return QuestionSet("talks", documents, chunks, (question,), "")


def test_each_is_forced_whatever_the_pressure_is(talks: QuestionSet) -> None:
    (found,) = measured(talks, 1, [20], [700])
    assert found.pressure == pytest.approx(2.0, abs=0.75)
    sentences, chunks, passages = found.scores
    assert sentences.stretch_length < chunks.stretch_length == passages.stretch_length


def test_only_what_does_not_fit_in_short_chunks_counts(talks: QuestionSet) -> None:
    assert not list(measured(talks, 1, [20], [8_000]))
    assert not list(measured(talks, 1, [20], [300]))  # a chunk would take more than a fifth of the room


def test_the_table_says_by_band_what_is_gained(talks: QuestionSet) -> None:
    head, _, row = table({"talks": list(measured(talks, 1, [20], [700]))}).splitlines()
    assert head.startswith("| pressure | contexts | chunks less sentences | talks |")
    assert row.split(" | ")[1] == "1"
