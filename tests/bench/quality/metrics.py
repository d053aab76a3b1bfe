"""What is measured of a context: how much of the evidence is in it, and what stands around that.

Evidence counts by where it comes from (document, start, end), or because the same words stand in the context from
another place: corpora repeat themselves, and a reader doesn't care which copy it reads. For the latter the evidence is
taken by sentences. Short ones count by their place alone, since "Yes." stands everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.text.sentences import sentence_ends
from quality.clean import Borders
from quality.data import Question, QuestionSet, Span
from quality.dense import Dense, overlap, size, union, without_blanks

LEAST_ELSEWHERE = 20
"""Characters from which a sentence of the evidence counts from another place."""
BOUNDARY = "\0"
"""Between two runs: nothing is found across it."""


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
    """Share of the stretches of source text that begin and end where a reader would (`clean.py`); None if there are
    none."""
    depth: int | None = None
    """The tokens of the context up to the end of the last evidence; None if some is missing."""


class StrategyError(RuntimeError):
    """A strategy says that its text has what it hasn't."""


class Meter:
    """Measures contexts for the questions of a set."""

    def __init__(self, questions: QuestionSet) -> None:
        self._documents = questions.documents
        self._dense = Dense(questions.documents)
        self._borders = Borders(questions.documents)

    def score(self, question: Question, answer: Answer, tokens: int, budget: int) -> Score:
        """The measures of `answer`, which has `tokens` tokens.

        Raises:
            StrategyError: one of its runs doesn't stand in its text.
        """
        for run in answer.runs:
            if self._documents[run.document_id].text[run.start : run.end].strip() not in answer.text:
                raise StrategyError(f"question {question.id!r}: {tuple(run)} doesn't stand in the context")
        runs = [self._dense.span(run) for run in answer.runs]
        standing = union(runs)
        evidence = union(self._dense.span(span) for span in question.evidence)
        found = size(self.found(question, runs))
        written, in_runs = len(without_blanks(answer.text)), size(runs)
        stretches = _stretches(answer.runs, runs)
        return Score(
            recall=found / size(evidence),
            full=float(found == size(evidence)),
            precision=found / written if written else 0.0,
            duplicates=1 - size(standing) / in_runs if in_runs else 0.0,
            run_length=sum(stretches) / len(stretches) if stretches else None,
            tokens=tokens,
            violation=float(tokens > budget),
            clean=self._borders.clean_share(answer.runs),
        )

    def evidence_end(self, question: Question, answer: Answer) -> int | None:
        """Return the number of characters of `answer` up to the end of the last evidence; None if some is missing."""
        total = size(self.found(question, [self._dense.span(run) for run in answer.runs]))
        if total < size(union(self._dense.span(span) for span in question.evidence)):
            return None

        def has_all(chars: int) -> bool:
            return size(self.found(question, [self._dense.span(run) for run in _first(answer.runs, chars)])) == total

        length = sum(run.end - run.start for run in answer.runs)
        read = _first(answer.runs, bisect_left(range(length + 1), True, key=has_all))
        end = 0
        for run in read:
            text = self._documents[run.document_id].text[run.start : run.end].strip()
            end = answer.text.index(text, end) + len(text)
        return end

    def found(self, question: Question, runs: Sequence[Span]) -> list[Span]:
        """The evidence that is in a context with the dense `runs`; dense, ascending and apart."""
        evidence = union(self._dense.span(span) for span in question.evidence)
        found = overlap(evidence, union(runs))
        if size(found) == size(evidence):
            return found
        text = BOUNDARY.join(self._dense.text(run) for run in _joined(runs))
        elsewhere = [
            sentence
            for sentence in self.sentences(question)
            if size(overlap([sentence], found)) < sentence.end - sentence.start and self._dense.text(sentence) in text
        ]
        return union((*found, *elsewhere))

    def sentences(self, question: Question) -> list[Span]:
        """The sentences of the evidence that count from another place, too; dense."""
        found = []
        for document_id, start, end in question.evidence:
            text = self._documents[document_id].text[start:end]
            edges = (0, *sentence_ends(text), len(text))
            found += [
                self._dense.span(Span(document_id, start + first, start + last)) for first, last in pairwise(edges)
            ]
        return [sentence for sentence in found if sentence.end - sentence.start >= LEAST_ELSEWHERE]

    def place(self, text: str, within: Sequence[Span]) -> Span | None:
        """Where `text`, without its white space, stands in one of the dense spans; None if nowhere."""
        for span in within:
            if (at := self._dense.text(span).find(text)) >= 0:
                return Span(span.document_id, span.start + at, span.start + at + len(text))
        return None


def _first(runs: Sequence[Span], chars: int) -> list[Span]:
    """Return the first `chars` characters of `runs`."""
    found: list[Span] = []
    for run in runs:
        if chars <= 0:
            break
        found.append(run._replace(end=min(run.end, run.start + chars)))
        chars -= run.end - run.start
    return found


def _joined(runs: Sequence[Span]) -> list[Span]:
    """Dense runs, with those that go on where the one before ends put together."""
    joined: list[Span] = []
    for run in runs:
        if joined and joined[-1].document_id == run.document_id and joined[-1].end == run.start:
            joined[-1] = Span(run.document_id, joined[-1].start, run.end)
        else:
            joined.append(run)
    return joined


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
