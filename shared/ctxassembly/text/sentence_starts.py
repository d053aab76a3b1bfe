"""Where sentences begin: after a stop and a blank, and with each line that doesn't go on with the one before.

Only the places of line breaks and stops are looked at, all at once, by the kinds of the characters around them. Three
kinds of lines go on: a full line of prose that was wrapped, a line of a few digits or signs, which is a cell of the
row above it, and the rule below the head of a table. A stop ends no sentence after an abbreviation, an initial or the
number of an item, nor inside a row of a table.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.text.abbreviations import MAX_SHORT, follows_number, is_abbreviated, letters_before
from ctxassembly.text.kinds import (
    CLOSING,
    FEW_BLANKS,
    LETTER,
    LOWER,
    NEWLINE,
    SPACE,
    STOP,
    WIDE_STOP,
    is_digit,
    last_characters,
    skip_blanks,
    table_of,
)
from ctxassembly.text.wrapped import is_wrapped

if TYPE_CHECKING:
    from ctxassembly.text.kinds import Bools, Bytes, Codes, Ints

_FULL_STOP, _BAR, _BRACKET, _BRACE = map(ord, ".|){")
_IS_BRACE, _IS_ROMAN = table_of("{}"), table_of("ivx")
_IS_OPENING = table_of("\u00ab\u2039")
"""Of the marks that close in one language these open in another, before a blank, too."""
MAX_MARKS = 3
"""Marks in a row that close: a quotation in another one, in brackets."""
MAX_CELL = 24
"""Characters of the longest line without a letter that is a cell of the row above; a longer one is a row itself."""
MAX_ITEM_NUMBER = 5
"""Characters up to the stop of the number of an item, such as "(iv)." or "12.3."."""
MAX_ROMAN = 3
"""Letters of the longest number such as "iii"."""
_BEFORE_ORDINALS = re.compile(
    r"(?i)\b(?:ab|[ai]m|beim|bis|d(?:as|e[mnrs]|ie)|eine?[mnrs]?|oder|seit|und|vom|zu[mr]) \d\d?\Z"
)
"""What comes before an ordinal number in German: "am 7. Mai"."""
_LOOK_BACK = 12
"""Characters before a number in which such a word is looked for."""
MAX_SENTENCE, PART = 600, 400
"""Characters of the longest sentence that isn't divided, and of the parts of a longer one, such as a log."""
_PAUSE = re.compile(r"(?s).{0,400}?(?:\s+|[\uff0c\u3001\uff1b\uff1a])|.{400}")
"""Where a long one is divided: at white space, at a comma or semicolon of Chinese and Japanese, or else anywhere."""
PHRASE = 60
"""Characters up to which Thai phrases are gathered: a phrase alone says little."""
_THAI_BLANK = re.compile("(?s).*?(?<=[\u0e00-\u0eff])[ \xa0]+(?=[\u0e00-\u0eff])")
_THAI_VOWELS = "\u0e32\u0eb2"
"""Vowels that nearly every phrase of Thai or Lao has."""
_TABLE = re.compile(r"(?:^[^\S\n]+)?<table\b[^>]*>\s*(?:<(?:thead|tbody)\b[^>]*>\s*)*\Z", re.MULTILINE)
"""What begins a table in HTML before its first row; at most `_LOOK_BEFORE` characters."""
_LOOK_BEFORE = 200
_AFTER_ROW = re.compile(r"</tr\s*>(?:\s*(?:</(?:thead|tbody|tfoot|table)\s*>|<tbody\b[^>]*>))*\s*")
MAX_NUMBERED = 24
_NUMBERED = re.compile(r"[#*_ ]{0,6}(?:[^\W\d_]{1,12} |\u00a7 ?)(?:\d{1,3}(?:\.\d{1,3}){0,3}[A-Za-z]?|[IVXLC]{1,6})\Z")
"""A word and a number that begin a line, up to the stop: "Article 17. Title" is one heading."""


def sentence_starts(text: str, kinds: Bytes, plain: Codes) -> Ints:
    """Return the offset of each sentence of the padded `text`; `kinds` and `plain` have its characters."""
    places = np.flatnonzero((kinds[:-4] & (STOP | NEWLINE | WIDE_STOP)) > 0)
    kind, after = kinds[places], kinds[places + 1]
    lines = places[(kind & ~after & NEWLINE) > 0] + 1
    stops = places[((kind & STOP) > 0) & ((after & (SPACE | CLOSING)) > 0)]
    wide = places[(kind & WIDE_STOP) > 0] + 1
    lines = lines[_begins(lines, kinds, plain)]
    found = [lines, _after_stops(text, stops, lines, kinds, plain)]
    if len(wide):
        wide = skip_blanks(_behind_marks(wide, kinds), kinds, 1, SPACE | NEWLINE)
        found.append(wide[(kinds[wide] & (WIDE_STOP | NEWLINE)) == 0])
    starts = merge_sorted(*found)
    if "<" in text and "<tr" in text:  # to look for one character takes a twentieth of the time
        starts = _rows_whole(text, starts)
    if any(vowel in text for vowel in _THAI_VOWELS):
        starts = _divide(text, starts, 2 * PHRASE, PHRASE, _THAI_BLANK)
    return _divide(text, starts, MAX_SENTENCE, PART, _PAUSE)


def merge_sorted(*parts: Ints) -> Ints:
    """Return the numbers of all `parts`, ascending, each once. A stable sort merges runs: `np.unique` takes longer."""
    found = np.concatenate(parts)
    found.sort(kind="stable")
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def _begins(lines: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each of `lines` begins a sentence, by where it begins."""
    # Up to the break before the next line; blank lines count with the line, but for those that pad the text.
    ends = np.append(lines[1:], len(kinds) - FEW_BLANKS) - 1
    ends = last_characters(ends, kinds)
    lengths = ends - lines + 1
    is_letter = ((kinds & LETTER) > 0) & ~is_digit(plain)
    goes_on = ~np.logical_or.reduceat(is_letter, lines)
    first = plain[skip_blanks(lines, kinds, 1, SPACE | NEWLINE)]
    # A long line of digits, or one with bars, is a row itself, but for a rule below a head, which has no digit either.
    for number in np.flatnonzero(goes_on & ((lengths > MAX_CELL) | (first == _BAR))).tolist():
        goes_on[number] = not (kinds[lines[number] : ends[number] + 1] & LETTER).any()
    goes_on &= ~_IS_BRACE[first]  # a line of JSON or code
    # Numbers below a blank line and a sentence are a row of their own, such as the years above a table.
    is_apart = (kinds[lines[1:] - 2] & NEWLINE > 0) & (kinds[ends[:-1]] & (STOP | WIDE_STOP) > 0)
    goes_on[1:] &= ~(is_apart & is_digit(first[1:]))
    goes_on[1:] |= is_wrapped(lines, ends, kinds, plain)
    goes_on[:1] = False
    begins: Bools = ~goes_on
    return begins


def _after_stops(text: str, stops: Ints, lines: Ints, kinds: Bytes, plain: Codes) -> Ints:
    """Return where the sentences after `stops` begin."""
    behind = _behind_marks(stops + 1, kinds)
    is_blank = (kinds[behind] & (SPACE | NEWLINE)) == SPACE
    stops, behind = stops[is_blank], behind[is_blank]
    starts = skip_blanks(behind + 1, kinds, 1, SPACE | NEWLINE)
    # In French a blank is before the mark that closes a quotation.
    is_mark = ((kinds[starts] & CLOSING) > 0) & ((kinds[starts + 1] & SPACE) > 0) & ~_IS_OPENING[plain[starts]]
    starts[is_mark] = skip_blanks(starts[is_mark] + 1, kinds, 1, SPACE | NEWLINE)
    is_end = ~_is_inside(text, stops, starts, lines, kinds, plain)
    is_end &= ((behind == stops + 1) & ~is_mark) | ((kinds[starts] & LOWER) == 0)  # "Why?" he asked
    found: Ints = starts[is_end & ((kinds[starts] & NEWLINE) == 0)]
    return found


def _behind_marks(places: Ints, kinds: Bytes) -> Ints:
    """Return each of `places` moved beyond the marks that close: of quotations, a bracket, emphasis."""
    for _ in range(MAX_MARKS):
        places = places + ((kinds[places] & CLOSING) > 0)
    return places


def _is_inside(text: str, stops: Ints, starts: Ints, lines: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each stop is inside a sentence, which goes on at `starts`."""
    line_starts = lines[np.searchsorted(lines, stops, "right") - 1]
    first = skip_blanks(line_starts, kinds, 1, SPACE | NEWLINE)
    is_row = (plain[first] == _BAR) | (plain[first] == _BRACE)
    run = letters_before(stops, kinds)
    is_number = is_digit(plain[stops - 1])
    # Where all is written small, a small letter begins sentences, too.
    is_before_small = (kinds[starts] & LOWER > 0) & (kinds[first] & LOWER == 0)
    is_capital = ((kinds[stops - run] & LOWER) == 0) & ~follows_number(stops - run, kinds, plain)
    is_order = _is_roman(stops, run, plain) & is_capital  # "Henry IV.", but not "20 V."
    is_inside = (run > 0) & (run <= MAX_SHORT) & (is_before_small | is_order) & (plain[stops] == _FULL_STOP)
    is_inside |= is_abbreviated(stops, starts, kinds, plain) | _is_leader(stops, starts, kinds, plain)
    for number in np.flatnonzero(is_number & (run <= 2) & ~is_inside).tolist():
        stop = int(stops[number])
        is_inside[number] = _BEFORE_ORDINALS.search(text, stop - _LOOK_BACK, stop) is not None
    is_item = _ends_number(stops, line_starts, run, kinds, plain)
    before = np.searchsorted(stops, stops - run - 2).clip(0, len(stops) - 1)
    is_item &= ~((stops[before] == stops - run - 2) & is_inside[before])  # "See Fig. 3. It shows"
    for number in np.flatnonzero(~is_item & (stops - first <= MAX_NUMBERED)).tolist():
        is_item[number] = _NUMBERED.match(text, first[number], stops[number]) is not None
    found: Bools = is_inside | is_row | is_item
    return found


def _ends_number(stops: Ints, line_starts: Ints, run: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each stop ends the number or letter of an item; a line or a sentence begins with it."""
    before, last, is_near = stops - run, plain[stops - 1], stops - line_starts < MAX_ITEM_NUMBER
    begins = is_near | (((kinds[before - 1] & SPACE) > 0) & ((kinds[before - 2] & (STOP | NEWLINE)) > 0))
    is_number = is_digit(last) | is_digit(plain[before]) | (run == 1) | _is_roman(stops, run, plain)
    found: Bools = ((last == _BRACKET) & is_near) | (begins & (run > 0) & (run < MAX_SHORT) & is_number)
    return found


def _is_roman(stops: Ints, run: Ints, plain: Codes) -> Bools:
    """Return whether the `run` letters before each stop are a number such as "iii"."""
    steps = np.arange(1, MAX_ROMAN + 1)
    is_number = (_IS_ROMAN[plain[stops[:, None] - steps]] | (run[:, None] < steps)).all(1)
    found: Bools = is_number & (run > 0) & (run <= MAX_ROMAN)
    return found


def _is_leader(stops: Ints, starts: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each stop is in a line of dots, with or without blanks, such as before the page in contents."""
    is_dotted = (plain[stops - 1] == _FULL_STOP) & (plain[stops - 2] == _FULL_STOP) & (plain[stops - 3] == _FULL_STOP)
    is_spaced = ((kinds[stops - 1] & SPACE) > 0) & (plain[stops - 2] == _FULL_STOP)
    found: Bools = is_dotted | is_spaced | ((plain[starts] == _FULL_STOP) & ((kinds[starts + 1] & SPACE) > 0))
    return found


def _rows_whole(text: str, starts: Ints) -> Ints:
    """Return `starts` with each row of a table in HTML as one sentence, whatever lines and stops it has."""
    begins, ends = list[int](), list[int]()
    at, close, end = text.find("<tr"), -1, 0
    while at >= 0:
        close = text.find("</tr", at) if close < at else close
        if close < 0:
            break
        following = text.find("<tr", at + 1)
        if not 0 <= following < close and (row := _AFTER_ROW.match(text, close)):
            table = _TABLE.search(text[max(end, at - _LOOK_BEFORE) : at])
            begins.append(at - len(table[0]) if table else at)
            ends.append(end := row.end())
        at = following
    if not begins:
        return starts
    found = np.array([begins, ends], np.intp)
    inside = np.searchsorted(found[0], starts) - 1  # the last row that begins before each
    kept = starts[(inside < 0) | (starts >= found[1][inside])]
    return merge_sorted(kept, found[0], found[1][found[1] < len(text)])


def _divide(text: str, starts: Ints, longest: int, part: int, pause: re.Pattern[str]) -> Ints:
    """Return `starts` with more in sentences longer than `longest`: behind each `pause` from the end of a `part` on."""
    lengths = np.diff(starts, append=len(text))
    more: list[int] = []
    for number in np.flatnonzero(lengths > longest).tolist():
        start, end = int(starts[number]), int(starts[number] + lengths[number])
        while end - start > longest and (found := pause.match(text, start + part, end)) and found.end() < end:
            start = found.end()
            more.append(start)
    return merge_sorted(starts, np.array(more, np.intp)) if more else starts
