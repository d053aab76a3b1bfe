"""Which lines only go on with the line before them: prose was wrapped there, in any script.

A line goes on where the one before is open, which no stop ends, and was full: the next word had no room in it, by the
width of the lines around. Items, headings, rows, keys and lines of code begin a sentence. Where a script has no case,
or the next line begins with a capital or a digit, most open lines of the paragraph have to be full: in a poem or a
list they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.text.abbreviations import is_abbreviated
from ctxassembly.text.kinds import (
    CLOSING,
    FEW_BLANKS,
    LETTER,
    LOWER,
    NEWLINE,
    SPACE,
    STOP,
    UNSPACED,
    WIDE_STOP,
    is_digit,
    run_lengths,
    table_of,
)
from ctxassembly.text.lines import begins_item

if TYPE_CHECKING:
    from ctxassembly.text.kinds import Bools, Bytes, Codes, Ints

MIN_WRAPPED, MIN_WRAPPED_UNSPACED = 40, 24
"""Columns of the shortest line that may be full, with the next word; in scripts without spaces the second."""
_WIDE = 0x2E80
"""From here on characters are two columns wide: Chinese, Japanese, Korean."""
MIN_AROUND = 30
"""Characters of the shortest line next to a full one before a capital: what is below a heading may be short."""
MIN_VERSES = 3
"""Open lines of a paragraph, all before a capital, from which on it is a poem or a list; prose rarely has them."""
_ROOM, _ROOM_THAI, MAX_WORD = 4, 12, 30
"""Columns that may be left in a full line: of Chinese and Japanese, of Thai and the like, and before other words."""
_CASELESS = 0x590
"""From here on scripts have no case, but for a few."""
MIN_SEPARATORS = 2
"""Separators of the shortest row of values; three lines with as many of them are rows."""
MAX_KEY = 24
"""Characters of the longest key before a colon."""
_IS_OPENING = table_of(
    "\"'\u201c\u201e\u2018\u201a\u00ab\u00bb\u2039\u203a(*`_[$\u00a3\u20ac\u00a5\u20b9\u00a7\u300c\u300e\uff08\u300a\u3010"
)
"""Marks that may be before the first word of a line."""
_IS_OPEN_ENDING = table_of(
    ",-\u2010\"'\u201d\u2019\u201c\u2018\u00bb\u00ab\u203a;)]%/&+\u2013\u2014\u00a7$\u20ac\u00b0"
    "\uff0c\u3001\uff1b\u30fb\uff08\u300a\u300c\u300e\u300d\u300f\uff09\u300b\u3011\uff05\u060c\u061b\u066a\u1363\u1364\u104a\u055d"
)
"""Last characters of a line after which, as after a letter, the sentence may go on."""
_IS_BRACKET = table_of("(\uff08")
_IS_ROW_ENDING, _IS_CODE_ENDING = table_of(")]%"), table_of(")];")
_RETURN, _BAR, _COMMA, _SEMICOLON, _TAB, _STOP, _QUOTE, _CALL, _COLON, _WIDE_COLON, _EQUALS, _BRACE = map(
    ord, "\r|,;\t.>(:\uff1a={"
)


def is_wrapped(lines: Ints, ends: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each line but the first only goes on with a full line of prose before it.

    `lines` has where each begins that isn't blank, and `ends` the last character of each.
    """
    last, starts = ends[:-1], lines[1:]
    breaks = np.where(plain[starts - 2] == _RETURN, starts - 3, starts - 2)
    is_next_line = (kinds[breaks] & NEWLINE) == 0
    indented = starts + run_lengths((kinds[starts[:, None] + np.arange(FEW_BLANKS)] & (SPACE | NEWLINE)) == SPACE)
    first = _first_letters(lines, indented, kinds, plain)
    is_small, is_number = (kinds[first] & LOWER) > 0, is_digit(plain[first])
    has_case = ((kinds[first] & LETTER) > 0) & ~is_number & (plain[first] < _CASELESS)
    cut = np.flatnonzero((plain[last] == _STOP) & is_next_line)
    is_cut = np.zeros(len(last), bool)  # an abbreviation ends the line
    is_cut[cut] = is_abbreviated(last[cut], first[cut], kinds, plain)

    is_initial = has_case & ~is_small & (plain[first + 1] == _STOP)  # J. Bach
    begins = begins_item(kinds, plain, np.where(_IS_BRACKET[plain[indented]], first, indented)) & ~is_initial
    begins |= (kinds[first] & LETTER) == 0
    begins |= _is_key(lines, ends, has_case & ~is_small, kinds, plain) | _are_rows(lines, ends, first, plain)
    begins |= _has_cells(lines, ends, plain) | _is_code(lines, ends, kinds, plain)
    may_go_on = is_next_line & ~begins & (_is_open(last, kinds, plain) | is_cut)

    widths, needed, is_long = _widths(lines, ends, indented, first, kinds, plain)
    is_near = np.append(False, is_next_line[:-1])  # with a line before it in the same paragraph
    had_no_room = np.zeros(len(last), bool)
    for width in (widths, ends + 1 - lines):  # texts are wrapped to columns or to characters
        around = np.maximum(width[1:], np.where(is_near, np.append(0, width)[:-2], 0))
        had_no_room |= (width[:-1] + needed >= around) & (~has_case | (around >= MIN_AROUND))
    is_full = is_long & (is_small | had_no_room)
    is_prose = is_small | _is_prose(may_go_on, is_full, is_small, has_case, is_next_line)
    goes_on: Bools = may_go_on & ((is_full & is_prose) | (is_cut & is_number))
    return goes_on


def _widths(
    lines: Ints, ends: Ints, indented: Ints, first: Ints, kinds: Bytes, plain: Codes
) -> tuple[Ints, Ints, Bools]:
    """Return the columns of each line, those that the first word of each next line needs, and which are long enough."""
    wide = np.flatnonzero(plain >= _WIDE)
    columns = ends + 1 - lines + np.searchsorted(wide, ends, "right") - np.searchsorted(wide, lines)
    blanks = np.flatnonzero((kinds & SPACE) > 0)  # the text ends in some
    words = np.minimum(blanks[np.searchsorted(blanks, first)], first + MAX_WORD)
    unspaced, last = (kinds[first] & UNSPACED) > 0, ends[:-1]
    words = np.where(unspaced, first + np.where(plain[first] >= _WIDE, _ROOM, _ROOM_THAI), words)
    is_compact = unspaced | ((kinds[last] & UNSPACED) > 0) | (plain[last] >= _WIDE)
    least = np.where(is_compact, MIN_WRAPPED_UNSPACED, MIN_WRAPPED)
    return columns, words - indented, columns[:-1] + words - indented >= least


def _is_prose(may_go_on: Bools, is_full: Bools, is_small: Bools, has_case: Bools, is_next_line: Bools) -> Bools:
    """Return for each line but the first whether its paragraph is prose: of its open lines most are full.

    If none of the next lines begins with a small letter, though they could, they are few, and all full.
    """
    paragraphs = np.cumsum(~is_next_line)
    counts, full = np.bincount(paragraphs, may_go_on), np.bincount(paragraphs, may_go_on & is_full)
    is_verse = (np.bincount(paragraphs, may_go_on & is_small) == 0) & ((full < counts) | (counts >= MIN_VERSES))
    found: Bools = (2 * full >= counts)[paragraphs] & ~(has_case & is_verse[paragraphs])
    return found


def _first_letters(lines: Ints, indented: Ints, kinds: Bytes, plain: Codes) -> Ints:
    """Return the first letter of each line but the first, behind marks and, in lines that are quoted, ">"."""
    ahead = indented[:, None] + np.arange(FEW_BLANKS)
    is_quoted = plain[lines] == _QUOTE
    is_mark = _IS_OPENING[plain[ahead]]
    quotes = (plain[ahead] == _QUOTE) | ((kinds[ahead] & (SPACE | NEWLINE)) == SPACE)
    return indented + run_lengths(is_mark | (quotes & (is_quoted[1:] & is_quoted[:-1])[:, None]))


def _is_open(last: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether a sentence may go on after each line, by its `last` character."""
    stop = last.copy()
    for _ in range(2):  # quotation marks and brackets after a stop
        stop = stop - ((kinds[stop] & (CLOSING | LETTER)) == CLOSING)
    is_ended = (stop < last) & ((kinds[stop] & (STOP | WIDE_STOP)) > 0)
    is_open: Bools = (((kinds[last] & LETTER) > 0) | _IS_OPEN_ENDING[plain[last]]) & ~is_ended
    return is_open


def _is_key(lines: Ints, ends: Ints, has_capital: Bools, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each line but the first begins with a key, such as "Name:"; without a capital, both lines do."""
    colons = np.append(np.flatnonzero((plain == _COLON) | (plain == _WIDE_COLON)), len(plain) - FEW_BLANKS)
    colon = colons.take(np.searchsorted(colons, lines), mode="clip")
    is_apart = ((kinds[colon + 1] & LETTER) == 0) | (plain[colon] >= _WIDE)
    is_key = (colon - lines <= MAX_KEY) & (colon <= ends) & is_apart
    found: Bools = is_key[1:] & (has_capital | is_key[:-1])
    return found


def _are_rows(lines: Ints, ends: Ints, first: Ints, plain: Codes) -> Bools:
    """Return whether each pair of lines are rows: both end in numbers or brackets, or both begin with numbers."""
    is_row = is_digit(plain[ends]) | _IS_ROW_ENDING[plain[ends]]
    is_alike = is_row[:-1] & is_row[1:]
    begins = np.append(is_digit(plain[lines[:1]]), is_digit(plain[first]))
    found: Bools = is_alike | (np.append(False, is_alike[:-1])) | (begins[:-1] & begins[1:])
    return found


def _has_cells(lines: Ints, ends: Ints, plain: Codes) -> Bools:
    """Return whether each line but the last has a bar, or is one of three rows with as many separators."""
    bars = np.flatnonzero(plain == _BAR)
    has_cells = np.searchsorted(bars, lines[:-1]) < np.searchsorted(bars, ends[:-1])
    separators = np.flatnonzero((plain == _COMMA) | (plain == _SEMICOLON) | (plain == _TAB))
    counts = np.searchsorted(separators, ends) - np.searchsorted(separators, lines)
    is_alike = (counts[1:] == counts[:-1]) & (counts[1:] >= MIN_SEPARATORS)
    found: Bools = has_cells | (is_alike & (np.append(False, is_alike[:-1]) | np.append(is_alike[1:], False)))
    return found


def _is_code(lines: Ints, ends: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each line but the last is code: it has a sign or a call, and the next one, too, or its end has."""
    calls = np.flatnonzero(plain == _CALL)
    signs = np.flatnonzero((plain == _EQUALS) | (plain == _BRACE))
    signs = np.sort(np.concatenate([signs, calls[(kinds[calls - 1] & LETTER) > 0]]))
    has_sign = np.searchsorted(signs, lines) < np.searchsorted(signs, ends, "right")
    found: Bools = has_sign[:-1] & (has_sign[1:] | _IS_CODE_ENDING[plain[ends[:-1]]])
    return found
