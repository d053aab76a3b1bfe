"""The ends of sentences, in any script.

Three things end a sentence, and everything else is an exception to one of them:

- a stop (. ! ? …) with the closing quotation marks and brackets after it, if white space follows. Not after an
  abbreviation or the number of an item, not inside a row of a table, and not if a small letter follows such a mark. The
  full stops of scripts that put no blank after them (Chinese, Devanagari, Khmer, ...) need no white space;
- a line break, since headings, items, rows and lines of code have no stop. Not where a full line was wrapped, as in
  PDFs and mails (`is_wrapped_line`);
- in Thai and Lao, which have no stops, a blank. They put blanks between phrases, too, so phrases are gathered until
  they have `MIN_PHRASE_CHARS` characters.

Text without an end for `MAX_SENTENCE_CHARS` characters, such as a transcript, is cut at a blank about every `CUT_CHARS`
characters; in Chinese and Japanese, which write no blanks, at a comma, or else between two characters.

`sentence_breaks.py` finds all of these in arrays of characters, and `sentence_rules.py` decides where it takes words.

`classify_sentences` distinguishes prose from headings, rows of tables, items of lists and lines of code. Prose can be
left out sentence by sentence. A row, an item or a line of code says little without those around it. The form of a
line's beginning decides most cases. Columns (three blanks or a tab between words) mark a table without bars. Prose ends
with a stop, or continues in a sentence that does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from ctxassembly.data.chunks import Span
from ctxassembly.text.sentence_rules import CLOSING, MIN_WRAPPED_CHARS, STOPS


def sentence_spans(text: str) -> list[Span]:
    r"""Return the spans of the sentences and lines of `text`, in order and without gaps.

    White space belongs to the sentence before it, except for the indentation of a line. The number of an item belongs
    to the item. A row of a table is one span, whatever stops its cells have.

    >>> text = "Ask Dr. Li. 1. Drink water.\n  Eat nothing."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Ask Dr. Li. ', '1. Drink water.\n', '  Eat nothing.']
    """
    return sentence_spans_of([text])[0]


def sentence_spans_of(texts: Sequence[str]) -> list[list[Span]]:
    """Return `sentence_spans` of each of `texts`, which are read at once: it takes a fraction of the time."""
    from ctxassembly.text.characters import Characters  # imports numpy
    from ctxassembly.text.sentence_breaks import sentence_starts

    characters = Characters(texts)
    offsets, counts = characters.in_texts(sentence_starts(characters))
    left = iter(offsets.tolist())
    return [
        [*pairwise([0, *islice(left, count), len(text)])] if text else []
        for text, count in zip(texts, counts.tolist(), strict=True)
    ]


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Return the offsets in `text`, ascending, at which the sentences and lines of `text[begin:]` end.

    White space after a sentence isn't part of it, and the end of the text isn't returned.

    >>> sentence_ends("One. Two. Three.")
    [4, 9]
    """
    text = text[begin:] if begin else text
    ends = [first + len(text[first:second].rstrip()) for first, second in sentence_spans(text)]
    return [begin + end for end in ends if 0 < end < len(text)]  # a blank text has none


# The beginnings of lines that are no prose: an item of a list (group 1), a fence around code (2), a heading (3), or a
# row, a quotation, a comment, a docstring (no group).
_FORM = re.compile(
    r"[ \t]*(?:((?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s)|(```|~~~)"
    r"|(#{1,6}[ \t])|[|+#>]|//|/\*|\"\"\"|'''|\.\. |\.\.\. )"
)
_ITEM, _FENCE, _HEADING = 1, 2, 3
_STOPS, _CLOSING = frozenset(STOPS), frozenset(CLOSING)
_PARAGRAPH = re.compile(r"\n\s*\n")
_COLUMNS = re.compile(r"\S(?: *\t|   )[ \t]*\S")


class ClassifiedSentence(NamedTuple):
    """A sentence or line of a text, with the white space after it."""

    start: int
    end: int
    text: str
    """Its words, one blank between them."""
    is_prose: bool
    is_structured: bool
    """True if it is part of a table, a list or of code, where it says little without the rest."""


def classify_sentences(texts: Sequence[str]) -> list[list[ClassifiedSentence]]:
    r"""Return the sentences and lines of each of `texts`, in order and without gaps.

    >>> [sentences] = classify_sentences(["# Fasting\nDrink water. Eat nothing.\n- two\n- six\n"])
    >>> [(sentence.text, sentence.is_prose) for sentence in sentences]
    [('# Fasting', False), ('Drink water.', True), ('Eat nothing.', True), ('- two', False), ('- six', False)]
    """
    return [*map(_classify, texts, sentence_spans_of(texts))]


def _classify(text: str, spans: Sequence[Span]) -> list[ClassifiedSentence]:
    """Return the sentences of `text` at `spans`, classified."""
    found: list[ClassifiedSentence] = []
    in_fence = in_structure = is_heading = False
    item_indent = -1  # indentation of the list that is open, -1 if none is
    for start, end in spans:
        tile = text[start:end]
        begins_line = not start or text[start - 1] == "\n"
        if begins_line:
            form = _FORM.match(tile)
            kind = form.lastindex if form else None
            if form and kind == _ITEM:
                item_indent = form.start(_ITEM)
            elif item_indent >= 0 and len(tile) - len(tile.lstrip()) <= item_indent:
                item_indent = -1
            is_heading = kind == _HEADING
            in_structure = in_fence or item_indent >= 0 or (form is not None and not is_heading)
            in_fence ^= kind == _FENCE
        words = " ".join(tile.split())
        is_structured = in_structure or (("   " in tile or "\t" in tile) and _COLUMNS.search(tile) is not None)
        is_prose = not (is_structured or is_heading) and (
            is_ended(words) or _can_continue(tile, words, begins_line=begins_line)
        )
        found.append(ClassifiedSentence(start, end, words, is_prose, is_structured))
    prose_follows = False
    for at in range(len(found) - 1, -1, -1):
        statement = found[at]
        if statement.is_prose and not prose_follows and not is_ended(statement.text):
            found[at] = statement._replace(is_prose=False)
        prose_follows = found[at].is_prose
    return found


def is_ended(words: str) -> bool:
    """Return True if `words` end with a stop, unlike a heading, a label, a line of code or half a sentence."""
    last = words[-1:]
    return last in _STOPS or (last in _CLOSING and words.rstrip(CLOSING)[-1:] in STOPS)


def _can_continue(tile: str, words: str, *, begins_line: bool) -> bool:
    """Return True if the sentence may continue in the next one: not after a short line or at the end of a paragraph."""
    return (not begins_line or len(words) >= MIN_WRAPPED_CHARS) and not _PARAGRAPH.search(tile)
