"""Question sets and strategies in the form that `ctxassembly.evaluate.evaluate` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ctxassembly.evaluate import EvaluationReport, Evidence, LabeledQuestion, Piece, SystemResult, evaluate
from quality.data import Question, QuestionSet
from quality.filling import ENCODING, Case, Strategy


def labeled(question: Question) -> LabeledQuestion:
    """The question with its evidence as spans."""
    evidence = tuple(Evidence(*span[:1], start=span.start, end=span.end) for span in question.evidence)
    return LabeledQuestion(question.text, evidence, question.id, filter=question.id)


def system(questions: QuestionSet, strategy: Strategy, hits: int, budget: int) -> Callable[[str, str], SystemResult]:
    """The strategy as a function. The filter is the question's id: two questions may have the same words."""
    by_id = {question.id: question for question in questions.questions}

    def ask(text: str, filter: str) -> SystemResult:  # noqa: A002 - as `evaluate` passes it
        question = by_id[filter]
        answer = strategy(Case(question, question.hits[:hits], questions))(budget)
        pieces = (
            Piece(questions.texts[run.document_id][run.start : run.end], run.document_id, run.start)
            for run in answer.runs
        )
        return SystemResult(answer.text, tuple(pieces))

    return ask


def evaluated(
    questions: QuestionSet, strategies: Mapping[str, Strategy], hits: int, budget: int, **options: Any
) -> EvaluationReport:
    """The report of `evaluate` over all questions."""
    return evaluate(
        [labeled(question) for question in questions.questions],
        {name: system(questions, strategy, hits, budget) for name, strategy in strategies.items()},
        corpus=questions.texts,
        budget=budget,
        encoding=ENCODING,
        **options,
    )
