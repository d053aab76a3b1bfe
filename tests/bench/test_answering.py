"""The benchmarks of the answer chain, on forty birds."""

from __future__ import annotations

import numpy as np
import pytest

from answering.two_hop import paired, systems
from ctxassembly import Chunk
from quality.data import Document, Question, QuestionSet, Span
from recall.measure import measured

pytestmark = pytest.mark.bench

TEXTS = {f"bird{n}": f"The bird of number{n} sings loudly in the wood and on the field." for n in range(40)}


@pytest.fixture
def birds() -> QuestionSet:
    chunks = {name: Chunk(name, name, text, index=0, start=0) for name, text in TEXTS.items()}
    asked = [Question(name, f"Where is number{n}?", (Span(name, 0, 20),), ()) for n, name in enumerate(TEXTS)]
    return QuestionSet("birds", {n: Document(n, n, t) for n, t in TEXTS.items()}, chunks, tuple(asked), "digest")


def test_a_pair_has_the_evidence_of_both_its_parts(birds: QuestionSet) -> None:
    two, parts = paired(birds, 10)
    assert len(two.questions) == 10
    for question in two.questions:
        first, second = parts[question.text]
        assert question.text == f"{first[:-1]}, and {second}"
        assert len({span.document_id for span in question.evidence}) == 2


def test_parts_find_both_where_the_whole_finds_what_is_like_it(birds: QuestionSet) -> None:
    two, parts = paired(birds, 10)
    vectors = np.eye(40, dtype=np.float32)
    at = {question.text: vectors[place].tolist() for place, question in enumerate(birds.questions)}
    misled = dict.fromkeys((question.text for question in two.questions), [1.0] * 40)
    rows = measured(two, np.ones((10, 40), dtype=np.float32), systems(two, vectors, parts, at | misled))
    found = {row.system: row.recall for row in rows}
    assert found["fused, by parts"] == (1.0, 1.0, 1.0)
    assert found["keyword, by parts"] == (1.0, 1.0, 1.0)
