"""The quotes of an answer, looked up in its sources by text search: no judgment of meaning."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ctxassembly.citations.reader import (
    FIRST_SINGLE_GROUP,
    QUOTE_PATTERN,
    AnswerReader,
    Mark,
    contains_quote,
    normalize_quote,
)
from ctxassembly.data.citations import Block, Passage
from ctxassembly.text.words import normalize_wording


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote in an answer, and the source it was found in.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water until two hours before."))])
    >>> for quote in context.check_quotes('It says "drink water" [1], not "drink wine" [1].'):
    ...     print(quote.text, quote.label, quote.found)
    drink water 1 True
    drink wine 1 False
    """

    text: str
    """The quoted words, without the quotation marks."""
    label: str | None
    """The label of the source that has it; of its first citation if none has; None if it has no citation either."""
    found: bool
    """True if the source says it, word for word."""


def check_quotes(answer: str, blocks: Sequence[Block], passages: Sequence[Passage]) -> tuple[Quote, ...]:
    """Return the quotes of `answer` outside code, in order, each looked up in its source.

    Its source is named by a citation inside the quote, or by the next one in the same line; without any, every source
    is searched. A reference of the source's own inside the quote is part of the quote. The words must agree exactly and
    be in one passage. White space, capitals, the kind of quotation marks inside and punctuation at the ends may
    differ.

    See `Context.check_quotes`.
    """
    if not QUOTE_PATTERN.search(answer):
        return ()  # reading the sources takes longer than all else
    cited_blocks = [(block.citation, block) for block in blocks if block.citation is not None]
    sources = {citation.label: _passage_wordings(block, passages) for citation, block in cited_blocks}
    citations = [citation for citation, _ in cited_blocks]
    reader = AnswerReader(citations, mode="keep", texts=lambda: chain.from_iterable(sources.values()))
    reader.feed(answer)
    reader.close()
    marks, code = reader.marks, reader.code
    mark_ends, code_ends = [mark.span[1] for mark in marks], [end for _, end in code]
    found: list[Quote] = []
    for quoted in QUOTE_PATTERN.finditer(answer):
        begin, end = quoted.span()
        inside = bisect_right(code_ends, begin)
        if inside < len(code) and code[inside][0] <= begin:
            continue
        at = bisect_right(mark_ends, begin)
        mark = marks[at] if at < len(marks) and answer.find("\n", end, marks[at].span[0]) < 0 else None
        group = quoted.lastindex or 0
        text = _strip_marker(mark, answer, *quoted.span(group))
        words = normalize_quote(text)
        if not words or (group >= FIRST_SINGLE_GROUP and " " not in words):
            continue
        labels = mark.labels if mark else ()
        label = next(
            (name for name in labels or sources if any(contains_quote(text, words) for text in sources[name])), None
        )
        found.append(Quote(text, label or (labels[0] if labels else None), label is not None))
    return tuple(found)


def _strip_marker(mark: Mark | None, answer: str, begin: int, end: int) -> str:
    """Return the text from `begin` to `end` of the answer, without a marker that the model put inside."""
    if mark is None or mark.span[1] > end:
        return answer[begin:end]
    return answer[begin : mark.span[0]].rstrip() + answer[mark.span[1] : end]


def _passage_wordings(block: Block, passages: Sequence[Passage]) -> list[str]:
    """Return the wording of each passage of the block."""
    begin, end = block.span
    return [
        normalize_wording(passage.text) for passage in passages if begin <= passage.span[0] and passage.span[1] <= end
    ]
