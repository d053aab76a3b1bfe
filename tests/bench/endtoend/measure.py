"""What of the evidence reaches the context of each system, and what ours could have chosen from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np

from ctxassembly import RetrievalConfig
from ctxassembly.evaluate.statistics import Values
from endtoend.ours import CORPUS, POOL, Ours, corpus_oracle
from endtoend.peers import variants
from endtoend.system import Known, System
from quality.data import Question, QuestionSet
from quality.filling import Fill
from quality.measure import measured
from recall.exact import Vectors

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
FUSED = "ours"
OURS: Mapping[str, RetrievalConfig] = {
    FUSED: RetrievalConfig(),
    "ours, vectors alone": RetrievalConfig(strategy="vector"),
}
Recall = Mapping[int, Values]
"""By budget, the share of each question's evidence that stands in the context."""


class Asked(NamedTuple):
    """A question set with its vectors, in the order of chunks and of questions."""

    questions: QuestionSet
    vectors: Vectors
    asked: Vectors
    every: int = 1
    """One in so many questions is asked."""

    @property
    def pairs(self) -> list[tuple[Question, list[float]]]:
        """The questions that are asked, with their vectors."""
        return list(zip(self.questions.questions, self.asked.tolist(), strict=True))[:: self.every]


class Found(NamedTuple):
    """The results of a set."""

    recall: Mapping[str, Recall]
    """By system. Of a peer the best of its variants at each budget."""
    pooled: Values
    """The share of each question's evidence in what our assembly chooses from."""


def measure(asked: Asked, done: Callable[[int], object]) -> Found:
    """The results of all systems; `done` is called after each context.

    Raises:
        StrategyError: a system failed, or a context hasn't what it is said to have.
    """
    questions, vectors = asked.questions, asked.vectors
    embeddings = Known(questions, vectors, asked.asked)
    ours = {name: Ours(questions, vectors, embeddings, config) for name, config in OURS.items()}
    alone: list[tuple[str, System]] = [*ours.items(), (POOL, ours[FUSED].oracle()), (CORPUS, corpus_oracle(questions))]
    recall: dict[str, Recall] = {}
    for systems in chain([alone], variants(questions, vectors, embeddings)):
        for name, system in systems:
            found = recall_of(asked, system, done)
            recall[name] = better(recall.get(name, found), found)
    return Found(recall, np.array([ours[FUSED].pooled(question) for question, _ in asked.pairs]))


def recall_of(asked: Asked, system: System, done: Callable[[int], object]) -> Recall:
    """The recall of a system."""
    vectors = {question.id: vector for question, vector in asked.pairs}
    questions = [question for question, _ in asked.pairs]

    def fill_of(question: Question) -> Fill:
        return system(question, vectors[question.id])

    found = measured(asked.questions, questions, fill_of, BUDGETS, done)
    return {budget: values["recall"] for budget, values in found.items()}


def better(one: Recall, other: Recall) -> Recall:
    """At each budget the one with the higher mean."""
    return {budget: max(one[budget], other[budget], key=np.mean) for budget in one}
