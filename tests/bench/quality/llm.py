"""How well a language model answers from a context, with assembly and without.

The model is the user's: a function from a prompt to an answer, named `module:function`. An answer is compared word by
word with the reference answers of the question, if the set has them ("answers" in questions.jsonl), and with its
evidence else. Both are the measures of SQuAD (Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions"), without its English
articles. They say which of two contexts the same model answers better from, and little more: a right answer in other
words counts as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ctxassembly.evaluate import SystemResult
from ctxassembly.text.words import words
from quality.data import Question, QuestionSet
from quality.measure import Plan, System, evaluated, lazy_fill, rows_file, systems

PROMPT = """\
Answer the question from the context, as briefly as you can. Where the context has no answer, say so.

Context:
{context}

Question: {question}"""
LanguageModel = Callable[[str], str]


class Judged(NamedTuple):
    """One answer's measures, 0 to 1."""

    f1: float
    """Words that the answer shares with the reference: the harmonic mean of both shares."""
    contains: float
    """1 if a reference stands in the answer as a whole, else 0."""


class ModelError(ValueError):
    """What was named is no function."""


def load(name: str) -> LanguageModel:
    """The function that `module:function` names.

    Raises:
        ModelError: there is none.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ModelError(f"--llm {name!r} should be module:function: {error}") from error
    if not callable(found):
        raise ModelError(f"--llm {name!r} is no function")
    model: LanguageModel = found
    return model


def judge(answer: str, references: Sequence[str]) -> Judged:
    """The best match with any of `references`."""
    said = words(answer)
    return Judged(
        max(_f1(said, words(reference)) for reference in references),
        float(any(_contains(said, words(reference)) for reference in references)),
    )


def references(question: Question, questions: QuestionSet) -> tuple[str, ...]:
    """The question's answers; its evidence if it has none."""
    texts = (questions.documents[span.document_id].text[span.start : span.end] for span in question.evidence)
    return question.answers or ("\n".join(texts),)


def answer_all(
    questions: QuestionSet,
    plan: Plan,
    model_name: str,
    folder: Path,
    *,
    resume: bool,
    done: Callable[[int], object],
) -> dict[str, list[Judged]]:
    """The measures of the model's answers by strategy, at the plan's one budget. `folder` keeps them: answers cost.

    Raises:
        ModelError: `model_name` names no function.
        StrategyError: a strategy or the model failed.
    """
    model = load(model_name)
    asked, [budget] = plan.asked(questions), plan.budgets
    judged: dict[str, list[Judged]] = {}
    for name, entry in plan.strategies.items():
        [give_context] = systems(questions, lazy_fill(entry, questions, plan.hits), [budget], done)
        file = rows_file(folder / f"{plan.hits}-hits", questions, f"{name}-{budget}", resume=resume)
        report = evaluated(questions, asked, {f"answers of {model_name}": _answering(give_context, model)}, file)
        pairs = zip(report.rows, asked, strict=True)
        judged[name] = [judge(row.answer or "", references(question, questions)) for row, question in pairs]
    return judged


def _answering(give_context: System, model: LanguageModel) -> System:
    """Return the system whose answers are those of `model` to the contexts."""

    def ask(text: str, filter: str) -> SystemResult:  # noqa: A002 - as `evaluate` passes it
        result = give_context(text, filter)
        return replace(result, answer=model(PROMPT.format(context=result.text, question=text)))

    return ask


def _f1(said: Sequence[str], reference: Sequence[str]) -> float:
    shared = (Counter(said) & Counter(reference)).total()
    return 2 * shared / (len(said) + len(reference)) if shared else 0.0


def _contains(said: Sequence[str], reference: Sequence[str]) -> bool:
    return bool(reference) and f" {' '.join(reference)} " in f" {' '.join(said)} "
