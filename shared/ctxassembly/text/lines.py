"""The forms of lines, in any language: rows, items of lists, headings, and lines that belong to one entry.

An entry is a paragraph of a few short lines without stops, such as an address or the hours of one doctor in a roster.
A record is an object of JSON, from its brace to the closing one that is as far to the right. A part of either says
nothing by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.kinds import (
    CLOSING,
    LETTER,
    NEWLINE,
    SPACE,
    STOP,
    UNSPACED,
    WIDE_STOP,
    last_characters,
    run_lengths,
    table_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Bytes, Codes

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.intp]
    Spans = tuple[Ints, Ints]

MAX_LINE = 100
"""Characters of the longest line of an entry."""
MAX_ENTRY, MAX_ENTRY_LINES = 600, 12
MAX_RECORD, MAX_RECORD_LINES = 1_200, 30
"""Characters and lines of the longest entry and record that are read whole. Of more, a part can be understood."""
_BAR, _HASH, _TAG, _CLOSE, _COMMA, _FEED = map(ord, "|#<},\n")
_IS_BRACE = table_of("{}")
_QUESTION = table_of("?\uff1f")
_MARKS = table_of("*_")
"""Of emphasis: a line between two of them is a heading."""
_BULLETS = table_of("-*+\u2022\u00b7\u2023\u25aa\u25e6\u2013\u2014")
_AFTER_NUMBER, _WIDE = table_of(".)\u3001\uff09\uff0e"), 0x2E80
_NUMERALS = table_of("0123456789\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341")
_AFTER_T = table_of("ra")
_MAX_INDENT, _MAX_DIGITS = 8, 3


class Lines(NamedTuple):
    """The form of each sentence of a text, by the line that it is or is part of."""

    starts: Ints
    first: Ints
    """The first character of each that is no blank, and the last one."""
    last: Ints
    begins: Bools
    """Whether it begins a line, and ends one or a paragraph."""
    ends: Bools
    ends_paragraph: Bools
    is_ended: Bools
    """Whether a stop is at its end."""
    is_row: Bools
    is_item: Bools
    is_heading: Bools


def read_lines(starts: Ints, ends: Ints, kinds: Bytes, plain: Codes) -> Lines:
    """Return the forms of the sentences from `starts` to `ends` of a padded text with these `kinds` and `plain`."""
    first = starts
    for _ in range(_MAX_INDENT):
        first = first + ((kinds[first] & (SPACE | NEWLINE)) == SPACE)
    last = last_characters(ends - 1, kinds)
    feeds = np.flatnonzero(plain == _FEED)
    breaks = np.searchsorted(feeds, ends) - np.searchsorted(feeds, last)
    breaks[-1:] = 2  # the text ends its last paragraph
    begins = (kinds[starts - 1] & NEWLINE) > 0
    is_ended = ((kinds[last] & (STOP | WIDE_STOP)) > 0) | (
        ((kinds[last] & CLOSING) > 0) & ((kinds[last - 1] & (STOP | WIDE_STOP)) > 0)
    )
    # "<tr" or "<table", which need not begin a line
    is_tag = (plain[first] == _TAG) & (plain[first + 1] == ord("t")) & _AFTER_T[plain[first + 2]]
    is_bold = _MARKS[plain[first]] & (plain[first] == plain[first + 1])
    is_bold &= (plain[last] == plain[first]) & (plain[last - 1] == plain[first]) & (last > first + 2)
    return Lines(
        starts,
        first,
        last,
        begins,
        breaks > 0,
        breaks > 1,
        is_ended,
        begins & (plain[first] == _BAR) | is_tag,
        begins & begins_item(kinds, plain, first),
        begins & ((plain[first] == _HASH) | is_bold) & (~is_ended | _QUESTION[plain[last - 2 * is_bold]]),
    )


def begins_item(kinds: Bytes, plain: Codes, first: Ints) -> Bools:
    """Return whether a bullet, or a number or letter with a stop or bracket, is at each of `first`."""
    is_bullet = _BULLETS[plain[first]] & ((kinds[first + 1] & SPACE) > 0)
    digits = run_lengths(_NUMERALS[plain[first[:, None] + np.arange(_MAX_DIGITS + 1)]])
    is_letter = (digits == 0) & ((kinds[first] & (LETTER | UNSPACED)) == LETTER)
    behind = first + np.where(is_letter, 1, digits)
    is_apart = ((kinds[behind + 1] & SPACE) > 0) | (_AFTER_NUMBER[plain[behind]] & (plain[behind] >= _WIDE))
    found: Bools = is_bullet | ((behind > first) & (digits <= _MAX_DIGITS) & _AFTER_NUMBER[plain[behind]] & is_apart)
    return found


def entries(lines: Lines, continues: Bools, records: Spans) -> Ints:
    """Return for each sentence the first one of the entry or record that it is part of; itself if it is of none.

    `continues` is whether each goes on with the one before; `records` are the JSON records in the text.
    """
    numbers = np.arange(len(lines.starts))
    length = lines.last - lines.first + 1
    is_line = lines.begins & lines.ends & ~lines.is_ended & ~lines.is_row & (length > 0) & (length <= MAX_LINE)
    goes_on = is_line & continues & ~lines.is_item & ~lines.is_heading
    goes_on[1:] &= is_line[:-1] & ~lines.ends_paragraph[:-1]
    goes_on[:1] = False
    first = np.maximum.accumulate(np.where(goes_on, 0, numbers))
    is_long = np.bincount(first, minlength=len(numbers)) > MAX_ENTRY_LINES
    is_long |= np.bincount(first, length, len(numbers)) > MAX_ENTRY
    first = np.where(is_long[first], numbers, first)
    opens, closes = records
    is_short = (closes - opens < MAX_RECORD_LINES) & (lines.last[closes] - lines.first[opens] < MAX_RECORD)
    record = inside((opens[is_short], closes[is_short]), len(numbers))
    return np.where(record >= 0, record, first)


def inside(spans: Spans, size: int) -> Ints:
    """Return for each of `size` numbers where the outermost of `spans` that has it begins; -1 if none has."""
    opens, closes = spans
    is_outer = opens > np.append(-1, np.maximum.accumulate(closes))[:-1]
    opens, closes = np.append(-1, opens[is_outer]), np.append(-1, closes[is_outer])
    numbers = np.arange(size)
    at = np.searchsorted(opens, numbers, "right") - 1
    return np.where(numbers <= closes[at], opens[at], -1)


def find_records(lines: Lines, continues: Bools, plain: Codes) -> Spans:
    """Return the numbers of the first and the last sentence of each object of JSON on several lines, by the first."""
    braces = np.flatnonzero(lines.begins & _IS_BRACE[plain[lines.first]])
    indents, gaps = (lines.first - lines.starts)[braces], np.cumsum(~continues)[braces]
    last = lines.last[braces] - (plain[lines.last[braces]] == _COMMA)
    is_end = plain[last] == _CLOSE  # also of an object on one line
    found, opened = list[tuple[int, int]](), dict[tuple[int, int], int]()
    for number, indent, gap, ends in zip(*(row.tolist() for row in (braces, indents, gaps, is_end)), strict=True):
        first = opened.pop((gap, indent), None)
        if not ends:
            opened[gap, indent] = number
        elif first is not None:
            found.append((first, number))
    firsts, lasts = np.array(sorted(found), np.intp).reshape(-1, 2).T
    return firsts, lasts
