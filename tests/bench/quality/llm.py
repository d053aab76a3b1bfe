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
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ctxassembly.text.words import words
from quality import kept
from quality.data import Question, QuestionSet
from quality.filling import Case
from quality.measure import Plan

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
    budget: int,
    folder: Path,
    *,
    resume: bool,
    done: Callable[[int], object],
) -> dict[str, list[Judged]]:
    """The measures of the model's answers by strategy. Each answer is kept below `folder`, since answers cost.

    Raises:
        ModelError: `model_name` names no function.
    """
    model = load(model_name)
    judged: dict[str, list[Judged]] = {}
    for name, entry in plan.strategies.items():
        file = folder / questions.name / f"{name}-{budget}.jsonl"
        belongs_to = {"set": questions.digest, "model": model_name}
        before = kept.load(file, belongs_to) if resume else []
        answers = {row["prompt"]: row["answer"] for row in before}
        strategy = entry.make(questions)
        judged[name] = []
        with kept.adding(file, belongs_to, before) as add:
            for question in plan.asked(questions):
                case = Case(question, question.hits[: plan.hits], questions)
                prompt = PROMPT.format(context=strategy(case)(budget).text, question=question.text)
                if prompt not in answers:
                    answers[prompt] = model(prompt)
                    add({"qid": question.id, "prompt": prompt, "answer": answers[prompt]})
                judged[name].append(judge(answers[prompt], references(question, questions)))
                done(1)
    return judged


def _f1(said: Sequence[str], reference: Sequence[str]) -> float:
    shared = (Counter(said) & Counter(reference)).total()
    return 2 * shared / (len(said) + len(reference)) if shared else 0.0


def _contains(said: Sequence[str], reference: Sequence[str]) -> bool:
    return bool(reference) and f" {' '.join(reference)} " in f" {' '.join(said)} "
