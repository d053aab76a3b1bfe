"""Distinguishes prose from headings, rows of tables, items of lists and lines of code.

Prose can be left out sentence by sentence. A row, an item or a line of code says little without those around it, so a
`ClassifiedSentence` says whether it belongs to such a whole. The form of a line's beginning decides most cases. Columns
(three blanks or a tab between words) mark a table without bars. Prose ends with a stop, or continues in a sentence that
does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ctxassembly.text.sentences import CLOSING, MIN_WRAPPED_CHARS, STOPS, sentence_spans

# The beginnings of lines that are no prose: an item of a list (group 1), a fence around code (2), a heading (3), or a
# row, a quotation, a comment, a docstring (no group).
_FORM = re.compile(
    r"[ \t]*(?:((?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s)|(```|~~~)"
    r"|(#{1,6}[ \t])|[|+#>]|//|/\*|\"\"\"|'''|\.\. |\.\.\. )"
)
_ITEM, _FENCE, _HEADING = 1, 2, 3
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


def classify_sentences(text: str) -> list[ClassifiedSentence]:
    r"""Return the sentences and lines of `text`, in order and without gaps.

    >>> sentences = classify_sentences("# Fasting\nDrink water. Eat nothing.\n- two\n- six\n")
    >>> [(sentence.text, sentence.is_prose) for sentence in sentences]
    [('# Fasting', False), ('Drink water.', True), ('Eat nothing.', True), ('- two', False), ('- six', False)]
    """
    found: list[ClassifiedSentence] = []
    in_fence = in_structure = is_heading = False
    item_indent = -1  # indentation of the list that is open, -1 if none is
    for start, end in sentence_spans(text):
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
            _is_ended(words) or _can_continue(tile, words, begins_line=begins_line)
        )
        found.append(ClassifiedSentence(start, end, words, is_prose, is_structured))
    prose_follows = False
    for at in range(len(found) - 1, -1, -1):
        statement = found[at]
        if statement.is_prose and not prose_follows and not _is_ended(statement.text):
            found[at] = statement._replace(is_prose=False)
        prose_follows = found[at].is_prose
    return found


def _is_ended(words: str) -> bool:
    """Return True if `words` end with a stop, unlike a heading, a label, a line of code or half a sentence."""
    last = words[-1:]
    return bool(last) and not last.isalnum() and (last in STOPS or words.rstrip(CLOSING)[-1:] in STOPS)


def _can_continue(tile: str, words: str, *, begins_line: bool) -> bool:
    """Return True if the sentence may continue in the next one: not after a short line or at the end of a paragraph."""
    return (not begins_line or len(words) >= MIN_WRAPPED_CHARS) and not _PARAGRAPH.search(tile)
