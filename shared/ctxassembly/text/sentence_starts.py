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

from ctxassembly.text.kinds import CLOSING, LETTER, LOWER, NEWLINE, SPACE, STOP, UNSPACED, WIDE_STOP, table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Bytes, Codes

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.intp]

_DIGITS = (ord("0"), ord("9"))
_FULL_STOP, _BAR, _COLON, _BRACKET, _BRACE, _COMMA, _SEMICOLON, _TAB = map(ord, ".|:){,;\t")
MIN_SEPARATORS = 2
"""Separators of the shortest row of values; three lines with as many of them are rows."""
_IS_BRACE, _IS_ROMAN = table_of("{}"), table_of("ivx")
MIN_WRAPPED, MIN_WRAPPED_UNSPACED = 40, 12
"""Characters of the shortest line that may be full: nobody breaks prose to less. Wide characters need half the room."""
_IS_OPENING = table_of("\"'\u201c\u2018\u00ab(*`_")
"""Marks that may be before the first word of a line."""
_CARRIAGE_RETURN = ord("\r")
_IS_OPEN_ENDING = table_of(',-\u2010"\u201d\u2019\u00bb;')
"""Last characters of a line after which, as after a letter, the sentence may go on."""
_FEW_BLANKS = 8
"""Blanks in a row that are stepped over one by one; more are rare."""
MAX_CELL = 24
"""Characters of the longest line without a letter that is a cell of the row above; a longer one is a row itself."""
MAX_ITEM_NUMBER = 5
"""Characters up to the stop of the number of an item, such as "(iv)." or "12.3."."""
MAX_SHORT, MAX_ROMAN = 4, 3
"""Letters of the longest word that may be an abbreviation by its place, and of a number such as "iii"."""
_ABBREVIATIONS = (
    "abb abs afb al app art arts aufl bd bijv blz bsp bzgl bzw ca cap cf chap co cr dr dra dres ed eds eq etc evtl ext "
    "fa ff fig figs fr geb gegr ggf hr hrsg hw ihv inc incl inkl jr kap lit ltd max min mme mr mrs ms mw nr nos nl no "
    "op par pp prof resp rev sect sen sog sr sra st str tab tel usw vgl vol vols vs zgn zzgl"
)
"""Words of up to four letters that end in a full stop inside sentences, of the five languages of headers."""
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
MAX_NUMBERED = 17
_NUMBERED = re.compile(r"[^\W\d_]{1,12} \d{1,3}[A-Za-z]?\Z")
"""A word and a number that begin a line, up to the stop: "Article 17. Title" is one heading."""


def _keys(words: str) -> NDArray[np.uint64]:
    """Return the numbers of `words` of at most four letters, ascending."""
    numbers = [sum(ord(letter) << 16 * place for place, letter in enumerate(word)) for word in words.split()]
    return np.array(sorted(numbers), np.uint64)


_KNOWN = _keys(_ABBREVIATIONS)
_ENDINGS = _keys("prox schn")
"""The last letters of longer ones: approx., Abschn."""


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
        wide = _skip_blanks(wide + ((kinds[wide] & CLOSING) > 0), kinds, 1, SPACE | NEWLINE)
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
    ends = np.append(lines[1:], len(kinds) - _FEW_BLANKS) - 1
    ends = last_characters(ends, kinds)
    lengths = ends - lines + 1
    is_letter = ((kinds & LETTER) > 0) & ~((plain >= _DIGITS[0]) & (plain <= _DIGITS[1]))
    goes_on = ~np.logical_or.reduceat(is_letter, lines)
    first = plain[_skip_blanks(lines, kinds, 1, SPACE | NEWLINE)]
    # A long line of digits, or one with bars, is a row itself, but for a rule below a head, which has no digit either.
    for number in np.flatnonzero(goes_on & ((lengths > MAX_CELL) | (first == _BAR))).tolist():
        goes_on[number] = not (kinds[lines[number] : ends[number] + 1] & LETTER).any()
    goes_on &= ~_IS_BRACE[first]  # a line of JSON or code
    goes_on[1:] |= _is_wrapped(lines, ends, lengths, kinds, plain)
    goes_on[:1] = False
    begins: Bools = ~goes_on
    return begins


def run_lengths(flags: Bools) -> Ints:
    """Return for each row of `flags` how many it begins with that are true."""
    lengths: Ints = np.logical_and.accumulate(flags, 1).sum(1)
    return lengths


def last_characters(ends: Ints, kinds: Bytes) -> Ints:
    """Return for each of `ends` the last character up to it that is no white space; the first one if there is none."""
    return _skip_blanks(ends, kinds, -1, SPACE)


def _skip_blanks(places: Ints, kinds: Bytes, step: int, read: int) -> Ints:
    """Return each of `places` moved by `step` beyond blanks: kinds of which SPACE alone is among the bits `read`."""
    for _ in range(_FEW_BLANKS):
        is_blank = (kinds[places] & read) == SPACE
        if not is_blank.any():
            return places
        places = (places + step * is_blank).clip(0, len(kinds) - 1)
    # A long run of white space, as in a form or hostile text, is skipped at once: time stays linear.
    others = np.flatnonzero((kinds & read) != SPACE)
    if not len(others):
        return places * 0
    at = np.searchsorted(others, places, "right") - 1 if step < 0 else np.searchsorted(others, places)
    found: Ints = others[at.clip(0, len(others) - 1)]
    return found


def _is_wrapped(lines: Ints, ends: Ints, lengths: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each line but the first only goes on with a full line of prose before it."""
    last, first = ends[:-1], lines[1:]
    breaks = np.where(plain[first - 2] == _CARRIAGE_RETURN, first - 3, first - 2)
    is_next_line = (kinds[breaks] & NEWLINE) == 0
    ahead = first[:, None] + np.arange(_FEW_BLANKS)
    # An indentation, or marks before the first word.
    first = first + run_lengths(((kinds[ahead] & (SPACE | NEWLINE)) == SPACE) | _IS_OPENING[plain[ahead]])
    is_open = ((kinds[last] & LETTER) > 0) | _IS_OPEN_ENDING[plain[last]]
    is_open &= ((kinds[last] & CLOSING) == 0) | ((kinds[last - 1] & (STOP | WIDE_STOP)) == 0)  # "Go."
    before = np.append(0, lengths[:-2]) if len(lengths) > 1 else lengths[:0]
    around = np.maximum(before, lengths[1:])
    bars = np.flatnonzero(plain == _BAR)
    has_cells = np.searchsorted(bars, lines[:-1]) < np.searchsorted(bars, last)
    separators = np.flatnonzero((plain == _COMMA) | (plain == _SEMICOLON) | (plain == _TAB))
    counts = np.searchsorted(separators, ends) - np.searchsorted(separators, lines)
    is_alike = (counts[1:] == counts[:-1]) & (counts[1:] >= MIN_SEPARATORS)
    has_cells |= is_alike & (np.append(False, is_alike[:-1]) | np.append(is_alike[1:], False))
    is_full = (lengths[:-1] >= MIN_WRAPPED) & ~has_cells
    is_small = (kinds[first] & LOWER) > 0
    # A capital may begin a heading as well: its word must not have had room on the line before.
    word_ends = first + run_lengths((kinds.take(first[:, None] + np.arange(_LOOK_BACK), mode="clip") & LETTER) > 0)
    is_word = (word_ends > first) & ~((plain[first] >= _DIGITS[0]) & (plain[first] <= _DIGITS[1]))
    had_no_room = lengths[:-1] + (word_ends - first) >= np.maximum(around, MIN_WRAPPED)
    # A label, such as "name:"; but in prose a small word is before a colon, too.
    is_label = plain[word_ends] == _COLON
    is_label[1:] &= ~is_small[1:] | is_label[:-1]
    spaced = is_full & ~is_label & (is_small | (is_word & had_no_room & (around >= MIN_WRAPPED)))
    is_unspaced = (kinds[last] & kinds[first] & UNSPACED) > 0
    unspaced = is_unspaced & (lengths[:-1] >= np.maximum(around - 2, MIN_WRAPPED_UNSPACED))
    goes_on: Bools = is_next_line & is_open & (spaced | unspaced)
    return goes_on


def _after_stops(text: str, stops: Ints, lines: Ints, kinds: Bytes, plain: Codes) -> Ints:
    """Return where the sentences after `stops` begin."""
    behind = stops + 1
    for _ in range(2):  # a quotation mark and a bracket
        behind = behind + ((kinds[behind] & CLOSING) > 0)
    is_blank = (kinds[behind] & (SPACE | NEWLINE)) == SPACE
    stops, behind = stops[is_blank], behind[is_blank]
    starts = _skip_blanks(behind + 1, kinds, 1, SPACE | NEWLINE)
    # In French a blank is before the mark that closes a quotation.
    is_mark = ((kinds[starts] & CLOSING) > 0) & ((kinds[starts + 1] & (SPACE | NEWLINE)) == SPACE)
    starts = starts + 2 * is_mark
    is_end = ~_is_inside(text, stops, starts, lines, kinds, plain)
    is_end &= (behind == stops + 1) | ((kinds[starts] & LOWER) == 0)  # "Why?" he asked
    found: Ints = starts[is_end & ((kinds[starts] & NEWLINE) == 0)]
    return found


def _is_inside(text: str, stops: Ints, starts: Ints, lines: Ints, kinds: Bytes, plain: Codes) -> Bools:
    """Return whether each stop is inside a sentence, which goes on at `starts`."""
    line_starts = lines[np.searchsorted(lines, stops, "right") - 1]
    first = _skip_blanks(line_starts, kinds, 1, SPACE | NEWLINE)
    is_row = (plain[first] == _BAR) | (plain[first] == _BRACE)
    steps = np.arange(1, MAX_SHORT + 2)
    places = stops[:, None] - steps
    run = run_lengths((kinds[places] & LETTER) > 0)  # the letters before the stop, one more than MAX_SHORT at most
    fours: NDArray[np.uint64] = np.ndarray((len(plain) - MAX_SHORT,), "<u8", plain, 0, (2,))  # four letters in one load
    keys = fours[stops - MAX_SHORT] >> (16 * np.maximum(MAX_SHORT - run, 0)).astype(np.uint64)
    is_known = _KNOWN.take(np.searchsorted(_KNOWN, keys), mode="clip") == keys
    is_known = np.where(run > MAX_SHORT, (keys == _ENDINGS[0]) | (keys == _ENDINGS[1]), is_known)
    is_short = (run > 0) & ((run <= MAX_SHORT) | is_known)
    last = plain[stops - 1]
    is_number = (last >= _DIGITS[0]) & (last <= _DIGITS[1])
    is_roman = (_IS_ROMAN[plain[places]] | (run[:, None] < steps))[:, :MAX_ROMAN].all(1)
    before = stops - run
    begins_in_digit = (plain[before] >= _DIGITS[0]) & (plain[before] <= _DIGITS[1])
    begins = (stops - line_starts < MAX_ITEM_NUMBER) | (
        ((kinds[before - 1] & SPACE) > 0) & ((kinds[before - 2] & (STOP | NEWLINE)) > 0)
    )
    is_bracketed = (last == _BRACKET) & (stops - line_starts < MAX_ITEM_NUMBER)
    is_item = is_bracketed | (
        begins & (run > 0) & (run < MAX_SHORT) & (is_number | begins_in_digit | (run == 1) | is_roman)
    )
    # Where all is written small, a small letter begins sentences, too.
    is_before_small = (kinds[starts] & LOWER > 0) & (kinds[first] & LOWER == 0)
    following = plain[starts]
    is_before_number = (following >= _DIGITS[0]) & (following <= _DIGITS[1])
    has_capital = (kinds[stops - run] & LOWER) == 0
    is_inside = is_short & (
        is_known | is_before_small | (~is_number & ((run == 1) | (has_capital & (is_before_number | is_roman))))
    )
    is_inside &= plain[stops] == _FULL_STOP
    for number in np.flatnonzero(is_number & (run <= 2) & ~is_inside).tolist():
        stop = int(stops[number])
        is_inside[number] = _BEFORE_ORDINALS.search(text, stop - _LOOK_BACK, stop) is not None
    may_be_heading = begins_in_digit & ~is_item & (stops - first <= MAX_NUMBERED)
    for number in np.flatnonzero(may_be_heading).tolist():
        is_item[number] = _NUMBERED.match(text, first[number], stops[number]) is not None
    found: Bools = is_inside | is_row | is_item
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
