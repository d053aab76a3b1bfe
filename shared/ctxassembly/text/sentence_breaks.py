"""Where sentences may end, found in many texts at once, as arrays of characters.

A break is a line break, a stop with white space after it, a full stop of a script that puts no blank after it, or a
blank between two Thai words. `sentences.py` says which of them end a sentence. Most are settled here, by the characters
next to them: most surely end one, and most ends of full lines surely don't. The rest depends on the words around the
break and on where its sentence begins, which `sentence_rules.py` looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.characters import (
    CAPITAL,
    CLOSING_MARK,
    CONSONANT,
    FULL_STOP,
    LETTER,
    MARK_AFTER_WORD,
    MAY_BEGIN_WORD,
    MAY_CONTINUE,
    NUMBER,
    OPENING_MARK,
    PADDING,
    ROMAN,
    SMALL,
    SPACE,
    STOP,
    Characters,
)
from ctxassembly.text.sentence_rules import (
    FREQUENT_VOWELS,
    MAX_ITEM_NUMBER_CHARS,
    MAX_SENTENCE_CHARS,
    MIN_WORD_CHARS,
    MIN_WRAPPED_CHARS,
    continues,
    split_long,
)

if TYPE_CHECKING:
    from ctxassembly.text.characters import BoolArray, IntArray

_NEWLINE, _FULL_POINT, _BRACKET, _BLANK, _NO_BREAK_SPACE = map(ord, "\n.) \xa0")
_COMMA, _SEMICOLON, _COLON, _HYPHEN = map(ord, ",;:-")
_THAI = range(0x0E00, 0x0F00)
"""The characters of Thai and Lao."""
_SURE_MARKS, _SURE_WORD_CHARS = 2, PADDING // 2
"""Marks before and after the first word of a line that are looked at, and characters of the word."""


def sentence_starts(characters: Characters) -> IntArray:
    """Return the offset of each sentence or line but the first of each text, ascending: see `sentence_spans`.

    The time is linear in the length of the texts, whatever they are. One by one, texts take several times as long.
    """
    breaks = _find_breaks(characters)
    starts = breaks.end[_are_ends(characters, breaks)]
    # White space at the end of a text belongs to its last sentence.
    text_ends = characters.starts[characters.starts.searchsorted(starts)] - 1
    is_sentence = starts < text_ends
    indented = characters.is_space[starts].nonzero()[0]
    is_sentence[indented] &= characters.space_end(starts[indented]) < text_ends[indented]
    starts = starts[is_sentence]
    borders = np.concatenate((starts, characters.starts))
    borders.sort()
    is_long = borders[1:] - borders[:-1] > MAX_SENTENCE_CHARS
    if is_long.any():
        parts = _long_parts(characters, borders[:-1][is_long], borders[1:][is_long])
        starts = np.concatenate((starts, parts))
        starts.sort()
    return starts


def _long_parts(characters: Characters, starts: IntArray, ends: IntArray) -> IntArray:
    """Return where all parts but the first of the long sentences from `starts` to `ends` begin."""
    parts: list[int] = []
    for number, start, end in zip(
        characters.text_numbers(starts).tolist(), starts.tolist(), ends.tolist(), strict=True
    ):
        text, offset = characters.texts[number], int(characters.starts[number])
        edges = split_long(text, start - offset, min(end - offset, len(text)))
        parts += [offset + edge for edge in edges][:-1]
    return np.array(parts, dtype=np.int64)


class _Breaks(NamedTuple):
    """Breaks as columns, in order. Offsets are those in the characters texts."""

    at: IntArray
    """Offset of the stop, the line break or the blank."""
    end: IntArray
    """Offset after it and the marks and white space that belong to it."""
    last: IntArray
    """Offset of the character before the white space."""
    is_sure: BoolArray
    """True if a sentence ends there, whatever words are around it."""


def _are_ends(characters: Characters, breaks: _Breaks) -> BoolArray:
    """Return which of `breaks` end a sentence."""
    are_ends = breaks.is_sure.copy()
    doubtful = (~are_ends).nonzero()[0]
    at, end = breaks.at[doubtful], breaks.end[doubtful]
    text_numbers = characters.text_numbers(at)
    offsets = characters.starts[text_numbers]
    # A sentence begins at the last sure end before it, unless a doubtful break after that has turned out to be one.
    begins = np.maximum(np.maximum.accumulate(np.where(are_ends, breaks.end, 0))[doubtful], offsets)
    columns = (column.tolist() for column in (doubtful, text_numbers, offsets, begins, at, end))
    last_end = 0
    for number, text_number, offset, begin, break_at, break_end in zip(*columns, strict=True):
        start = max(begin, last_end) - offset
        if not continues(characters.texts[text_number], start, break_at - offset, break_end - offset):
            are_ends[number] = True
            last_end = break_end
    return are_ends


def _find_breaks(characters: Characters) -> _Breaks:
    """Return all breaks but those at which a full line surely continues."""
    lines = _find_lines(characters)
    stops, is_stopped = _stop_breaks(characters, lines)
    found = [stops, _line_breaks(characters, lines, is_stopped)]
    if characters.are(FULL_STOP).any():
        found.append(_full_stop_breaks(characters, lines, stops.at))
    if any(vowel in characters.joined for vowel in FREQUENT_VOWELS):
        found.append(_thai_blanks(characters))
    columns = np.concatenate([breaks[:3] for breaks in found], axis=1)
    order = columns[1].argsort(kind="stable")  # the quickest for parts that are in order
    at, end, last = columns.take(order, axis=1)
    is_sure = np.concatenate([breaks.is_sure for breaks in found]).take(order)
    # The number of an item ends in a digit, a single letter or a Roman number. The sentence that it would be begins at
    # the break before this one, or earlier.
    text_starts = characters.starts[characters.text_numbers(at)]
    last_codes = characters.codes[last]
    is_item = (last_codes == _FULL_POINT) | (last_codes == _BRACKET)
    is_item[1:] &= end[1:] - np.maximum(end[:-1], text_starts[1:]) <= MAX_ITEM_NUMBER_CHARS
    one, two = characters.kinds[last - 1], characters.kinds[last - 2]
    is_item &= (one & (NUMBER | LETTER) != 0) & ((one & two & LETTER == 0) | (one & ROMAN != 0))
    return _Breaks(at, end, last, is_sure & ~is_item)


class _Lines(NamedTuple):
    """The runs of white space with line breaks in them, as columns: those in texts, one before them and one after."""

    at: IntArray
    """Offset of the first line break."""
    end: IntArray
    """Offset after the last line break."""
    word: IntArray
    """Offset after the run."""


def _find_lines(characters: Characters) -> _Lines:
    breaks = characters.newlines
    word = characters.space_end(breaks)
    last = np.append((word[1:] != word[:-1]).nonzero()[0], len(word) - 1)
    return _Lines(breaks[np.append(0, last[:-1] + 1)], breaks[last] + 1, word[last])


def _have_bars(characters: Characters, start: IntArray, end: IntArray) -> BoolArray:
    """Return whether there is a bar from each of `start` up to each of `end`."""
    bars = characters.bars
    have_bars: BoolArray = bars.searchsorted(start) < bars.searchsorted(end)
    return have_bars


def _stop_breaks(characters: Characters, lines: _Lines) -> tuple[_Breaks, BoolArray]:
    """Return the stops with white space after them, and which of `lines` follow one of these."""
    codes = characters.codes
    marks = characters.are(STOP | CLOSING_MARK).nonzero()[0]
    is_stop = characters.are(STOP, marks)
    # For each mark, the first one of its run of stops, or of closing marks.
    first = np.arange(len(marks))
    first[1:][(marks[1:] == marks[:-1] + 1) & (is_stop[1:] == is_stop[:-1])] = 0
    np.maximum.accumulate(first, out=first)
    mark = characters.is_space[marks + 1].nonzero()[0]
    is_closed = ~is_stop[mark]
    stop = np.where(is_closed, first[mark] - 1, mark)
    word = characters.space_end(marks[mark] + 1)
    line = lines.word.searchsorted(word)
    has_line = lines.word[line] == word
    # Not after closing marks alone, nor after those that a small letter follows.
    is_break = ~is_closed | (is_stop[stop] & (marks[stop] + 1 == marks[first[mark]]))
    is_break &= ~(is_closed & ~has_line & characters.are(SMALL, word))
    found = is_break.nonzero()[0]  # as an index of several columns, a fifth of the time of flags
    mark, stop, word, line, has_line = (column[found] for column in (mark, stop, word, line, has_line))
    at, last = marks[first[stop]], marks[mark]
    end = np.where(has_line, lines.end[line], word)
    is_stopped = np.zeros(len(lines.at), dtype=bool)
    is_stopped[line[has_line]] = True

    blank = codes[at + 1]
    is_sure = (end != at + 2) | (codes[at] != _FULL_POINT) | ((blank != _BLANK) & (blank != _NO_BREAK_SPACE))
    is_sure |= _is_after_word(characters, at, word)
    if len(characters.bars):  # a stop in a row of a table
        is_sure &= ~_have_bars(characters, lines.end[line - 1], at)
    return _Breaks(at, end, last, is_sure), is_stopped


def _is_after_word(characters: Characters, at: IntArray, next_word: IntArray) -> BoolArray:
    """Return which of the full stops at `at` are surely no part of an abbreviation."""
    before = at - np.arange(1, MIN_WORD_CHARS + 1)[:, None]  # below zero, they are in the padding
    kinds, next_kinds = characters.kinds[before], characters.kinds[next_word]
    is_letter = kinds & LETTER != 0
    # A shorter word has a vowel among its last letters, no stop inside, and no small letter follows.
    is_vowel = is_letter[:3] & (kinds[:3] & CONSONANT == 0)
    is_short = is_letter[0] & is_letter[1] & is_vowel.any(axis=0) & (kinds[0] & kinds[1] & ROMAN == 0)
    is_short &= (characters.codes[before[2:4]] != _FULL_POINT).all(axis=0)
    is_short &= (next_kinds & CAPITAL != 0) | (next_kinds & LETTER == 0)
    is_word = (is_letter.all(axis=0) | is_short) & (next_kinds & NUMBER == 0)
    is_after_word: BoolArray = is_word | (kinds[0] & (MAY_BEGIN_WORD | NUMBER) == 0)
    return is_after_word


def _line_breaks(characters: Characters, lines: _Lines, is_stopped: BoolArray) -> _Breaks:
    """Return the breaks at `lines` that no stop precedes, but for lines that surely continue."""
    found = (~is_stopped[1:-1]).nonzero()[0] + 1  # in texts
    at, end, word = (column[found] for column in lines)
    start = np.maximum(lines.end[found - 1], characters.starts[characters.text_numbers(at)])
    last, length = at - 1, at - start
    last_kinds = characters.kinds[last]
    is_full = (end == at + 1) & (length >= MIN_WRAPPED_CHARS) & (last_kinds & MAY_CONTINUE != 0)
    for _ in range(_SURE_MARKS):
        word = word + characters.are(OPENING_MARK, word)
    is_full &= characters.are(MAY_BEGIN_WORD | OPENING_MARK, word)
    if len(characters.bars):
        is_full &= ~_have_bars(characters, start, at)
    is_sure = ~is_full & (last_kinds & SPACE == 0) & (length > 0)
    full = is_full.nonzero()[0]
    is_followed, is_doubtful = _next_words(characters, word[full])
    is_sure[full] = ~(is_followed | is_doubtful)
    is_left = np.ones(len(at), dtype=bool)
    is_left[full] = is_doubtful | ~is_followed
    found = is_left.nonzero()[0]
    return _Breaks(at[found], end[found], last[found], is_sure[found])


def _next_words(characters: Characters, word: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which of the words at `word` surely continue the full line before them, and which are doubtful.

    One continues it if it is in small letters and only closing marks, a comma or a stop are between it and white space.
    No word does that other characters follow, such as the name of a function.
    """
    kinds = characters.kinds[word[:, None] + np.arange(_SURE_WORD_CHARS)]
    letters = (kinds & MAY_BEGIN_WORD == 0).argmax(axis=1)
    is_small = (kinds & SMALL == 0).argmax(axis=1) == letters
    letters_end = end = word + letters
    for _ in range(_SURE_MARKS):
        end = end + characters.are(MARK_AFTER_WORD, end)
    codes = characters.codes[end]
    is_pause = (codes == _COMMA) | (codes == _FULL_POINT) | (codes == _SEMICOLON)
    end, codes = end + is_pause, characters.codes[end + is_pause]
    is_word, is_alone = letters > 0, characters.is_space[end]
    # A mark after the letters may be inside a compound, and a colon or the end of the text may follow.
    may_continue = characters.are(MARK_AFTER_WORD, letters_end) | (characters.codes[letters_end] == _HYPHEN)
    may_continue |= (codes == _COLON) | (codes == 0)
    is_sure = is_word & is_alone & is_small
    return is_sure, ~is_sure & (is_alone | may_continue | ~is_word)


def _full_stop_breaks(characters: Characters, lines: _Lines, stopped: IntArray) -> _Breaks:
    """Return the full stops that need no white space after them, but for those in the runs at `stopped`."""
    full_stops = characters.are(FULL_STOP).nonzero()[0]
    starts, _ = characters.runs(STOP)
    run = starts.searchsorted(full_stops, side="right") - 1
    is_last = np.append(run[1:] != run[:-1], True)
    at, end = starts[run[is_last]], full_stops[is_last] + 1
    closing_starts, closing_ends = characters.runs(CLOSING_MARK)
    closing = closing_starts.searchsorted(end)
    end = np.where(np.append(closing_starts, 0)[closing] == end, np.append(closing_ends, 0)[closing], end)
    is_new = ~np.isin(at, stopped)
    at, end = at[is_new], end[is_new]
    line_starts = lines.end[lines.end.searchsorted(at, side="right") - 1]
    return _Breaks(at, end, end - 1, ~_have_bars(characters, line_starts, at))


def _thai_blanks(characters: Characters) -> _Breaks:
    """Return the blanks between two letters of Thai or Lao."""
    codes = characters.codes
    is_thai, is_blank = (codes >= _THAI.start) & (codes < _THAI.stop), codes == _BLANK
    at = (is_thai[:-1] & is_blank[1:]).nonzero()[0] + 1
    have_vowels = [any(vowel in text for vowel in FREQUENT_VOWELS) for text in characters.texts]
    at = at[np.array(have_vowels, dtype=bool)[characters.text_numbers(at)]]
    end, blanks = characters.space_end(at), is_blank.nonzero()[0]
    is_between = is_thai[end] & (blanks.searchsorted(end) - blanks.searchsorted(at) == end - at)
    at, end = at[is_between], end[is_between]
    return _Breaks(at, end, at - 1, np.zeros(len(at), dtype=bool))
