"""The measures of `ctxassembly.evaluate`, and some of the benchmark's own, for the questions of a set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.evaluate import meter
from ctxassembly.evaluate.spans import size, union, without_blanks
from quality.data import Question, QuestionSet, Span


class Answer(NamedTuple):
    """A context as a strategy makes it."""

    text: str
    """As the reader gets it."""
    runs: tuple[Span, ...]
    """Which source characters stand in it verbatim, in reading order."""


class Score(NamedTuple):
    """The measures of one context."""

    recall: float
    """Share of the evidence's characters that are in the context."""
    full: float
    """1 if all of them are, else 0."""
    precision: float
    """The evidence's characters in parts of all characters of the context, headers included."""
    duplicates: float
    """Share of the source characters in the context that stood in it before."""
    run_length: float | None
    """Mean characters of what stands together as in its source; None if nothing does."""
    tokens: int
    violation: float
    """1 if the context has more tokens than its budget, else 0."""
    clean: float | None = None
    """Share of the stretches of source text with clean borders (`ctxassembly.evaluate.borders`); None if there are
    none."""
    depth: int | None = None
    """The tokens of the context up to the end of the last evidence; None if some is missing."""


class StrategyError(RuntimeError):
    """A strategy says that its text has what it hasn't."""


class Meter:
    """Measures contexts for the questions of a set."""

    def __init__(self, questions: QuestionSet) -> None:
        self._texts = questions.texts
        self._meter = meter.Meter(self._texts)
        self._dense = self._meter.dense

    def score(self, question: Question, answer: Answer, tokens: int, budget: int) -> Score:
        """The measures of `answer`, which has `tokens` tokens.

        Raises:
            StrategyError: one of its runs doesn't stand in its text.
        """
        for run in answer.runs:
            if self._texts[run.document_id][run.start : run.end].strip() not in answer.text:
                raise StrategyError(f"question {question.id!r}: {tuple(run)} doesn't stand in the context")
        runs = [self._dense.span(run) for run in answer.runs]
        evidence = size(union(self._dense.span(span) for span in question.evidence))
        found = size(self.found(question, runs))
        written = len(without_blanks(answer.text))
        stretches = _stretches(answer.runs, runs)
        return Score(
            recall=found / evidence,
            full=float(found == evidence),
            precision=found / written if written else 0.0,
            duplicates=self._meter.duplicates(answer.runs),
            run_length=sum(stretches) / len(stretches) if stretches else None,
            tokens=tokens,
            violation=float(tokens > budget),
            clean=self._meter.clean_share(answer.runs),
        )

    def evidence_end(self, question: Question, answer: Answer) -> int | None:
        """Return the number of characters of `answer` up to the end of the last evidence; None if some is missing."""
        return self._meter.evidence_end(question.evidence, answer.runs, answer.text)

    def found(self, question: Question, runs: Sequence[Span]) -> list[Span]:
        """The evidence that is in a context with the dense `runs`; dense, ascending and apart."""
        return self._meter.found(question.evidence, runs)

    def sentences(self, question: Question) -> list[Span]:
        """The sentences of the evidence that count from another place, too; dense."""
        return self._meter.sentences(question.evidence)

    def place(self, text: str, within: Sequence[Span]) -> Span | None:
        """Where `text`, without its white space, stands in one of the dense spans; None if nowhere."""
        return self._meter.place(text, within)


def _stretches(runs: Sequence[Span], dense: Sequence[Span]) -> list[int]:
    """The characters of each run, white space included, with those that go on where the one before ends as one."""
    lengths: list[int] = []
    ends: tuple[str, int] | None = None
    for run, thin in zip(runs, dense, strict=True):
        if ends == (thin.document_id, thin.start):
            lengths[-1] += run.end - run.start
        else:
            lengths.append(run.end - run.start)
        ends = (thin.document_id, thin.end)
    return lengths
