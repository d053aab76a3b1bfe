"""`python -m quality.evaluated FOLDER --budget 1000`: strategies by the public `evaluate`, with the same figures.

Question sets and strategies are put into the form that `ctxassembly.evaluate.evaluate` takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxassembly.evaluate import EvaluationReport, Evidence, LabeledQuestion, Piece, SystemResult, evaluate
from quality.data import Question, QuestionSet, read
from quality.filling import ENCODING, Case, Strategy
from quality.strategies import STRATEGIES


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


def main(arguments: list[str] | None = None) -> None:
    """Print the report of `evaluate` for a question set."""
    parser = argparse.ArgumentParser(prog="quality.evaluated", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=int, default=1_000)
    parser.add_argument("--hits", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="one in so many questions")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=["concatenation", "default", "concise"])
    parser.add_argument("--resume", type=Path, help="a file of rows to go on with")
    args = parser.parse_args(arguments)
    questions = read(args.folder)
    questions = replace(questions, questions=questions.questions[:: args.every])
    strategies = {name: STRATEGIES[name].make(questions) for name in args.strategies}
    sys.stdout.write(f"{evaluated(questions, strategies, args.hits, args.budget, resume=args.resume, workers=1)}\n")


if __name__ == "__main__":
    main()
