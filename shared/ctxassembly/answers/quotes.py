"""Which quotes of an answer stand in its sources: text search, no judgement of meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ctxassembly.answers.answer import AnswerReader, Mark
from ctxassembly.answers.quotations import QUOTED, SINGLE, says, sought
from ctxassembly.data.assembled import Block, Passage
from ctxassembly.text.words import wording


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted string of an answer."""

    text: str
    """As the answer has it, without the quotation marks."""
    label: str | None
    """The citation that it was looked for in, or was found in; None if it has none and stands nowhere."""
    found: bool


def check_quotes(answer: str, blocks: Sequence[Block], passages: Sequence[Passage]) -> tuple[Quote, ...]:
    """Each quote of `answer` outside code, in order, and whether it stands in its source.

    Its source is what the citation in it or the next one in the same line names; without one, any. A reference that the
    source has there itself is part of the quote. Words must agree exactly and stand in one passage; white space,
    capitals, the kind of quotation marks inside and punctuation at the ends may differ.
    """
    cited_blocks = [(block.citation, block) for block in blocks if block.citation is not None]
    sources = {citation.label: _texts(block, passages) for citation, block in cited_blocks}
    citations = [citation for citation, _ in cited_blocks]
    reader = AnswerReader(citations, mode="keep", texts=lambda: chain.from_iterable(sources.values()))
    reader.feed(answer)
    reader.close()
    marks, code = _Following(reader.resolved.marks), _Following([Mark(span, ()) for span in reader.code])
    found: list[Quote] = []
    for quoted in QUOTED.finditer(answer):
        begin, end = quoted.span()
        if any(span[0] <= begin for span, _ in code.after(begin)):
            continue
        mark = next((each for each in marks.after(begin) if answer.find("\n", end, each.span[0]) < 0), None)
        group = quoted.lastindex or 0
        text = _without(mark, answer, *quoted.span(group))
        words = sought(text)
        if not words or (group >= SINGLE and " " not in words):
            continue
        cited = mark.labels if mark else ()
        label = next((each for each in cited or sources if any(says(text, words) for text in sources[each])), None)
        found.append(Quote(text, label or (cited[0] if cited else None), label is not None))
    return tuple(found)


class _Following:
    """Goes along marks as the quotes do, so that all together are looked at once."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks = marks
        self._next = 0

    def after(self, at: int) -> Sequence[Mark]:
        """The first mark that ends after `at`, if there is one."""
        while self._next < len(self._marks) and self._marks[self._next].span[1] <= at:
            self._next += 1
        return self._marks[self._next : self._next + 1]


def _without(mark: Mark | None, answer: str, begin: int, end: int) -> str:
    """What is quoted, without a marker that a model put inside the quotation marks."""
    if mark is None or mark.span[1] > end:
        return answer[begin:end]
    return answer[begin : mark.span[0]].rstrip() + answer[mark.span[1] : end]


def _texts(block: Block, passages: Sequence[Passage]) -> list[str]:
    """What the documents say, as they say it, in each passage of the block."""
    begin, end = block.span
    return [wording(each.text) for each in passages if begin <= each.span[0] and each.span[1] <= end]
