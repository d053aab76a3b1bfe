"""`evaluate` gives the figures of the quality benchmark, on the set made of Python's documentation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctxassembly import Chunk, MemoryIndex, MemoryStore, RetrievalConfig, retrieve
from ctxassembly.evaluate import EvaluationReport, assembled, evaluate
from quality.baselines import concatenation
from quality.data import Question, QuestionSet
from quality.filling import Strategy
from quality.measure import Measures, lazy_fill, measured
from quality.ours import CONFIGS, ours
from quality.prepare import split
from quality.python_reference import python_reference
from quality.strategies import Entry

BUDGET, EVERY, HITS = 1_500, 5, 20
ROOM = 100_000
"""Tokens in which all hits have room."""


@pytest.fixture(scope="module")
def questions() -> QuestionSet:
    source = python_reference()
    chunks = {
        row["id"]: Chunk(row["id"], row["document_id"], row["text"], row["index"], row["start"])
        for document in source.documents
        for row in split(document)
    }
    index = MemoryIndex(chunks.values())
    config = RetrievalConfig(strategy="keyword", limit=HITS)
    asked = [
        Question(one.id, one.text, one.evidence, retrieve(one.text, config, index=index).hits)
        for one in source.questions[::EVERY]
    ]
    documents = {document.id: document for document in source.documents}
    return QuestionSet("python", documents, chunks, tuple(asked), "digest")


def run(questions: QuestionSet, make: Callable[[QuestionSet], Strategy], budget: int) -> Measures:
    """The measures of the benchmark."""
    fill_of = lazy_fill(Entry("ours", make), questions, HITS)
    return measured(questions, questions.questions, fill_of, [budget], lambda _: None)[budget]


def evaluated(questions: QuestionSet, system: Callable[[str], Any], corpus: Any) -> EvaluationReport:
    """The report of `evaluate` for a system that knows nothing of the benchmark."""
    asked = [replace(question.labeled, filter=None) for question in questions.questions]
    report = evaluate(asked, {"one": system}, corpus=corpus, progress=False)
    assert not report.errors
    return report


def test_the_figures_of_the_benchmark_are_those_of_plain_hits(questions: QuestionSet):
    hits = {question.text: list(question.hits) for question in questions.questions}
    report = evaluated(questions, hits.__getitem__, questions.corpus)
    found = run(questions, concatenation, ROOM)
    for name in ("recall", "complete", "tokens", "within_125", "within_1000"):
        np.testing.assert_array_equal(found[name], report.values("one", name))
    assert 0 < np.mean(found["precision"]) < np.mean(found["recall"])
    assert np.mean(found["recall"]) > 0.3


def test_the_default_finds_more_than_the_plain_join_within_a_budget(questions: QuestionSet):
    plain, default = (run(questions, make, BUDGET)["recall"] for make in (concatenation, ours(CONFIGS["default"])))
    assert 0.3 < plain.mean() < default.mean()


def test_a_context_is_measured_like_the_runs_of_the_benchmark(questions: QuestionSet):
    """Without saying where its text comes from: the context and the chunks do."""
    config = replace(CONFIGS["default"], max_tokens=BUDGET)
    store = MemoryStore(questions.chunks.values())
    hits = {question.text: list(question.hits) for question in questions.questions}
    system = assembled(hits.__getitem__, config, store=store)
    expected = run(questions, ours(CONFIGS["default"]), BUDGET)
    for corpus in (questions.corpus, list(questions.chunks.values())):
        report = evaluated(questions, system, corpus)
        for name in ("recall", "complete", "tokens", "within_500"):
            np.testing.assert_array_equal(report.values("one", name), expected[name])
