"""Where the sentences of a text end, in any script; lines, items of lists and rows of tables are sentences, too.

But not the lines of a text that was broken to a width, as PDFs and mails are: there a sentence goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ctxassembly.data.chunks import Span
from ctxassembly.text.goes_on import after_line, after_stop

# Those of other scripts end a sentence whatever comes after them: Chinese and Japanese, Devanagari and its neighbours,
# Arabic and Urdu, Ethiopic, Khmer, Burmese, Tibetan.
FULL_STOPS = "。！？｡।॥؟۔።፧។៕။།"
STOPS, CLOSING = f".!?…{FULL_STOPS}", "\"'”’»)]」』）"
_STOPS, _CLOSING = STOPS, re.escape(CLOSING)
# It begins with one character of a set, which is what a search can skip to. A run of stops is tried from its first one
# only: from each of them, a long run would take quadratic time.
_BREAK = re.compile(
    rf"[\n{_STOPS}](?:(?<=\n)(?:\s*\n)?|(?<!\n)(?<![.!?…].)[{_STOPS}]*"
    rf"(?:[{_CLOSING}]*(?:\s*\n|\s+)|(?<=[{FULL_STOPS}])[{_CLOSING}]*))",
    re.DOTALL,
)
# Thai and Lao have no stops: a blank parts sentences, and phrases as well. One of their vowels tells them at a glance.
_THAI, _OFTEN = "\u0e00-\u0eff", "\u0e32\u0eb2"
_BREAK_OR_BLANK = re.compile(rf"{_BREAK.pattern}|(?<=[{_THAI}]) +(?=[{_THAI}])", re.DOTALL)
PHRASE_CHARS = 60
"""What Thai puts between two blanks is put together up to here: a phrase alone says little."""
LONGEST, CUT = 1_200, 400
"""Characters of a sentence: the longest that is whole, and what is made of a longer one, which is no sentence but, say,
a transcript without stops. Or nothing of it would stand where there is room for less."""
_BLANK = re.compile(r"\s(?=\S)")
_BLANKS = re.compile(r"\s+")
# A list's number says nothing by itself, and less after the text before it.
_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)]\s*")
NUMBER_CHARS = 24
"""Of an item's number at most, with the blanks around it."""
_ROW = re.compile(r"[ \t]*\|")


def tiles(text: str) -> list[Span]:
    """`text` by sentences and lines, in order; together they are all of it.

    White space belongs to the one before it, but for the indentation of a line; the number of an item to what comes
    after it; to a line that was full what goes on in the next one. A row of a table is one, whatever stops are in its
    cells. Thai and Lao are parted at blanks; so is what has no stop for `LONGEST` characters.
    """
    edges = [0]
    begin, rows, phrases = 0, "|" in text, any(sign in text for sign in _OFTEN)
    for match in (_BREAK_OR_BLANK if phrases else _BREAK).finditer(text):
        (at, end), found = match.span(), match[0]
        if text[begin].isspace() and _BLANKS.fullmatch(text, begin, end):  # a slice would be as long as the sentence is
            continue
        if end - begin <= NUMBER_CHARS and _NUMBER.fullmatch(text, begin, end):
            continue
        if found == "\n" and after_line(text, at):
            continue
        if found == ". " and after_stop(text, begin, at):
            continue
        if phrases and found[0] == " " and end - begin < PHRASE_CHARS:
            continue
        if rows and "\n" not in found and _ROW.match(text, begin, end):
            continue
        edges.append(end)
        begin = end
    if len(edges) > 1 and not text[edges[-1] :].strip():
        edges.pop()
    edges.append(len(text))
    if any(end - begin > LONGEST for begin, end in pairwise(edges)):
        edges = [0, *(each for begin, end in pairwise(edges) for each in _cut(text, begin, end))]
    return list(pairwise(edges)) if text else []


def _cut(text: str, begin: int, end: int) -> Iterator[int]:
    """Where what has no stop from `begin` to `end` ends all the same: at blanks, but for a row of a table."""
    if end - begin > LONGEST and not _ROW.match(text, begin):
        begin = end - len(text[begin:end].lstrip())
        while end - begin > 2 * CUT and (blank := _BLANK.search(text, begin + CUT, end)):
            begin = blank.end()
            yield begin
    yield end


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Where the sentences and lines of `text[begin:]` end, ascending; that of the last one only if more follows."""
    text = text[begin:] if begin else text
    ends = [first + len(text[first:second].rstrip()) for first, second in tiles(text)]
    return [begin + end for end in ends if 0 < end < len(text)]  # of a blank text there is none
