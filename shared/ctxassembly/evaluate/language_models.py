"""What language models do in an evaluation, all on request: they grade answers, at a price, and write questions.

A model is whatever either framework has, or a function from a prompt to a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from inspect import isfunction, signature
from typing import Any

from ctxassembly.concurrency import iter_completed
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError, missing_extra
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion
from ctxassembly.evaluate.systems import SystemResult, read_chunk, reply_text
from ctxassembly.safe_repr import describe_error, safe_repr


def text_model(name: str, model: Any) -> Callable[[str], str]:
    """Return `model` as a function from a prompt to its answer. `name` is the parameter, for errors.

    It may be a LangChain model or chain (`invoke`), a LlamaIndex model (`complete`), or such a function itself.

    >>> text_model("llm", lambda prompt: prompt.upper())("drink")
    'DRINK'

    Raises:
        InputError: `model` is none of these.
    """
    call = getattr(model, "invoke", None) or getattr(model, "complete", None) or (model if callable(model) else None)
    if call is None:
        raise InputError(f"{name} must be a LangChain or LlamaIndex model or a function, got {safe_repr(model)}")
    return lambda prompt: reply_text(call(prompt))


GRADING_PROMPT = """Grade an answer against the expected answer.
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
        ask = _metric(model)
    else:
        takes_three = isfunction(model) and len(signature(model).parameters) == 3
        function = model if takes_three else _grader(text_model("judge", model))

        def ask(question: str, expected: str, answer: str, _: str) -> Any:
            return function(question, expected, answer)

    def grade(question: LabeledQuestion, result: SystemResult) -> float | None:
        if result.answer is None or not question.answer:
            return None
        return float(ask(question.text, question.answer, result.answer, result.text))

    return grade


def _metric(metric: Any) -> Callable[[str, str, str, str], Any]:
    """Return a metric of RAGAS (`ragas.metrics.collections`) as a function; it gets what its `ascore` takes by name."""
    names = signature(metric.ascore).parameters

    def grade(question: str, expected: str, answer: str, context: str) -> Any:
        given = {
            "user_input": question,
            "response": answer,
            "reference": expected,
            "retrieved_contexts": [context],
        }
        return metric.score(**{name: value for name, value in given.items() if name in names}).value

    return grade


def _grader(ask: Callable[[str], str]) -> Callable[[str, str, str], str]:
    """Return a function that has a language model grade an answer."""

    def grade(question: str, expected: str, answer: str) -> str:
        reply = ask(GRADING_PROMPT.format(question=question, expected=expected, answer=answer))
        found = _GRADE.search(reply)
        if found is None:
            raise ValueError(f"the judge replied without a grade from 0 to 1: {safe_repr(reply)}")
        return found[0]

    return grade


Price = Callable[[float, float], float]
"""From tokens that a model reads and writes to US dollars."""


def price_of(model: str) -> Price:
    """Return the price of calls of `model` ("gpt-4o", "claude-sonnet-4-5", ...), by the prices in genai-prices.

    >>> price_of("gpt-4o")(1_000_000, 0)
    2.5

    Raises:
        ConfigError: genai-prices doesn't know the model.
        ImportError: genai-prices isn't installed.
    """
    try:
        from genai_prices import Usage, calc_price
    except ImportError as error:
        raise missing_extra("pricing the tokens of a model", "models") from error

    def price(tokens_in: float, tokens_out: float) -> float:
        usage = Usage(input_tokens=round(tokens_in), output_tokens=round(tokens_out))
        return float(calc_price(usage, model).total_price)

    try:
        price(1, 1)
    except LookupError as error:
        raise ConfigError("model", "a model that genai-prices knows", model, f" ({describe_error(error)})") from None
    return price


MIN_CHUNK_CHARS = 80
"""Characters of a chunk below which nothing is asked about it: a title or a page number has no answer."""
CONCURRENT_CALLS = 4
_JSON = re.compile(r"\{.*\}", re.DOTALL)
WRITING_PROMPT = """\
Write one question that a reader could ask who has never seen the text below, and that the text answers.
Don't mention "the text". Use your own words in the question, not the words of the text.
Copy from the text, character by character, the one or two sentences that answer it.
Reply with JSON only: {{"question": "...", "quotation": "..."}}. If the text answers no useful question: {{}}.

Text:
{text}"""


def questions_from(chunks: Iterable[Any], llm: Any, n: int = 50) -> tuple[LabeledQuestion, ...]:
    '''Return up to `n` questions that `llm` writes, each on another chunk, marked as `made`.

    The evidence is a quotation of the chunk, taken verbatim. A reply whose quotation isn't in the chunk is thrown away,
    and the next chunk is tried, up to twice `n` calls. The chunks are chosen by a hash, so that a second
    run chooses the same. Read the questions before you rely on them: models ask easy ones.

    >>> text = "Drink water until two hours before the examination. Eat nothing for six hours, and bring the leaflet."
    >>> def llm(prompt):
    ...     return """{"question": "When do I stop drinking?", "quotation": "Drink water until two hours before"}"""
    >>> [question] = questions_from([Chunk("gastro#0", "gastro", text)], llm)
    >>> question.text, question.evidence[0].quotation, question.made
    ('When do I stop drinking?', 'Drink water until two hours before', True)

    Args:
        chunks: the chunks of your index, or a sample of them: `Chunk`, documents of LangChain, or nodes of LlamaIndex.
        llm: a LangChain or LlamaIndex model, or a function from a prompt to a text. It is called from several threads.
        n: the maximum number of questions.

    Raises:
        ConfigError: `n` is no integer from 1.
        InputError: `chunks` has something else, `llm` is no model, or it failed on all chunks.
    '''
    check_int("n", n, 1)
    ask = text_model("llm", llm)
    usable = [chunk for chunk in map(read_chunk, chunks) if len(chunk.text.strip()) >= MIN_CHUNK_CHARS]
    usable.sort(
        key=lambda chunk: sha256(f"{chunk.document_id}\0{chunk.id}\0{chunk.text}".encode("utf-8", "replace")).digest()
    )
    found: dict[str, LabeledQuestion] = {}
    failures: list[str] = []
    for chunk, question in iter_completed(lambda chunk: _ask_about(chunk, ask), usable[: 2 * n], CONCURRENT_CALLS):
        if isinstance(question, Exception):
            failures.append(f"{chunk.id}: {describe_error(question)}")
        elif question:
            found.setdefault(question.id, question)
        if len(found) == n:
            break
    if failures and not found:
        raise InputError(f"the model wrote no question; the first failure: {failures[0]}")
    return tuple(found.values())


def _ask_about(chunk: Chunk, ask: Callable[[str], str]) -> LabeledQuestion | None:
    """Return the question that the model writes about `chunk`; None if its quotation isn't in the chunk."""
    reply = _JSON.search(ask(WRITING_PROMPT.format(text=chunk.text)))
    try:
        written = json.loads(reply[0]) if reply else {}
    except ValueError:
        return None
    question, quotation = written.get("question"), written.get("quotation")
    if not isinstance(question, str) or not question.strip() or not isinstance(quotation, str):
        return None
    verbatim = verbatim_quotation(quotation, chunk.text)
    if verbatim is None:
        return None
    return LabeledQuestion(question.strip(), (Evidence(chunk.document_id or None, quotation=verbatim),), made=True)


def verbatim_quotation(quotation: str, text: str) -> str | None:
    r"""Return the slice of `text` that is `quotation` but for white space; None if there is none.

    >>> verbatim_quotation("Drink water.", "First: Drink\n water. Then rest.")
    'Drink\n water.'
    """
    words = quotation.split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found and found[0]
