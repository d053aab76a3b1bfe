"""The run: every strategy on every question at every budget, by the public `evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from ctxassembly.evaluate import EvaluationReport, Piece, SystemResult, evaluate
from ctxassembly.evaluate.corpus import size, union
from ctxassembly.evaluate.report import MEASURES
from ctxassembly.evaluate.statistics import Values
from quality.data import Question, QuestionSet
from quality.filling import ENCODING, Case, Fill
from quality.retrieval import GIVEN
from quality.strategies import Entry

Measures = Mapping[str, Values]
"""By name, a value for each question: the measures of `evaluate`, and those of the benchmark (`_columns`)."""
Results = dict[tuple[str, int], Measures]
"""By strategy and budget."""
System = Callable[[str, str], SystemResult]
"""From a question and its filter to a result, as `evaluate` asks it."""


class StrategyError(RuntimeError):
    """A strategy failed, or its text lacks what it claims to have."""


class Plan(NamedTuple):
    """What is measured."""

    strategies: Mapping[str, Entry]
    budgets: Sequence[int]
    hits: int
    """So many of a question's hits are used, at most."""
    every: int = 1
    """One in so many questions."""
    way: str = GIVEN
    """The way in which the hits are retrieved."""
    most: int | None = None
    """The most questions of a set that are measured; None for all."""

    def asked(self, questions: QuestionSet) -> tuple[Question, ...]:
        """The questions that are measured."""
        asked = questions.questions[:: self.every]
        return asked[:: -(-len(asked) // (self.most or len(asked)))]

    def cells(self, questions: QuestionSet) -> int:
        """How many contexts are made."""
        return len(self.asked(questions)) * len(self.budgets) * len(self.strategies)


def measure(questions: QuestionSet, plan: Plan, done: Callable[[int], object]) -> Results:
    """Return the measures of all strategies. `done` is called after each context.

    Raises:
        StrategyError: a strategy failed, or its text lacks what it claims to have.
    """
    results: Results = {}
    for name, entry in plan.strategies.items():
        fill_of = lazy_fill(entry, questions, plan.hits)
        found = measured(questions, plan.asked(questions), fill_of, plan.budgets, done)
        results |= {(name, budget): values for budget, values in found.items()}
    return results


def lazy_fill(entry: Entry, questions: QuestionSet, hits: int) -> Callable[[Question], Fill]:
    """Return the function from a question to its contexts. The strategy is made on first use."""
    strategy = cache(lambda: entry.make(questions))
    return lambda question: strategy()(Case(question, question.hits[:hits], questions))


def measured(
    questions: QuestionSet,
    asked: Sequence[Question],
    fill_of: Callable[[Question], Fill],
    budgets: Sequence[int],
    done: Callable[[int], object],
) -> dict[int, Measures]:
    """Return the measures of one strategy by budget."""
    names = {f"{budget:,} tokens": budget for budget in budgets}
    made = systems(questions, fill_of, budgets, done)
    report = evaluated(questions, asked, dict(zip(names, made, strict=True)))
    return {budget: _columns(report, name, budget, questions, asked) for name, budget in names.items()}


def evaluated(questions: QuestionSet, asked: Sequence[Question], systems: Mapping[str, System]) -> EvaluationReport:
    """Return the report of `evaluate`.

    Raises:
        StrategyError: a system failed.
    """
    report = evaluate(
        [question.labeled for question in asked],
        systems,
        corpus=questions.corpus,
        encoding=ENCODING,
        workers=1,
        progress=False,
    )
    if report.errors:
        first = report.errors[0]
        raise StrategyError(f"question {first.question_id!r}, {first.system}: {first.error}")
    return report


def systems(
    questions: QuestionSet, fill_of: Callable[[Question], Fill], budgets: Sequence[int], done: Callable[[int], object]
) -> list[System]:
    """Return a system for each budget. What all budgets need is computed once for each question."""
    by_id = {question.id: question for question in questions.questions}
    fill = lru_cache(1)(lambda question_id: fill_of(by_id[question_id]))

    def asking(budget: int) -> System:
        def ask(text: str, filter: str) -> SystemResult:  # noqa: A002 - as `evaluate` passes it
            answer = fill(filter)(budget)
            pieces = (
                Piece(questions.documents[run.document_id].text[run.start : run.end], run.document_id, run.start)
                for run in answer.runs
            )
            done(1)
            return SystemResult(answer.text, tuple(pieces))

        return ask

    return [asking(budget) for budget in budgets]


def _columns(
    report: EvaluationReport, system: str, budget: int, questions: QuestionSet, asked: Sequence[Question]
) -> Measures:
    """Return the measures of a system, with precision and violations."""
    found = {name: report.values(system, name) for name in MEASURES}
    dense = questions.corpus.meter.dense
    evidence = np.array([size(union(map(dense.span, question.evidence))) for question in asked])
    written = np.array([row.characters for row in report.rows if row.system == system])
    return {
        **found,
        "precision": found["recall"] * evidence / np.maximum(written, 1),
        "violation": np.asarray(found["tokens"] > budget, dtype=np.float64),
    }
