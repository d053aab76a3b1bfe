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

_BLANK, _STOP, _CLOSING, _LETTER, _LOWER, _NUMERAL, _OPEN, _AFTER_WORD = (1 << bit for bit in range(8))
_CLASSES = table(
    BLANKS,
    ".!?…",
    CLOSING,
    "".join(char for char in BYTES if char.isalpha()),
    "".join(char for char in BYTES if char.isalpha() and char.islower()),
    "0123456789ivxIVX¹²³¼½¾",
    OPEN_ENDED,
    ",.;",
)
_MOST_CLOSING = 8
"""Closing marks after a stop that are looked past."""
_MOST_LETTERS = 16
"""Letters of the longest word that is looked past: nearly all are shorter."""


class _Whole(NamedTuple):
    """All texts."""

    letters: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    """The classes of each character, as bits."""
    begins: Places
    texts: Sequence[str]


class _Ends(NamedTuple):
    """Runs of white space with a stop before them or a line break in them, one array each."""

    start: Places
    end: Places
    stop: Places
    """The last character before the run that closes nothing."""
    is_stop: Flags
    breaks: NDArray[np.int8]
    """How many line breaks the run has; 2 for more."""
    edge: Places
    """Where the next sentence begins: behind the last line break, since the indentation of a line is the line's."""
    line: Places
    """Where the line that the run ends begins."""
    has_bar: Flags
    """Whether that line has a bar, so that it may be a row of a table."""
    text: Places
    """The number of the text it is in."""


def breaks(read: Bytes, texts: Sequence[str]) -> Places:
    """The places in the bytes at which sentences begin, but for the first of each text."""
    letters = np.frombuffer(read.whole, np.uint8)
    classes = np.frombuffer(read.whole.translate(_CLASSES), np.uint8)
    whole = _Whole(letters, classes, read.begins, texts)
    ends = _ends(whole)
    kept = np.ones(len(ends.edge), dtype=bool)
    kept[_wrapped(whole, ends)] = False
    kept[_none(whole, ends, kept)] = False
    found: Places = ends.edge[kept]
    return found


def _ends(whole: _Whole) -> _Ends:
    """Those runs that have text of their own text on both sides."""
    letters, classes = whole.letters, whole.classes
    start, end = _runs(letters, classes)
    stop = start - 1
    for _ in range(_MOST_CLOSING):
        stop = stop - (classes[stop] & _CLOSING > 0)
    is_stop = classes[stop] & _STOP > 0
    lines = np.append((0, 0), np.flatnonzero(letters == ord("\n")))  # the first two are no line breaks but guards
    number = np.searchsorted(lines, end) - 1
    last, before = lines[number], lines[number - 1]
    breaks = np.add(last >= start, before >= start, dtype=np.int8)
    some = np.flatnonzero((is_stop | (breaks > 0)) & (letters[start - 1] > 0) & (letters[end] > 0))
    start, end, stop, last, before = (each[some] for each in (start, end, stop, last, before))
    breaks = breaks[some]
    text = np.searchsorted(whole.begins, start, "right") - 1
    edge = np.where(breaks > 0, last + 1, end)
    line = np.maximum(whole.begins[text], np.where(breaks > 0, before, last) + 1)
    bars = np.flatnonzero(letters == ord("|"))
    has_bar = np.searchsorted(bars, line) < np.searchsorted(bars, start)
    return _Ends(start, end, stop, is_stop[some], breaks, edge, line, has_bar, text)


def _runs(letters: NDArray[np.uint8], classes: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Where runs of white space start and end, without the single blanks between words, which most of them are."""
    blank = (classes & _BLANK).view(bool)  # the lowest bit: 0 or 1
    marked = (classes[:-2] & (_STOP | _CLOSING) > 0) | (letters[1:-1] == ord("\n")) | blank[2:]
    start = np.flatnonzero(marked & (blank[1:-1] > blank[:-2])) + 1
    end = start + 1
    # Each run of more has one end, and those are in the same order.
    two = blank[1:] & blank[:-1]
    end[blank[end]] = np.flatnonzero(two[:-1] > two[1:]) + 2
    return start, end


def _wrapped(whole: _Whole, ends: _Ends) -> list[int]:
    """The numbers of those `ends` that only wrap a full line: see `after_line`."""
    classes = whole.classes
    full = (ends.start - ends.line >= WRAPPED) & (classes[ends.start - 1] & (_LETTER | _OPEN) > 0)
    maybe = np.flatnonzero(full & (ends.breaks == 1) & ~ends.is_stop & ~ends.has_bar)
    # Surely, if a word in small letters follows.
    follows = ends.end[maybe]
    behind = follows
    for _ in range(_MOST_LETTERS):
        behind = behind + (classes[behind] & _LOWER > 0)
    behind = behind + (classes[behind] & _AFTER_WORD > 0)
    sure = (classes[follows] & _LOWER > 0) & (classes[behind] & _BLANK > 0)
    found: list[int] = maybe[sure].tolist()
    others = maybe[~sure]
    text = ends.text[others]
    at = ends.edge[others] - 1 - whole.begins[text]
    for number, own, place in zip(others.tolist(), text.tolist(), at.tolist(), strict=True):
        if after_line(whole.texts[own], place):
            found.append(number)
    return found


def _none(whole: _Whole, ends: _Ends, kept: Flags) -> list[int]:
    """The numbers of those `kept` that end no sentence but a number, an abbreviation or a cell.

    That depends on where their sentence began, so on what became of the end before.
    """
    letters, classes, stop = whole.letters, whole.classes, ends.stop
    before = np.append(0, np.maximum.accumulate(np.where(kept, ends.edge, 0)))[:-1]
    since = np.maximum(before, whole.begins[ends.text])
    last, inner = letters[ends.start - 1], classes[ends.start - 2]
    # A number ends in a sign of one, or in a letter alone; an abbreviation in either, or before a blank.
    number_too = ((last == ord(".")) | (last == ord(")"))) & (ends.edge - since <= NUMBER_CHARS)
    number_too &= (inner & _NUMERAL > 0) | ((inner & _LETTER > 0) & (classes[ends.start - 3] & _LETTER == 0))
    short_too = (last == ord(".")) & (inner & (_LETTER | _NUMERAL | _BLANK) > 0)
    short_too &= (ends.end - ends.start == 1) & (letters[ends.start] == ord(" "))
    # None is as long as a word.
    word = np.ones(len(kept), dtype=bool)
    for step in range(1, WORD_CHARS + 1):
        word &= classes[stop - step] & _LETTER > 0
    short_too &= ~word
    row_too = ends.has_bar & (ends.breaks == 0)
    some = np.flatnonzero(kept & (number_too | short_too | row_too))
    columns = (ends.text, whole.begins[ends.text], before, ends.edge, stop, number_too, short_too, row_too)
    rows = zip(some.tolist(), *(column[some].tolist() for column in columns), strict=True)
    found: list[int] = []
    begins: dict[int, int] = {}
    for number, own, offset, previous, edge, at, maybe_number, maybe_short, maybe_row in rows:
        text = whole.texts[own]
        # Where the end before is none, the sentence began where that one's did.
        begin = max(begins.get(previous, previous) - offset, 0)
        if (
            (maybe_number and is_number(text, begin, edge - offset))
            or (maybe_short and after_stop(text, begin, at - offset))
            or (maybe_row and is_row(text, begin, edge - offset))
        ):
            found.append(number)
            begins[edge] = begin + offset
    return found
