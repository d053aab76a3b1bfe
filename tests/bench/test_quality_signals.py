"""Signals that a model would give, with a model of a kind: a vector for each bird."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from ctxassembly import Chunk, Hit
from quality.data import Document, Question, QuestionSet, Span
from quality.signals import cosines_by, of_scores, of_sentences, reranked, table
from quality.weights import cases

BIRDS = ("lark", "owl", "wren")
NOTHING = "".join(f"Of fact {n} nothing more is known. " for n in range(90))


def by_bird(texts: Sequence[str]) -> NDArray[np.float32]:
    """What a model would know that no word tells: the owl is the bird of the night."""
    told = [text.replace("night", "owl") for text in texts]
    found = np.array([[float(bird in text) for bird in BIRDS] + [0.1] for text in told], dtype=np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


@pytest.fixture
def birds() -> QuestionSet:
    texts = {bird: NOTHING + f"One is a {bird}. " + NOTHING for bird in BIRDS}
    chunks = {bird: Chunk(bird, bird, text, index=0, start=0) for bird, text in texts.items()}
    hits = tuple(Hit(chunks[bird], score) for bird, score in zip(BIRDS, (0.9, 0.8, 0.5), strict=True))
    question = Question("q", "Who flies at night?", (Span("owl", len(NOTHING), len(NOTHING) + 13),), hits)
    return QuestionSet(
        "birds", {bird: Document(bird, bird, text) for bird, text in texts.items()}, chunks, (question,), ""
    )


def test_no_text_is_embedded_twice() -> None:
    asked: list[str] = []
    cosines = cosines_by(lambda texts: (asked.extend(texts), by_bird(texts))[1])
    assert np.allclose(cosines("night", ["owl", "owl", "lark"]), [1, 1, 0.01 / 1.01], atol=1e-3)
    cosines("night", ["lark", "wren"])
    assert asked == ["night", "owl", "lark", "wren"]


def test_hits_are_reranked_by_their_best_sentence(birds: QuestionSet) -> None:
    question = reranked(birds.questions[0], cosines_by(by_bird))
    assert [hit.chunk.id for hit in question.hits] == ["owl", "lark", "wren"]
    assert question.hits[0].score == pytest.approx(1)


def test_a_row_has_a_number_for_each_sentence(birds: QuestionSet) -> None:
    (case,) = cases(birds, 1, 20).cases
    sentences = [case.units.text[begin:end] for begin, end in pairwise(case.units.boundaries)]
    place = next(place for place, sentence in enumerate(sentences) if "owl" in sentence)
    assert of_sentences(case, cosines_by(by_bird)).argmax() == place
    scores = dict(zip(case.units.document_ids, of_scores(case), strict=True))
    assert scores == {"lark": 1.0, "owl": pytest.approx(0.75), "wren": 0.0}


def test_the_table_says_what_each_signal_gains(birds: QuestionSet) -> None:
    rows = [line.strip("| ").split(" | ") for line in table([birds], 20, cosines_by(by_bird)).splitlines()]
    recall = {row[0]: row[1] for row in rows[2:]}
    assert recall["as it is"] == "0.000"
    assert recall["sentence vectors, 4"] == "1.000"
    assert len(recall) == 2 + 3 * 4
