"""What could be had: the pool's sentences or chunks that hold evidence, picked by someone who knows where it is.

Greedy by new evidence for each token: no upper bound in the strict sense, but what no strategy comes near.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from ctxassembly.evaluate.corpus import Dense, Meter, overlap, size, union
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tokens.counter import counter_for
from quality.data import QuestionSet, Span
from quality.filling import EMPTY, ENCODING, Answer, Case, Fill, Strategy, whole

SENTENCE_WINDOW, CHUNK_WINDOW = 3, 1
"""Chunks on each side of a hit that are in the pool."""
Cutter = Callable[[QuestionSet, list[Span]], list[Span]]


def oracle_sentences(questions: QuestionSet) -> Strategy:
    """Sentences of the hits and three chunks on each side."""
    return _oracle(questions, SENTENCE_WINDOW, _sentences)


def oracle_chunks(questions: QuestionSet) -> Strategy:
    """Chunks of the hits and one on each side."""
    return _oracle(questions, CHUNK_WINDOW, lambda _, chunks: chunks)


def _oracle(questions: QuestionSet, window: int, units_of: Cutter) -> Strategy:
    meter = questions.corpus.meter
    dense = meter.dense
    tokens = counter_for(ENCODING)

    def strategy(case: Case) -> Fill:
        near = (whole(chunk).runs for hit in case.hits for chunk in questions.around(hit.chunk, window))
        pool = [run for (run,) in dict.fromkeys(near)]
        units = units_of(questions, pool)
        thin = {unit: dense.span(unit) for unit in units}
        targets = _targets(case, union(dense.span(each) for each in pool), meter)
        useful = [unit for unit in units if overlap([thin[unit]], targets)]
        costs = {unit: max(1, tokens(_text(questions, unit))) for unit in useful}

        def fill(budget: int) -> Answer:
            chosen: list[Span] = []
            answer, missing, left = EMPTY, targets, list(useful)
            while left:
                gains = {unit: size(overlap([thin[unit]], missing)) for unit in left}
                best = max(left, key=lambda unit: gains[unit] / costs[unit])
                if not gains[best]:
                    break
                left.remove(best)
                tried = _rendered(questions, [*chosen, best])
                if tokens(tried.text) <= budget:
                    chosen.append(best)
                    answer, missing = tried, _without(missing, thin[best])
            return answer

        return fill

    return strategy


def _targets(case: Case, pool: list[Span], meter: Meter) -> list[Span]:
    """The evidence in the pool; where it isn't in it, the same words elsewhere in it."""
    dense = meter.dense
    evidence = [dense.span(span) for span in case.question.evidence]
    targets = overlap(union(evidence), pool)
    for sentence in meter.sentences(case.question.evidence):
        if size(overlap([sentence], targets)) < size([sentence]) and (
            elsewhere := _place(dense, dense.text(sentence), pool)
        ):
            targets.append(elsewhere)
    return union(targets)


def _place(dense: Dense, text: str, within: list[Span]) -> Span | None:
    """Return the place of `text`, without its white space, in one of the dense spans; None if it is in none."""
    for span in within:
        if (at := dense.text(span).find(text)) >= 0:
            return Span(span.document_id, span.start + at, span.start + at + len(text))
    return None


def _sentences(questions: QuestionSet, chunks: list[Span]) -> list[Span]:
    found = []
    for document_id, start, end in union(chunks):
        text = questions.documents[document_id].text[start:end]
        edges = (0, *sentence_ends(text), len(text))
        found += [Span(document_id, start + first, start + last) for first, last in pairwise(edges)]
    return [span for span in found if _text(questions, span).strip()]


def _without(spans: Iterable[Span], taken: Span) -> list[Span]:
    """The characters of `spans` that aren't in `taken`."""
    left = []
    for span in spans:
        if span.document_id != taken.document_id:
            left.append(span)
            continue
        parts = (span.start, min(span.end, taken.start)), (max(span.start, taken.end), span.end)
        left += [Span(span.document_id, start, end) for start, end in parts if start < end]
    return left


def _rendered(questions: QuestionSet, spans: list[Span]) -> Answer:
    runs = union(spans)
    return Answer("\n".join(_text(questions, run).strip() for run in runs), tuple(runs))


def _text(questions: QuestionSet, span: Span) -> str:
    return questions.documents[span.document_id].text[span.start : span.end]
