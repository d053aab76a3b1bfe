"""`evaluate` and `aevaluate`: whole configurations over a set of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from ctxassembly.concurrency import aiter_completed, iter_completed
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate.corpus import Corpus, is_in_corpus
from ctxassembly.evaluate.language_models import Judge, Price, as_judge, price_of
from ctxassembly.evaluate.measures import Measuring
from ctxassembly.evaluate.meter import without_blanks
from ctxassembly.evaluate.questions import LabeledQuestion, read_questions
from ctxassembly.evaluate.report import EvaluationReport, EvaluationRow
from ctxassembly.evaluate.systems import System, SystemResult, as_system
from ctxassembly.runtime.driver import Port
from ctxassembly.runtime.progress import RowFile, RowFormat, progress_bar
from ctxassembly.safe_repr import describe_error, pluralize, safe_repr
from ctxassembly.serialization import from_plain

FORMAT = 2
"""Part of the digest of a row: rows of another format are measured again."""
MAX_QUESTION_CHARS = 100_000
"""Characters of a question with its evidence that a digest depends on."""
Task = tuple[LabeledQuestion, System]
Rows = dict[tuple[str, str], EvaluationRow]
"""By the id of the question and the name of the system."""
_FORMAT = RowFormat(
    [field.name for field in fields(EvaluationRow)], "an evaluation", "resume", partial(from_plain, EvaluationRow)
)


@dataclass(frozen=True)
class Evaluation:
    """The checked arguments of `evaluate`."""

    questions: tuple[LabeledQuestion, ...]
    systems: tuple[System, ...]
    baseline: str
    measuring: Measuring
    judge: Judge | None
    price: Price | None
    digest: str
    """Of all that rows depend on but their question and system."""

    def digest_of(self, question: LabeledQuestion) -> str:
        """Return the digest of what a row of `question` depends on, but its system."""
        fields = safe_repr(question, MAX_QUESTION_CHARS)
        return sha256(f"{self.digest}{fields}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def row(self, task: Task) -> EvaluationRow:
        """Ask a system a question, and return the measures of its result."""
        question, system = task
        try:
            result: SystemResult | Exception = system.ask(question)
        except Exception as error:  # noqa: BLE001 - shown in the report, and the other systems go on
            result = error
        return self._measured(task, result)

    async def arow(self, task: Task) -> EvaluationRow:
        """Async version of `row`. The measures and the judge run in a thread."""
        question, system = task
        try:
            result: SystemResult | Exception = await system.aask(question)
        except Exception as error:  # noqa: BLE001 - see `row`
            result = error
        row: EvaluationRow = await Port(self._measured).acall(task, result)
        return row

    def _measured(self, task: Task, result: SystemResult | Exception) -> EvaluationRow:
        question, system = task
        row = EvaluationRow(question.id, system.name, self.digest_of(question))
        if isinstance(result, Exception):
            return replace(row, error=describe_error(result))
        values = self.measuring.measure(question, result)
        error = None
        if self.judge:
            try:
                values["answer"] = self.judge(question, result)
            except Exception as failure:  # noqa: BLE001 - the other measures of the row hold
                error = f"judge: {describe_error(failure)}"
        if self.price:
            written = self.measuring.count(result.answer) if result.answer else 0
            values["cost"] = self.price(values["tokens"] or 0, written)
        known = {name: value for name, value in values.items() if value is not None}
        characters = len(without_blanks(result.text))
        return replace(row, measures=known, characters=characters, answer=result.answer, error=error)

    def missing(self, rows: Rows) -> list[Task]:
        """Return the questions and systems that have no row yet."""
        tasks = product(self.questions, self.systems)
        return [(question, system) for question, system in tasks if (question.id, system.name) not in rows]

    def report(self, rows: Rows) -> EvaluationReport:
        """Return the report of `rows`, in the order of questions and systems."""
        ordered = tuple(rows[question.id, system.name] for question, system in product(self.questions, self.systems))
        names = tuple(system.name for system in self.systems)
        return EvaluationReport(ordered, names, self.baseline, self.questions, self._notes())

    def _notes(self) -> tuple[str, ...]:
        made = sum(question.made for question in self.questions)
        unmarked = sum(not question.is_marked and question.is_answerable for question in self.questions)
        corpus = self.measuring.corpus
        pieces = [(question.id, piece) for question in self.questions for piece in question.evidence]
        missing = list(dict.fromkeys(id_ for id_, piece in pieces if not is_in_corpus(piece, corpus)))
        lacks_texts = not corpus.texts and any(piece.kind == "span" for _, piece in pieces)
        notes = {
            f"{pluralize(made, 'question')} written by a model": made,
            f"{pluralize(unmarked, 'question')} without marked evidence": unmarked,
            f"{pluralize(len(missing), 'question')} with evidence that isn't in the corpus: "
            f"{', '.join(missing[:5])}": missing,
            f"{pluralize(len(corpus.without_text), 'document')} of the corpus can't be put together, since offsets are "
            "missing or start over on each page; pass corpus={document id: text} to check borders": corpus.without_text,
            "without corpus=, spans are only found in results that give the offsets of their text": lacks_texts,
        }
        return tuple(note for note, is_needed in notes.items() if is_needed)


def evaluate(
    questions: Any,
    systems: Mapping[str, Any],
    *,
    corpus: Any = None,
    baseline: str | None = None,
    judge: Any = None,
    model: str | None = None,
    budget: int | None = None,
    encoding: str | Callable[[str], int] = "cl100k_base",
    resume: str | Path | None = None,
    workers: int = 4,
    progress: bool = True,
) -> EvaluationReport:
    """Ask each of `systems` all `questions`, and report how much of the marked evidence their contexts have.

    Experimental. Nothing is sent anywhere but to the systems and the judge.

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
            together by their offsets. With it texts without offsets are looked up in the documents, and the borders of
            contexts are checked.
        baseline: the name of the system that the others are compared with; None means the first.
        judge: what grades answers against the expected answers: a language model, a metric of RAGAS
            (`ragas.metrics.collections`), or a function (question, expected answer, answer) -> grade.
        model: the name of the model that reads the contexts, for their price: `pip install 'ctxassembly[models]'`.
        budget: the number of tokens that a context may have; None doesn't check.
        encoding: the tokenizer that counts all contexts: a name of tiktoken, or a function.
        resume: a JSONL file. Each row is appended as soon as it is measured, and rows in the file aren't measured
            again. A row belongs to its question, the arguments and the name of its system, not to the code of the
            system: give a changed system another name. Rows with an error are tried again.
        workers: the maximum number of questions asked at once: systems are called from so many threads. With 1 the
            times are undisturbed.
        progress: True shows a bar of tqdm, if that is installed.

    Raises:
        ConfigError: an argument is out of its range.
        InputError: an argument has the wrong type, or a question can't be read.
    """
    check_int("workers", workers, 1)
    evaluation = _checked(questions, systems, corpus, baseline, judge, model, budget, encoding, needs_sync=True)
    with _opened(evaluation, resume, progress=progress) as (rows, add):
        for _, row in iter_completed(evaluation.row, evaluation.missing(rows), workers):
            add(row)
    return evaluation.report(rows)


async def aevaluate(
    questions: Any,
    systems: Mapping[str, Any],
    *,
    corpus: Any = None,
    baseline: str | None = None,
    judge: Any = None,
    model: str | None = None,
    budget: int | None = None,
    encoding: str | Callable[[str], int] = "cl100k_base",
    resume: str | Path | None = None,
    workers: int = 4,
    progress: bool = True,
) -> EvaluationReport:
    """Async version of `evaluate`. Systems that can only be called are called in threads, and so is the judge.

    >>> import asyncio
    >>> async def system(question):
    ...     return "Drink water until two hours before."
    >>> questions = [{"question": "Until when may I drink?", "quotation": "until two hours before"}]
    >>> asyncio.run(aevaluate(questions, {"ours": system}, progress=False)).estimate("ours", "recall").mean
    1.0
    """
    check_int("workers", workers, 1)
    evaluation = _checked(questions, systems, corpus, baseline, judge, model, budget, encoding, needs_sync=False)
    with _opened(evaluation, resume, progress=progress) as (rows, add):
        async with aclosing(aiter_completed(evaluation.arow, evaluation.missing(rows), workers)) as completed:
            async for _, row in completed:
                add(row)
    return evaluation.report(rows)


def _checked(
    questions: Any,
    systems: Any,
    corpus: Any,
    baseline: Any,
    judge: Any,
    model: Any,
    budget: Any,
    encoding: Any,
    *,
    needs_sync: bool,
) -> Evaluation:
    """Return the arguments, checked."""
    asked = read_questions(questions)
    if not isinstance(systems, Mapping) or not systems or not all(isinstance(name, str) for name in systems):
        raise InputError(f"systems must be a dict of at least one system by name, got {safe_repr(systems)}")
    if baseline is not None and baseline not in systems:
        raise ConfigError("baseline", f"the name of a system, one of {', '.join(map(repr, systems))}", baseline)
    if budget is not None:
        check_int("budget", budget, 1)
    known = Corpus.of(corpus)
    for question in asked:
        for piece in question.evidence:
            text = known.texts.get(piece.document_id or "")
            if text is not None and piece.kind == "span" and not text[piece.start : piece.end].strip():
                place = f"question {question.id!r}: document {piece.document_id!r}"
                raise InputError(f"{place} has no text at its evidence")
    parts = sha256()
    settings = (FORMAT, encoding if isinstance(encoding, str) else "function", budget, model, judge is not None)
    for part in (*settings, *(part for item in known.texts.items() for part in item)):
        parts.update(f"{part}\0".encode("utf-8", "surrogatepass"))
    return Evaluation(
        asked,
        tuple(as_system(name, system, needs_sync=needs_sync) for name, system in systems.items()),
        baseline or next(iter(systems)),
        Measuring(known, encoding, budget),
        None if judge is None else as_judge(judge),
        None if model is None else price_of(model),
        parts.hexdigest(),
    )


@contextmanager
def _opened(
    evaluation: Evaluation, resume: str | Path | None, *, progress: bool
) -> Iterator[tuple[Rows, Callable[[EvaluationRow | Exception], None]]]:
    """Yield the rows in the file `resume`, and a function that adds one; both file and bar are closed at the end."""
    with ExitStack() as stack:
        file = None if resume is None else stack.enter_context(RowFile.opened(Path(resume), _FORMAT))
        rows = {} if file is None else _rows_of(evaluation, file)
        total = len(evaluation.questions) * len(evaluation.systems)
        advance = stack.enter_context(progress_bar(total, "question", "evaluate", is_shown=progress))
        advance(len(rows))

        def add(row: EvaluationRow | Exception) -> None:
            if isinstance(row, Exception):
                raise row
            rows[row.question_id, row.system] = row
            if file:
                file.add(asdict(row))
            advance(1)

        yield rows, add


def _rows_of(evaluation: Evaluation, file: RowFile) -> Rows:
    """Return the rows of a file that belong to this evaluation."""
    digests = {question.id: evaluation.digest_of(question) for question in evaluation.questions}
    names = {system.name for system in evaluation.systems}
    rows = (from_plain(EvaluationRow, row) for _, row in file.rows)
    return {
        (row.question_id, row.system): row
        for row in rows
        if row.system in names and row.digest == digests.get(row.question_id)
    }
