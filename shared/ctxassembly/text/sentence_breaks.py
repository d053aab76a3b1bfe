"""Where sentences may end, found in many texts at once, as arrays of characters.

A break is a line break, a stop with white space after it, a full stop of a script that puts no blank after it, or a
blank between two Thai words. `sentences.py` says which of them end a sentence. Most are settled here, by the characters
next to them: most surely end one, and most ends of full lines surely don't. The rest depends on the words around the
break and on where its sentence begins, which `sentence_rules.py` looks at.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.sentence_rules import (
    CLOSING,
    CONSONANTS,
    FREQUENT_VOWELS,
    FULL_STOPS,
    MAX_ITEM_NUMBER_CHARS,
    MAX_SENTENCE_CHARS,
    MIN_WORD_CHARS,
    MIN_WRAPPED_CHARS,
    OPEN_ENDINGS,
    OPENING_MARKS,
    SMALL_LETTERS,
    STOPS,
    continues,
    split_long,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]

_SPACE, _LETTER, _NUMBER, _STOP, _FULL_STOP, _CLOSING, _SMALL, _THAI = (1 << bit for bit in range(8))
_MAY_CONTINUE, _MAY_BEGIN_WORD, _ITEM_END, _MARK_AFTER_WORD = (1 << bit for bit in range(8, 12))
_CONSONANT, _ROMAN, _CAPITAL, _OPENING = (1 << bit for bit in range(12, 16))
_CHARACTERS = 0x40000
"""Number of characters in the table of kinds: from here on there are only some rare ideographs."""
_NEWLINE, _FULL_POINT, _BLANK, _NO_BREAK_SPACE, _BAR, _A, _Z = map(ord, "\n. \xa0|az")
_SURE_MARKS, _SURE_WORD_CHARS = 2, 16
"""Marks before the first word of a line that are looked at, and characters of the word with the mark after it."""


@cache
def _character_kinds() -> NDArray[np.uint16]:
    """Return the kinds of each character, as bits; the last entry is for all that the table doesn't have."""
    characters = np.arange(_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.zeros(_CHARACTERS + 1, dtype=np.uint16)
    for pattern, kind in (r"\s+", _SPACE), (r"\d+", _NUMBER), (r"[^\W\d_]+", _MAY_BEGIN_WORD):
        for run in re.finditer(pattern, characters):
            kinds[run.start() : run.end()] = kind
            if kind == _MAY_BEGIN_WORD:  # "½" may begin a word, but is no letter
                are_letters = run[0].isalpha() or [*map(str.isalpha, run[0])]
                kinds[run.start() : run.end()] |= np.where(are_letters, _LETTER | _MAY_CONTINUE, 0).astype(np.uint16)
    for some, kind in (
        (STOPS, _STOP),
        (FULL_STOPS, _FULL_STOP),
        (CLOSING, _CLOSING),
        (SMALL_LETTERS, _SMALL),
        ("(§", _NUMBER),
        (OPEN_ENDINGS, _MAY_CONTINUE),
        (OPENING_MARKS, _OPENING),
        (".)", _ITEM_END),
        (",.;", _MARK_AFTER_WORD),
        (CONSONANTS, _CONSONANT),
        ("IVXivx", _ROMAN),
        (string.ascii_uppercase, _CAPITAL),
    ):
        kinds[[*map(ord, some)]] |= kind
    kinds[0x0E00:0x0F00] |= _THAI
    return kinds


def sentence_starts(texts: Sequence[str]) -> list[IntArray]:
    """Return where the sentences and lines of each of `texts` begin, but for the first: see `sentence_spans`.

    The time is linear in the length of the texts, whatever they are. One by one, texts take several times as long.
    """
    joined = _JoinedTexts(texts)
    breaks = _find_breaks(joined)
    starts = breaks.end[_are_ends(joined, breaks)]
    # White space at the end of a text belongs to its last sentence.
    text_ends = joined.starts[joined.starts.searchsorted(starts)] - 1
    is_sentence = starts < text_ends
    indented = joined.is_space[starts].nonzero()[0]
    is_sentence[indented] &= joined.space_end(starts[indented]) < text_ends[indented]
    starts = starts[is_sentence]
    bounds = pairwise(starts.searchsorted(joined.starts).tolist())
    found = [
        starts[first:behind] - offset for (first, behind), offset in zip(bounds, joined.starts.tolist(), strict=False)
    ]
    all_starts = np.concatenate((starts, joined.starts))
    all_starts.sort()
    long = all_starts[:-1][all_starts[1:] - all_starts[:-1] > MAX_SENTENCE_CHARS]
    for number in {*joined.text_numbers(long).tolist()}:
        spans = pairwise([0, *found[number].tolist(), len(texts[number])])
        edges = [edge for start, end in spans for edge in split_long(texts[number], start, end)]
        found[number] = np.array(edges[:-1], dtype=np.int64)
    return found


class _Breaks(NamedTuple):
    """Breaks as columns, in order. Offsets are those in the joined texts."""

    at: IntArray
    """Offset of the stop, the line break or the blank."""
    end: IntArray
    """Offset after it and the marks and white space that belong to it."""
    last: IntArray
    """Offset of the character before the white space."""
    is_sure: BoolArray
    """True if a sentence ends there, whatever words are around it."""


class _JoinedTexts:
    """Several texts, one after the other with a character between them that is part of no break."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        # A line break before and after all texts spares a check whether there is one.
        self.joined = "\0".join(["\n", *texts, "\n".ljust(2 * _SURE_WORD_CHARS, "\0")])
        self.starts = np.array([*accumulate((len(text) + 1 for text in texts), initial=2)])
        """Offset of each text, and of what would be the next one."""
        self.codes = np.frombuffer(self.joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        self.kinds = _character_kinds().take(self.codes, mode="clip")
        self.is_space = self.are(_SPACE)
        # Most white space is a single blank: only the others are looked up.
        is_long = self.is_space[:-2] & self.is_space[1:-1] & ~self.is_space[2:]
        self._long_space_ends = is_long.nonzero()[0] + 2
        self.bars = (self.codes == _BAR).nonzero()[0] if "|" in self.joined else None

    def are(self, kind: int, places: IntArray | slice = slice(None)) -> BoolArray:
        """Return which of the characters, or of those at `places`, are of this kind, or of one of several."""
        are_kind: BoolArray = self.kinds[places] & kind != 0
        return are_kind

    def space_end(self, at: IntArray) -> IntArray:
        """Return the offset after the white space that `at` is in, for each of them."""
        end = at + 1
        is_long = self.is_space[end]
        end[is_long] = self._long_space_ends[self._long_space_ends.searchsorted(at[is_long], side="right")]
        return end

    def have_bars(self, start: IntArray, end: IntArray) -> BoolArray | np.bool_:
        """Return whether there is a bar from each of `start` up to each of `end`."""
        if self.bars is None:
            return np.False_
        have_bars: BoolArray = self.bars.searchsorted(start) < self.bars.searchsorted(end)
        return have_bars

    def text_numbers(self, at: IntArray) -> IntArray:
        """Return the number of the text that each of `at` is in."""
        numbers: IntArray = self.starts.searchsorted(at, side="right") - 1
        return numbers


def _are_ends(joined: _JoinedTexts, breaks: _Breaks) -> BoolArray:
    """Return which of `breaks` end a sentence."""
    doubtful = (~breaks.is_sure).nonzero()[0]
    text_numbers = joined.text_numbers(breaks.at[doubtful]).tolist()
    offsets, end, are_ends = joined.starts.tolist(), breaks.end.tolist(), breaks.is_sure.tolist()
    begin = 0
    for number, at, text_number in zip(doubtful.tolist(), breaks.at[doubtful].tolist(), text_numbers, strict=True):
        if number and are_ends[number - 1]:
            begin = end[number - 1]
        offset = offsets[text_number]
        begin = max(begin, offset)
        text = joined.texts[text_number]
        are_ends[number] = not continues(text, begin - offset, at - offset, end[number] - offset)
    return np.array(are_ends, dtype=bool)


def _find_breaks(joined: _JoinedTexts) -> _Breaks:
    """Return all breaks but those at which a full line surely continues."""
    lines = _find_lines(joined)
    stops, is_stopped = _stop_breaks(joined, lines)
    found = [stops, _line_breaks(joined, lines, is_stopped)]
    if joined.are(_FULL_STOP).any():
        found.append(_full_stop_breaks(joined, stops.at))
    if any(vowel in joined.joined for vowel in FREQUENT_VOWELS):
        found.append(_thai_blanks(joined))
    columns = np.concatenate([breaks[:3] for breaks in found], axis=1)
    order = columns[1].argsort()
    at, end, last = columns[:, order]
    is_sure = np.concatenate([breaks.is_sure for breaks in found])[order]
    # The number of an item ends in a digit, a single letter or a Roman number. The sentence that it would be begins at
    # the break before this one, or earlier.
    text_starts = joined.starts[joined.text_numbers(at)]
    is_item = joined.are(_ITEM_END, last)
    is_item[1:] &= end[1:] - np.maximum(end[:-1], text_starts[1:]) <= MAX_ITEM_NUMBER_CHARS
    one, two = joined.kinds[last - 1], joined.kinds[last - 2]
    is_item &= (one & (_NUMBER | _LETTER) != 0) & ((one & two & _LETTER == 0) | (one & _ROMAN != 0))
    is_sure &= ~is_item
    if joined.bars is not None:  # a stop in a row of a table
        is_stop = joined.codes[at] != _NEWLINE
        is_sure &= ~(is_stop & joined.have_bars(_line_starts(joined, lines, at), at))
    return _Breaks(at, end, last, is_sure)


class _Lines(NamedTuple):
    """The runs of white space with line breaks in them, as columns: those in texts, one before them and one after."""

    at: IntArray
    """Offset of the first line break."""
    end: IntArray
    """Offset after the last line break."""
    word: IntArray
    """Offset after the run."""


def _find_lines(joined: _JoinedTexts) -> _Lines:
    breaks = (joined.codes == _NEWLINE).nonzero()[0]
    word = joined.space_end(breaks)
    differs = np.ones(len(word) + 1, dtype=bool)
    differs[1:-1] = word[1:] != word[:-1]
    return _Lines(breaks[differs[:-1]], breaks[differs[1:]] + 1, word[differs[1:]])


def _line_starts(joined: _JoinedTexts, lines: _Lines, at: IntArray) -> IntArray:
    """Return the offset of the line that each of `at` is in."""
    line_starts: IntArray = np.maximum(
        lines.end[lines.end.searchsorted(at, side="right") - 1], joined.starts[joined.text_numbers(at)]
    )
    return line_starts


def _stop_breaks(joined: _JoinedTexts, lines: _Lines) -> tuple[_Breaks, BoolArray]:
    """Return the stops with white space after them, and which of `lines` follow one of these."""
    codes = joined.codes
    marks = joined.are(_STOP | _CLOSING).nonzero()[0]
    is_stop = joined.are(_STOP, marks)
    # For each mark, the first one of its run of stops, or of closing marks.
    first = np.arange(len(marks))
    first[1:][(marks[1:] == marks[:-1] + 1) & (is_stop[1:] == is_stop[:-1])] = 0
    np.maximum.accumulate(first, out=first)
    mark = joined.is_space[marks + 1].nonzero()[0]
    is_closed = ~is_stop[mark]
    stop = np.where(is_closed, first[mark] - 1, mark)
    word = joined.space_end(marks[mark] + 1)
    line = lines.word.searchsorted(word)
    has_line = lines.word[line] == word
    # Not after closing marks alone, nor after those that a small letter follows.
    is_break = ~is_closed | (is_stop[stop] & (marks[stop] + 1 == marks[first[mark]]))
    is_break &= ~(is_closed & ~has_line & joined.are(_SMALL, word))
    mark, stop, word, line, has_line = (column[is_break] for column in (mark, stop, word, line, has_line))
    at, last = marks[first[stop]], marks[mark]
    end = np.where(has_line, lines.end[line], word)
    is_stopped = np.zeros(len(lines.at), dtype=bool)
    is_stopped[line[has_line]] = True

    blank = codes[at + 1]
    is_sure = (end != at + 2) | (codes[at] != _FULL_POINT) | ((blank != _BLANK) & (blank != _NO_BREAK_SPACE))
    return _Breaks(at, end, last, is_sure | _is_after_word(joined, at, word)), is_stopped


def _is_after_word(joined: _JoinedTexts, at: IntArray, next_word: IntArray) -> BoolArray:
    """Return which of the full stops at `at` are surely no part of an abbreviation."""
    before = np.maximum(at - np.arange(1, MIN_WORD_CHARS + 1)[:, None], 0)
    kinds, next_kinds = joined.kinds[before], joined.kinds[next_word]
    is_letter = kinds & _LETTER != 0
    # A shorter word has a vowel among its last letters, no stop inside, and no small letter follows.
    is_vowel = is_letter[:3] & (kinds[:3] & _CONSONANT == 0)
    is_short = is_letter[0] & is_letter[1] & is_vowel.any(axis=0) & (kinds[0] & kinds[1] & _ROMAN == 0)
    is_short &= (joined.codes[before[2:4]] != _FULL_POINT).all(axis=0)
    is_short &= (next_kinds & _CAPITAL != 0) | (next_kinds & _LETTER == 0)
    is_word = (is_letter.all(axis=0) | is_short) & (next_kinds & _NUMBER == 0)
    is_after_word: BoolArray = is_word | (kinds[0] & (_MAY_BEGIN_WORD | _NUMBER) == 0)
    return is_after_word


def _line_breaks(joined: _JoinedTexts, lines: _Lines, is_stopped: BoolArray) -> _Breaks:
    """Return the breaks at `lines` that no stop precedes, but for lines that surely continue."""
    is_stopped[[0, -1]] = True  # before and after all texts
    at, end, word = (column[~is_stopped] for column in lines)
    start, last = _line_starts(joined, lines, at), at - 1
    last_kinds = joined.kinds[last]
    is_full = (end == at + 1) & (at - start >= MIN_WRAPPED_CHARS) & (last_kinds & _MAY_CONTINUE != 0)
    for _ in range(_SURE_MARKS):
        word = word + joined.are(_OPENING, word)
    is_full &= joined.are(_MAY_BEGIN_WORD | _OPENING, word) & ~joined.have_bars(start, at)
    is_sure = ~is_full & (last_kinds & _SPACE == 0) & (at > start)
    # A full line surely continues if a word of small letters follows, with no mark but a comma or a stop after it.
    full = is_full.nonzero()[0]
    letters = joined.codes[word[full, None] + np.arange(_SURE_WORD_CHARS)]
    word_end = word[full] + ((letters < _A) | (letters > _Z)).argmax(axis=1)
    word_end += joined.are(_MARK_AFTER_WORD, word_end)
    is_left = np.ones(len(at), dtype=bool)
    is_left[full[joined.is_space[word_end]]] = False
    return _Breaks(at[is_left], end[is_left], last[is_left], is_sure[is_left])


def _full_stop_breaks(joined: _JoinedTexts, stopped: IntArray) -> _Breaks:
    """Return the full stops that need no white space after them, but for those in the runs at `stopped`."""
    full_stops = joined.are(_FULL_STOP).nonzero()[0]
    starts, _ = _runs(joined.are(_STOP))
    run = starts.searchsorted(full_stops, side="right") - 1
    is_last = np.append(run[1:] != run[:-1], True)
    at, end = starts[run[is_last]], full_stops[is_last] + 1
    closing_starts, closing_ends = _runs(joined.are(_CLOSING))
    closing = closing_starts.searchsorted(end)
    end = np.where(np.append(closing_starts, 0)[closing] == end, np.append(closing_ends, 0)[closing], end)
    is_new = ~np.isin(at, stopped)
    return _Breaks(at[is_new], end[is_new], end[is_new] - 1, np.ones(np.count_nonzero(is_new), dtype=bool))


def _runs(is_kind: BoolArray) -> tuple[IntArray, IntArray]:
    """Return where each run of True begins and ends."""
    edges = (is_kind[1:] != is_kind[:-1]).nonzero()[0] + 1
    return edges[::2], edges[1::2]


def _thai_blanks(joined: _JoinedTexts) -> _Breaks:
    """Return the blanks between two letters of Thai or Lao."""
    is_thai, is_blank = joined.are(_THAI), joined.codes == _BLANK
    at = (is_thai[:-1] & is_blank[1:]).nonzero()[0] + 1
    have_vowels = [any(vowel in text for vowel in FREQUENT_VOWELS) for text in joined.texts]
    at = at[np.array(have_vowels, dtype=bool)[joined.text_numbers(at)]]
    end, blanks = joined.space_end(at), is_blank.nonzero()[0]
    is_between = is_thai[end] & (blanks.searchsorted(end) - blanks.searchsorted(at) == end - at)
    at, end = at[is_between], end[is_between]
    return _Breaks(at, end, at - 1, np.zeros(len(at), dtype=bool))
