"""How well a context supports an answer: its quotes word for word, and its sentences by their words.

By words, the score of a sentence is the share of its content words, in any form, that one passage has; numbers and
other identifiers count three times. That recognizes invented facts, not a meaning turned around. Quotes are looked up
by text search.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from ctxassembly.citations.reader import (
    FIRST_SINGLE_GROUP,
    QUOTE_PATTERN,
    AnswerReader,
    Mark,
    answer_begin,
    check_answer,
    contains_quote,
    normalize_quote,
)
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Block, Citation, Passage
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.text.words import find_identifiers, normalize_wording, word_forms, words
from ctxassembly.wording.languages import stop_words

ENDING_LENGTH = 3
"""Last letters in which the forms of a long word differ, such as "y" and "ies"."""
IDENTIFIER_WEIGHT = 3
"""The weight of a number: an answer that has another one is wrong, however many of its words are found."""


@dataclass(frozen=True, slots=True)
class Support:
    """A sentence of an answer, and the passage that supports it best.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water until two hours before the test."))])
    >>> for support in context.check_support("Water is fine until two hours before [1]. Alcohol never is."):
    ...     print(round(support.score, 2), support.label, support.text)
    0.75 1 Water is fine until two hours before [1].
    0.0 None Alcohol never is.
    """

    text: str
    """The sentence as it is in the answer, with its markers."""
    span: Span
    """Its place in the answer."""
    score: float
    """0 to 1: the share of its content words that the passage has."""
    label: str | None
    """The label of the passage; None if none supports it, and for supplementary text."""


def check_support(answer: str, blocks: Sequence[Block], passages: Sequence[Passage]) -> tuple[Support, ...]:
    """Return the support of each sentence of `answer` that has words, in order. See `Context.check_support`."""
    check_answer(answer)
    sources = [(label, f" {' '.join(words(text))} ") for label, text in _sources(blocks, passages)]
    found: list[Support] = []
    for span, sentence in _unmarked_sentences(answer, [block.citation for block in blocks if block.citation]):
        forms = word_forms(sentence, ENDING_LENGTH)
        identifiers, ignored = find_identifiers(sentence), stop_words(forms)
        weights = {
            form: IDENTIFIER_WEIGHT if word in identifiers else 1 for word, form in forms.items() if word not in ignored
        }
        if not weights:
            continue
        shares = [sum(weights[form] for form in weights if form in text) / sum(weights.values()) for _, text in sources]
        score = max(shares, default=0.0)
        label = sources[shares.index(score)][0] if score else None
        found.append(Support(answer[slice(*span)].strip(), span, score, label))
    return tuple(found)


def _sources(blocks: Sequence[Block], passages: Sequence[Passage]) -> Iterator[tuple[str | None, str]]:
    """Yield the label and the text of each passage, and text that is in no passage, such as a supplement, as it is."""
    at = 0
    for block in blocks:
        own = []
        while at < len(passages) and passages[at].span[1] <= block.span[1]:
            own.append(passages[at].text)
            at += 1
        label = block.citation.label if block.citation else None
        yield from ((label, text) for text in own or [block.text])


def _unmarked_sentences(answer: str, citations: Sequence[Citation]) -> Iterator[tuple[Span, str]]:
    """Yield the place of each sentence, and its text without markers."""
    marks = [mark.span for mark in AnswerReader(citations, mode="keep").read(answer).marks]
    at, first = 0, answer_begin(answer)
    for begin, end in pairwise([0, *sentence_ends(answer), len(answer)]):
        parts, start = [], max(begin, first)
        while at < len(marks) and marks[at][0] < end:
            parts.append(answer[start : marks[at][0]])
            start, at = marks[at][1], at + 1
        yield (min(max(begin, first), end), end), "".join((*parts, answer[start:end])).strip()


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
    check_answer(answer)
    if not QUOTE_PATTERN.search(answer):
        return ()  # reading the sources takes longer than all else
    cited_blocks = [(block.citation, block) for block in blocks if block.citation is not None]
    sources = {citation.label: _passage_wordings(block, passages) for citation, block in cited_blocks}
    citations = [citation for citation, _ in cited_blocks]
    reader = AnswerReader(citations, mode="keep", texts=lambda: chain.from_iterable(sources.values()))
    reader.read(answer)
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
    own = (passage for passage in passages if begin <= passage.span[0] and passage.span[1] <= end)
    return [normalize_wording(passage.text) for passage in own]
