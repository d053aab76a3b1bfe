"""The sentences and lines of a text by themselves, for readers of answers, corpora and excerpts."""

from __future__ import annotations

from itertools import pairwise

from ctxassembly.data.chunks import Span

PAD = "\n" * 8
"""White space at both ends of a text that is scanned; 8 characters are read at once where a word begins."""


def sentence_spans(text: str) -> list[Span]:
    r"""Return the spans of the sentences and lines of `text`, in order and without gaps.

    White space belongs to the sentence before it, except for the indentation of a line. The number of an item belongs
    to the item. A row of a table is one span, whatever stops its cells have.

    >>> text = "Ask Dr. Li. Drink water.\n  1. Eat nothing."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Ask Dr. Li. ', 'Drink water.\n', '  1. Eat nothing.']
    """
    if not text:
        return []
    from ctxassembly.text.kinds import character_table, codes_of  # imports numpy
    from ctxassembly.text.sentence_starts import sentence_starts

    padded = f"{PAD}{text}{PAD}"
    table, codes = character_table(), codes_of(padded)
    found = sentence_starts(padded, table.kinds.take(codes), table.plain.take(codes)) - len(PAD)
    first = len(text) - len(text.lstrip())  # white space before any text is part of the first sentence
    inside = (start for start in found.tolist() if first < start < len(text))
    return [*pairwise((0, *inside, len(text)))]


def sentence_ends(text: str) -> list[int]:
    """Return the offsets, ascending, at which the sentences and lines of `text` end.

    White space after a sentence isn't part of it, and the end of the text isn't returned.

    >>> sentence_ends("One. Two. Three.")
    [4, 9]
    """
    ends = [first + len(text[first:second].rstrip()) for first, second in sentence_spans(text)]
    return [end for end in ends if 0 < end < len(text)]  # a blank text has none
