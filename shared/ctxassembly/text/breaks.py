"""Where the sentences of many texts begin, by arrays: the rules of `sentences.tiles`, for texts as one string of bytes.

A sentence ends in white space with a stop before it or a line break in it, so runs of white space are what is looked
at. Tables decide nearly all of them. What they can't tell is left to the functions over strings that tell it for one
text: a short word before a full stop, a full line before a word with a capital, the number of an item, a row of a
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.goes_on import OPEN_ENDED, WORD_CHARS, WRAPPED, after_line, after_stop
from ctxassembly.text.latin import BLANKS, BYTES, Bytes, table
from ctxassembly.text.sentences import CLOSING, NUMBER_CHARS, is_number, is_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]
    Flags = NDArray[np.bool_]

_BLANK, _BREAK, _STOP, _CLOSING, _LETTER, _LOWER, _OPEN, _AFTER_WORD = (1 << bit for bit in range(8))
_CLASSES = table(
    BLANKS,
    "\n",
    ".!?…",
    CLOSING,
    "".join(char for char in BYTES if char.isalpha()),
    "".join(char for char in BYTES if char.isalpha() and char.islower()),
    OPEN_ENDED,
    ",.;",
)
_MOST_CLOSING = 8
"""Closing marks after a stop that are looked past."""


class _Whole(NamedTuple):
    """All texts."""

    letters: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """The classes of each character, as bits."""
    lines: Places
    """Where the line breaks are."""
    begins: Places
    texts: Sequence[str]
    has_bar: Flags
    """Whether each text has a bar, so that it may have a table."""


class _Ends(NamedTuple):
    """Runs of white space with a stop before them or a line break in them, one array each."""

    start: Places
    end: Places
    stop: Places
    """The last character before the run that closes nothing."""
    is_stop: Flags
    breaks: Places
    """How many line breaks the run has."""
    line: Places
    """The number of its last line break among all of the bytes, or of the one before it."""
    text: Places
    """The number of the text it is in."""


def breaks(read: Bytes, texts: Sequence[str]) -> Places:
    """The places in the bytes at which sentences begin, but for the first of each text."""
    letters = np.frombuffer(read.whole, np.uint8)
    classes = np.frombuffer(read.whole.translate(_CLASSES), np.uint8)
    lines, begins = np.flatnonzero(letters == ord("\n")), np.array(read.begins, dtype=np.intp)
    has_bar = np.array(["|" in text for text in texts], dtype=bool)
    whole = _Whole(letters, classes, lines, begins, texts, has_bar)
    ends = _ends(whole)
    # A sentence ends behind the last line break: the indentation of the next line is the next sentence's.
    edges: Places = ends.end.copy()
    edges[ends.breaks > 0] = lines[ends.line[ends.breaks > 0]] + 1
    kept = np.ones(len(edges), dtype=bool)
    kept[_wrapped(whole, ends)] = False
    kept[_none(whole, ends, edges, kept)] = False
    found: Places = edges[kept]
    return found


def _ends(whole: _Whole) -> _Ends:
    """Those runs that have text of their own text on both sides."""
    letters, classes, lines = whole.letters, whole.classes, whole.lines
    blank = classes & _BLANK
    changes = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    start, end = changes[::2], changes[1::2]
    # Single blanks between words, which most of them are, go first.
    some = np.flatnonzero((classes[start - 1] & (_STOP | _CLOSING)) | (classes[start] & _BREAK) | (end - start > 1))
    start, end = start[some], end[some]
    stop = start - 1
    for _ in range(_MOST_CLOSING):
        stop = stop - (classes[stop] & _CLOSING > 0)
    is_stop = classes[stop] & _STOP > 0
    line = np.searchsorted(lines, end) - 1
    count = line - np.searchsorted(lines, start) + 1
    some = np.flatnonzero((is_stop | (count > 0)) & (letters[start - 1] > 0) & (letters[end] > 0))
    text = np.searchsorted(whole.begins, start[some], "right") - 1
    return _Ends(start[some], end[some], stop[some], is_stop[some], count[some], line[some], text)


def _wrapped(whole: _Whole, ends: _Ends) -> list[int]:
    """The numbers of those `ends` that only wrap a full line: see `after_line`."""
    classes, lines = whole.classes, whole.lines
    before = np.append(0, lines)[ends.line]
    begin = np.maximum(whole.begins[ends.text], before + 1)
    full = (ends.start - begin >= WRAPPED) & (classes[ends.start - 1] & (_LETTER | _OPEN) > 0)
    maybe = np.flatnonzero(full & (ends.breaks == 1) & ~ends.is_stop)
    if not len(maybe):
        return []
    # Surely, if a word in small letters follows, and no table is near.
    follows = ends.end[maybe]
    others = np.flatnonzero((classes & _LOWER) == 0)
    behind = others[np.searchsorted(others, follows)]
    behind = behind + (classes[behind] & _AFTER_WORD > 0)
    sure = (classes[follows] & _LOWER > 0) & (classes[behind] & _BLANK > 0) & ~whole.has_bar[ends.text[maybe]]
    found: list[int] = maybe[sure].tolist()
    for number in maybe[~sure].tolist():
        text = int(ends.text[number])
        if after_line(whole.texts[text], int(lines[ends.line[number]] - whole.begins[text])):
            found.append(number)
    return found


def _none(whole: _Whole, ends: _Ends, edges: Places, kept: Flags) -> list[int]:
    """The numbers of those `kept` that end no sentence but a number, an abbreviation or a cell.

    That depends on where their sentence began, so on what became of the end before.
    """
    letters, classes, stop = whole.letters, whole.classes, ends.stop
    before = np.append(-1, np.maximum.accumulate(np.where(kept, np.arange(len(edges)), -1)))[:-1]
    since = np.maximum(edges[before], whole.begins[ends.text])
    last = letters[ends.start - 1]
    number_too = ((last == ord(".")) | (last == ord(")"))) & (edges - since <= NUMBER_CHARS)
    # No abbreviation is as long as a word.
    word = np.ones(len(edges), dtype=bool)
    for step in range(1, WORD_CHARS + 1):
        word &= classes[stop - step] & _LETTER > 0
    short_too = (last == ord(".")) & ~word & (classes[stop - 1] & _STOP == 0)
    short_too &= (ends.end - ends.start == 1) & (letters[ends.start] == ord(" "))
    row_too = whole.has_bar[ends.text] & (ends.breaks == 0)
    none: dict[int, int] = {}
    for number in np.flatnonzero(kept & (number_too | short_too | row_too)).tolist():
        which, previous = int(ends.text[number]), int(before[number])
        text, offset = whole.texts[which], int(whole.begins[which])
        # Where the end before is none, the sentence began where that one's did.
        begin = none.get(previous, int(edges[previous]) if previous >= 0 else 0)
        own, edge = max(begin - offset, 0), int(edges[number]) - offset
        if (
            (number_too[number] and is_number(text, own, edge))
            or (short_too[number] and after_stop(text, own, int(stop[number]) - offset))
            or (row_too[number] and is_row(text, own, edge))
        ):
            none[number] = own + offset
    return [*none]
