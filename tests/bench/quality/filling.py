"""What a strategy is, and how a list of texts is cut to a budget for those that don't count themselves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctxassembly import Chunk, Hit
from ctxassembly.tokens.counter import counter_for, load_encoding
from quality.data import Question, QuestionSet, Span

ENCODING = "cl100k_base"
SEPARATOR = "\n\n"
"""Between the texts of those that only give a list: what LangChain and LlamaIndex write."""


class Answer(NamedTuple):
    """A context as a strategy makes it."""

    text: str
    """As the reader gets it."""
    runs: tuple[Span, ...]
    """Which source characters stand in it verbatim, in reading order."""


EMPTY = Answer("", ())


class Case(NamedTuple):
    """One question, with as many of its hits as are used."""

    question: Question
    hits: tuple[Hit, ...]
    questions: QuestionSet


Fill = Callable[[int], Answer]
"""From a budget in tokens to the context. What every budget needs is done before."""
Strategy = Callable[[Case], Fill]


def count(text: str) -> int:
    """The tokens of `text`, counted as a whole and from scratch."""
    return len(load_encoding(ENCODING).encode(text, disallowed_special=()))


def whole(chunk: Chunk) -> Answer:
    """A chunk as it is."""
    start = chunk.start or 0
    return Answer(chunk.text, (Span(chunk.document_id, start, start + len(chunk.text)),))


def joined(pieces: Sequence[Answer]) -> Answer:
    """The pieces one after the other."""
    return Answer(SEPARATOR.join(each.text for each in pieces), tuple(run for each in pieces for run in each.runs))


def within(ask: Callable[[int], Answer]) -> Fill:
    """Return a fill that asks for less until the text fits.

    `ask` keeps a budget by a count of its own: estimated, or without separators.
    """

    def fill(budget: int) -> Answer:
        room = budget
        while room > 0:
            answer = ask(room)
            over = count(answer.text) - budget
            if over <= 0:
                return answer
            room -= over
        return EMPTY

    return fill


def cut(pieces: Sequence[Answer], arrange: Callable[[list[Answer]], list[Answer]] = list) -> Fill:
    """Whole pieces in their order until the next one wouldn't fit; `arrange` is what is done with those that do."""
    tokens = counter_for(ENCODING)

    def fits(number: int, budget: int) -> bool:
        return tokens(SEPARATOR.join([piece.text for piece in arrange(list(pieces[:number]))])) <= budget

    def fill(budget: int) -> Answer:
        number = bisect_left(range(1, len(pieces) + 1), True, key=lambda count: not fits(count, budget))
        # Arranged, the same pieces may have a token more or less where they touch.
        while number < len(pieces) and fits(number + 1, budget):
            number += 1
        while number and not fits(number, budget):
            number -= 1
        return joined(arrange(list(pieces[:number])))

    return fill
