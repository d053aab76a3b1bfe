"""`evaluate` gives the figures of the quality benchmark, on the set made of Python's documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ctxassembly import Chunk, MemoryIndex, MemoryStore, RetrievalConfig, retrieve
from ctxassembly.evaluate import assembled, evaluate
from quality.baselines import concatenation
from quality.data import Question, QuestionSet
from quality.evaluated import evaluated, labeled
from quality.measure import Plan, measure
from quality.ours import CONFIGS, ours
from quality.prepare import split
from quality.python_reference import python_reference
from quality.report import Measured
from quality.strategies import Entry

BUDGET, EVERY = 1_500, 5
STRATEGIES = {"concatenation": concatenation, "default": ours(CONFIGS["default"])}
SAME = {"recall": "recall", "full": "complete", "duplicates": "duplicates", "clean": "clean", "tokens": "tokens",
        "violation": "over_budget"}  # fmt: skip


@pytest.fixture(scope="module")
def questions() -> QuestionSet:
    source = python_reference()
    chunks = {
        row["id"]: Chunk(row["id"], row["document_id"], row["text"], row["index"], row["start"])
        for document in source.documents
        for row in split(document)
    }
    index = MemoryIndex(chunks.values())
    config = RetrievalConfig(strategy="keyword", limit=20)
    asked = [
        Question(one.id, one.text, one.evidence, retrieve(one.text, config, index=index).hits)
        for one in source.questions[::EVERY]
    ]
    documents = {document.id: document for document in source.documents}
    return QuestionSet("python", documents, chunks, tuple(asked), "digest")


def test_evaluate_gives_the_figures_of_the_benchmark(questions: QuestionSet, tmp_path: Path):
    plan = Plan({name: Entry("ours", make) for name, make in STRATEGIES.items()}, (BUDGET,), 20)
    results = measure(questions, plan, tmp_path, resume=False, done=lambda _: None)
    strategies = {name: make(questions) for name, make in STRATEGIES.items()}
    report = evaluated(questions, strategies, 20, BUDGET, progress=False)
    assert not report.errors
    measured = Measured(questions, questions.questions, results)
    for name in STRATEGIES:
        for theirs, own in SAME.items():
            np.testing.assert_array_equal(measured.values(name, theirs, BUDGET), report.values(name, own))
        depths = [results[name][question.id, BUDGET].depth for question in questions.questions]
        for most in (125, 500, 1_000):
            share = np.mean([depth is not None and depth <= most for depth in depths])
            assert report.estimate(name, f"within_{most}").mean == share
    assert 0.3 < report.estimate("concatenation", "recall").mean < report.estimate("default", "recall").mean


def test_a_context_is_measured_like_the_runs_of_the_benchmark(questions: QuestionSet):
    """Without saying where its text comes from: the context and the chunks do."""
    config = replace(CONFIGS["default"], max_tokens=BUDGET)
    store = MemoryStore(questions.chunks.values())
    hits = {question.text: list(question.hits) for question in questions.questions}
    asked = [labeled(question) for question in questions.questions]
    systems = {"ours": assembled(hits.__getitem__, config, store=store)}
    strategies = {"default": STRATEGIES["default"](questions)}
    expected = evaluated(questions, strategies, 20, BUDGET, progress=False)
    for corpus in (questions.texts, list(questions.chunks.values())):
        report = evaluate([replace(one, filter=None) for one in asked], systems, corpus=corpus, progress=False)
        for name in ("recall", "complete", "tokens", "duplicates", "within_500"):
            np.testing.assert_array_equal(report.values("ours", name), expected.values("default", name))
