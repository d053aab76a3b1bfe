"""The run: every strategy on every question at every budget, all in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quality import kept
from quality.data import Question, QuestionSet
from quality.filling import ENCODING, Case, count
from quality.metrics import Meter, Score
from quality.retrieval import GIVEN
from quality.strategies import Entry

Cell = tuple[str, int]
"""A question's id and a budget."""
Results = dict[str, dict[Cell, Score]]
"""Scores by strategy, then by question and budget."""


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


def measure(
    questions: QuestionSet, plan: Plan, folder: Path, *, resume: bool, done: Callable[[int], object]
) -> Results:
    """The scores of all strategies, kept below `folder`. `done` is told how many contexts more are measured."""
    belongs_to = {"set": questions.digest, "hits": plan.hits, "way": plan.way, "encoding": ENCODING}
    meter = Meter(questions)
    results: Results = {}
    for name, entry in plan.strategies.items():
        file = folder / questions.name / f"{name}.jsonl"
        before = kept.load(file, belongs_to) if resume else []
        scores = {(row["qid"], row["budget"]): Score(**row["score"]) for row in before}
        strategy = None
        with kept.adding(file, belongs_to, before) as add:
            for question in plan.asked(questions):
                missing = [budget for budget in plan.budgets if (question.id, budget) not in scores]
                if missing:
                    strategy = strategy or entry.make(questions)
                    fill = strategy(Case(question, question.hits[: plan.hits], questions))
                    for budget in missing:
                        answer = fill(budget)
                        score = meter.score(question, answer, count(answer.text), budget)
                        if (end := meter.evidence_end(question, answer)) is not None:
                            score = score._replace(depth=count(answer.text[:end]))
                        scores[question.id, budget] = score
                        add({"qid": question.id, "budget": budget, "score": score._asdict()})
                done(len(plan.budgets))
        results[name] = scores
    return results
