"""Grades by a language model, and prices of calls, both only on request."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

from ctxassembly.errors import ConfigError, MissingExtraError
from ctxassembly.evaluate.models import text_model
from ctxassembly.evaluate.questions import LabeledQuestion
from ctxassembly.evaluate.results import SystemResult
from ctxassembly.safe_repr import describe_error, safe_repr

PROMPT = """Grade an answer against the expected answer.
1: it says what the expected answer says. More detail is fine.
0.5: it says a part of it, and nothing wrong.
0: it says something else, or nothing.
Reply with the number only.

Question: {question}
Expected answer: {expected}
Answer: {answer}"""
_GRADE = re.compile(r"(?<![\d.])(?:0(?:\.\d+)?|1(?:\.0+)?)(?![\d.]*\d)")
Judge = Callable[[LabeledQuestion, SystemResult], float | None]


def as_judge(model: Any) -> Judge:
    """Return a function that grades the answer of a result from 0 to 1; None without an answer or an expected one.

    `model` is a language model, a metric of RAGAS, or a function (question, expected answer, answer) -> grade.

    >>> judge = as_judge(lambda question, expected, answer: expected in answer)
    >>> judge(LabeledQuestion("May I drink?", answer="Yes"), SystemResult("", answer="Yes, you may."))
    1.0

    Raises:
        InputError: `model` is none of these.
        ValueError: while grading, the model replied without a number.
    """
    if callable(getattr(model, "ascore", None)) and callable(getattr(model, "score", None)):
        return _by_metric(model)
    ask = model if _takes_three(model) else _grader(text_model("judge", model))

    def grade(question: LabeledQuestion, result: SystemResult) -> float | None:
        if result.answer is None or not question.answer:
            return None
        return float(ask(question.text, question.answer, result.answer))

    return grade


def _by_metric(metric: Any) -> Judge:
    """Return a judge by a metric of RAGAS (`ragas.metrics.collections`), given what its `ascore` takes by name."""
    names = signature(metric.ascore).parameters

    def grade(question: LabeledQuestion, result: SystemResult) -> float | None:
        if result.answer is None or not question.answer:
            return None
        given = {
            "user_input": question.text,
            "response": result.answer,
            "reference": question.answer,
            "retrieved_contexts": [result.text],
        }
        return float(metric.score(**{name: value for name, value in given.items() if name in names}).value)

    return grade


def _takes_three(function: Any) -> bool:
    """Return True for a plain function of three arguments."""
    return isfunction(function) and len(signature(function).parameters) == 3


def _grader(ask: Callable[[str], str]) -> Callable[[str, str, str], float]:
    """Return a function that has a language model grade an answer."""

    def grade(question: str, expected: str, answer: str) -> float:
        reply = ask(PROMPT.format(question=question, expected=expected, answer=answer))
        found = _GRADE.search(reply)
        if found is None:
            raise ValueError(f"the judge replied without a grade from 0 to 1: {safe_repr(reply)}")
        return float(found[0])

    return grade


Price = Callable[[float, float], float]
"""From tokens that a model reads and writes to US dollars."""


def price_of(model: str) -> Price:
    """Return the price of calls of `model` ("gpt-4o", "claude-sonnet-4-5", ...), by the prices in genai-prices.

    >>> price_of("gpt-4o")(1_000_000, 0)
    2.5

    Raises:
        ConfigError: genai-prices doesn't know the model.
        MissingExtraError: genai-prices isn't installed.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError as error:
        raise MissingExtraError("pricing the tokens of a model", "models") from error

    def price(tokens_in: float, tokens_out: float) -> float:
        usage = Usage(input_tokens=round(tokens_in), output_tokens=round(tokens_out))
        return float(calc_price(usage, model).total_price)

    try:
        price(1, 1)
    except LookupError as error:
        raise ConfigError("model", "a model that genai-prices knows", model, f" ({describe_error(error)})") from None
    return price
