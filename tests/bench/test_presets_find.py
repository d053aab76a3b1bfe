"""Every use finds what the default finds: the recall of marked evidence in Python's language reference."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import pytest

from builders import split
from ctxassembly import AssemblyConfig, Hit, presets
from ctxassembly.published import Bookend, FiveStage
from ctxassembly.text.words import words
from quality.data import Question, QuestionSet
from quality.measure import lazy_fill, measured
from quality.ours import ours
from quality.python_reference import python_reference
from quality.strategies import Entry

EVERY = 2
"""One in so many of the set's questions."""
HITS = 20
CHUNK_CHARS, OVERLAP_CHARS = 1_200, 240
BUDGETS = [500, 2_000]
NOISE = 0.01
"""Other headers leave room for other sentences."""
CONCISE_SHARE = 0.95
"""Of the evidence of the default, what "concise" keeps at least: it is there to leave text out."""


@cache
def the_set() -> QuestionSet:
    """Questions with the chunks that share most of their rare words."""
    source = python_reference()
    chunks = {
        chunk.id: chunk
        for document in source.documents
        for chunk in split(
            document.id, document.text, size=CHUNK_CHARS, overlap=OVERLAP_CHARS, metadata={"source": document.id}
        )
    }
    bags = {chunk.id: frozenset(words(chunk.text)) for chunk in chunks.values()}
    frequency = Counter(word for bag in bags.values() for word in bag)
    weights = {word: math.log(len(bags) / times) for word, times in frequency.items()}

    def found(asked: str) -> tuple[Hit, ...]:
        question = frozenset(words(asked))
        scores = {name: math.fsum(weights[word] for word in question & bag) for name, bag in bags.items()}
        best = sorted(scores, key=lambda name: -scores[name])[:HITS]
        return tuple(Hit(chunks[name], scores[name]) for name in best)

    questions = tuple(
        Question(each.id, each.text, each.evidence, found(each.text)) for each in source.questions[::EVERY]
    )
    documents = {document.id: document for document in source.documents}
    return QuestionSet("python", documents, chunks, questions, "")


def recall(config: AssemblyConfig | FiveStage | Bookend, budget: int) -> float:
    questions = the_set()
    fill_of = lazy_fill(Entry("ours", ours(config)), questions, HITS)
    found = measured(questions, questions.questions, fill_of, [budget], lambda _: None)[budget]
    assert not found["violation"].any()
    return float(found["recall"].mean())


@cache
def default(budget: int) -> float:
    return recall(AssemblyConfig(), budget)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("use", presets.BY_USE)
def test_every_use_finds_what_the_default_finds(use: str, budget: int) -> None:
    share = CONCISE_SHARE if use == "concise" else 1
    assert recall(AssemblyConfig.for_use(use), budget) >= share * default(budget) - NOISE


@pytest.mark.parametrize("rule", ["FIVE_STAGE", "BOOKEND"])
def test_that_would_show_in_the_published_rules(rule: str) -> None:
    assert recall(getattr(presets, rule), 2_000) < default(2_000) - 5 * NOISE
