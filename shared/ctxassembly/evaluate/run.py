"""`evaluate`: whole configurations over a set of questions, and the measures of each result."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from ctxassembly.citations.reader import answer_begin
from ctxassembly.concurrency import iter_completed
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate.corpus import Corpus, Located, is_in_corpus, locate, size, without_blanks
from ctxassembly.evaluate.questions import LabeledQuestion, read_questions
from ctxassembly.evaluate.report import DEPTHS, EvaluationReport, EvaluationRow
from ctxassembly.evaluate.systems import SystemResult, as_system, read_result
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.safe_repr import describe_error, join_first, pluralize, safe_repr
from ctxassembly.text.words import normalize_wording, words
from ctxassembly.tokens.counter import counter_for
from ctxassembly.wording.languages import LANGUAGES, stop_words

ABSTENTIONS = tuple(
    normalize_wording(
        "i don't know|i do not know|empty response|ik weet het niet|ich weiß es nicht|das weiß ich nicht|je ne sais pas"
        "|no lo sé"
    ).split("|")
)
"""The beginnings of answers that prompts of others ask for; LlamaIndex answers "Empty Response" without nodes."""


def evaluate(
    questions: Any,
    systems: Mapping[str, Any],
    *,
    corpus: Any = None,
    baseline: str | None = None,
    encoding: str | Callable[[str], int] = "cl100k_base",
    workers: int = 4,
    progress: bool = True,
) -> EvaluationReport:
    """Ask each of `systems` all `questions`, and report how much of the marked evidence their contexts have.

    Experimental. Nothing is sent anywhere but to the systems.

    >>> questions = [{"question": "Until when may I drink?", "quotation": "Drink water until two hours before."}]
    >>> leaflet = "Wear loose clothes. Drink water until two hours before. Eat nothing."
    >>> systems = {"first sentence": lambda question: leaflet[:19], "all": lambda question: leaflet}
    >>> report = evaluate(questions, systems, progress=False)
    >>> report.difference("all", "recall").mean
    1.0

    Args:
        questions: whatever `read_questions` reads.
        systems: by name, what is asked: a function from the question to a context, a retriever, chain or query engine
            of LangChain or LlamaIndex, an `AnswerChain`, or `assembled(retriever, config)`. A result is a text, a
            `Context`, a list of documents, nodes, hits or chunks, or a dict with context and answer.
        corpus: the documents, as a dict of texts by id, or as a list of all chunks, documents or nodes, which are put
            together by their offsets. With it texts without offsets are looked up in the documents.
        baseline: the name of the system that the others are compared with; None means the first.
        encoding: the tokenizer that counts all contexts: a name of tiktoken, or a function.
        workers: the maximum number of questions asked at once: systems are called from so many threads.
        progress: True shows a bar of tqdm, if that is installed.

    Raises:
        ConfigError: an argument is out of its range.
        InputError: an argument has the wrong type, or a question can't be read.
    """
    check_int("workers", workers, 1)
    asked = read_questions(questions)
    if not isinstance(systems, Mapping) or not systems or not all(isinstance(name, str) for name in systems):
        raise InputError(f"systems must be a dict of at least one system by name, got {safe_repr(systems)}")
    if baseline is not None and baseline not in systems:
        raise ConfigError("baseline", f"the name of a system, one of {', '.join(map(repr, systems))}", baseline)
    documents, count = Corpus.of(corpus), counter_for(encoding)
    functions = {name: as_system(name, system) for name, system in systems.items()}
    tasks = [*product(asked, systems)]

    def row_of(task: tuple[LabeledQuestion, str]) -> EvaluationRow:
        question, name = task
        try:
            result = read_result(functions[name](question))
            values = measure(question, result, documents, count)
        except Exception as error:  # noqa: BLE001 - shown in the report, and the other systems go on
            return EvaluationRow(question.id, name, error=describe_error(error))
        known = {name: value for name, value in values.items() if value is not None}
        return EvaluationRow(question.id, name, known, len(without_blanks(result.text)), result.answer)

    rows: dict[tuple[str, str], EvaluationRow] = {}
    with progress_bar(len(tasks), "question", "evaluate", is_shown=progress) as advance:
        for (question, name), row in iter_completed(row_of, tasks, workers):
            if isinstance(row, Exception):
                raise row
            rows[question.id, name] = row
            advance(1)
    ordered = tuple(rows[question.id, name] for question, name in tasks)
    notes = tuple(_notes(asked, documents))
    return EvaluationReport(ordered, tuple(systems), baseline or tasks[0][1], asked, notes)


def _notes(questions: tuple[LabeledQuestion, ...], corpus: Corpus) -> Iterator[str]:
    """Yield what limits the measures."""
    if unmarked := [question.id for question in questions if not question.is_marked and question.is_answerable]:
        yield f"{pluralize(len(unmarked), 'question')} without marked evidence: {join_first(unmarked, 5)}"
    pieces = [(question.id, piece) for question in questions for piece in question.evidence]
    if missing := list(dict.fromkeys(id_ for id_, piece in pieces if not is_in_corpus(piece, corpus))):
        yield f"{pluralize(len(missing), 'question')} with evidence that isn't in the corpus: {join_first(missing, 5)}"
    if not corpus.texts and any(piece.start is not None for _, piece in pieces):
        yield "without corpus=, spans are only found in results that give the offsets of their text"


def measure(
    question: LabeledQuestion, result: SystemResult, corpus: Corpus, count: Callable[[str], int]
) -> dict[str, float | None]:
    """Return the measures of `result` by name; None where there is nothing to measure. `count` counts tokens."""
    tokens = count(result.text)
    located = locate(question.evidence, result.pieces, corpus)
    recall, end = _recall(question, result, located)
    values: dict[str, float | None] = {"recall": recall, "tokens": float(tokens)}
    if recall is not None:
        depth = None if end is None else count(result.text[:end])
        values["complete"] = float(end is not None)
        values["recall_per_1000_tokens"] = 1000 * recall / tokens if tokens else 0.0
        values |= {f"within_{most}": float(depth is not None and depth <= most) for most in DEPTHS}
    values["citations"] = _right_citations(result, located)
    values["abstention"] = _right_abstention(question, result)
    return values


def _recall(question: LabeledQuestion, result: SystemResult, located: Located) -> tuple[float | None, int | None]:
    """Return the share of the evidence in the context, and the characters up to its end; None for no evidence.

    The end is None if some evidence is missing.
    """
    if located.evidence:
        return located.recall, located.meter.evidence_end(located.evidence, located.runs, result.text)
    if question.answer and question.is_answerable:
        return _answer_words(question.answer, result.text)
    return None, None


def _answer_words(answer: str, text: str) -> tuple[float, int | None]:
    """Return the share of the words of `answer` that `text` has, without stop words, and the end of the last."""
    wanted = frozenset(words(answer))
    wanted = wanted - stop_words(wanted) or wanted
    if not wanted:
        return 0.0, None

    def share(chars: int) -> float:
        return len(wanted.intersection(words(text[:chars]))) / len(wanted)

    found = share(len(text))
    return found, bisect_left(range(len(text) + 1), True, key=lambda chars: share(chars) == 1) if found == 1 else None


def _right_citations(result: SystemResult, located: Located) -> float | None:
    """Return the share of the labels in the answer whose source has evidence; None if there are none to check."""
    labels = result.cited_labels
    if not labels or not located.evidence:
        return None
    right = 0
    for label in labels:
        cited = (spans for piece, spans in zip(result.pieces, located.pieces, strict=True) if piece.label == label)
        own = [located.meter.dense.span(span) for spans in cited for span in spans]
        right += size(located.meter.found(located.evidence, own)) > 0
    return right / len(labels)


def _right_abstention(question: LabeledQuestion, result: SystemResult) -> float | None:
    """Return 1 if the system abstains where there is no answer, and answers where there is one; else 0.

    None if a system that only gives contexts is asked what has an answer. A context without text abstains. An answer
    does if it is empty, has the sentence that our prompts ask for, or begins with one of `ABSTENTIONS`.
    """
    if result.answer is None:
        return None if question.is_answerable else float(not result.text.strip())
    answer = normalize_wording(result.answer[answer_begin(result.answer) :])
    asked_for = (normalize_wording(one.not_enough).rstrip(".") for one in LANGUAGES.values())
    said = not answer or answer.startswith(ABSTENTIONS) or any(sentence in answer for sentence in asked_for)
    return float((said if result.abstained is None else result.abstained) != question.is_answerable)
