"""The words of a query, and their places in a text.

A word is found by its first six letters, which most forms of it share. Of a long word, mostly a compound, these say too
little: it is also a term by all its letters but the last two, and such a find counts in addition. So is a name by the
signs at its ends, such as C# or .NET. What has no other forms is found whole: an identifier (ISO27001, getUserName) and
an operator (==). A number is found in groups, too: 5,000 or 5 000 for 5000.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.kinds import LETTER, character_table, codes_of, table_of
from ctxassembly.text.scan import FIRST_BITS, STEM, Scan, find_words, first_letters, stem_keys
from ctxassembly.text.sentences import PAD
from ctxassembly.text.words import is_identifier

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Codes
    from ctxassembly.text.scan import Ints, Keys

LONG_WORD, ENDING = 10, 2
"""Letters of the shortest long word, and of the ending in which its forms differ."""
_OPERATORS = r"[=<>!+*/%&|^~@:$-]"
_SIGNED = re.compile(
    r"(?<!\w)(?:\w+(?:\+\+|\#)(?!\w)|\.[^\W\d]\w+)"  # C++, C#, .NET
    rf"|(?<![^\s`'\"(])(?:[=<>+*%@^~|]|(?!--)(?!//?/){_OPERATORS}{{2,3}})(?![^\s`'\"),.;?])"
)
_OPERATOR_SIGNS, _NAME_SIGNS = table_of("=<>!+*/%&|^~@:$-#"), table_of("+#")
"""An operator, and a name with a sign at an end, are found where none of these is beside it."""
_MARKS, _POINTS = table_of(",.' \u2019\xa0\u202f\u2009"), table_of(",.'")
"""What is between groups of three digits."""
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[,.' \u2019\xa0\u202f\u2009]\d{3})+(?!\w)")
_ANY_MARK = 0
"""The code that stands for one of the marks."""
MIN_GROUPED = 4
"""Digits of the shortest number that may be in groups."""


class Terms(NamedTuple):
    """The different words of a query: their stems, then what long ones and names have beside the stem."""

    keys: Keys
    """Of the stems, ascending."""
    begins: NDArray[np.bool_]
    """Whether a stem begins with two letters, by their number."""
    longs: list[tuple[int, Codes]]
    """The number of the stem of each long word, and its letters behind the stem but the ending."""
    wholes: list[tuple[int, Codes]]
    """What is found whole; before it, the number of its stem, or -1 if no stem of it is a term."""
    grouped: list[tuple[int, Codes]]
    """The numbers of terms, and how they are written in groups of three digits."""

    @property
    def size(self) -> int:
        """The number of terms."""
        return len(self.keys) + len(self.longs) + len(self.wholes)

    @property
    def stems(self) -> list[int]:
        """The number of the stem of each term that isn't a stem itself; -1 for none."""
        return [stem for stem, _ in (*self.longs, *self.wholes)]


def query_terms(query: str) -> Terms:
    """Return the terms of `query`."""
    query = _GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), query)
    table, codes = character_table(), codes_of(PAD + query + PAD)
    plain = table.plain.take(codes)
    starts, lengths = find_words(table.kinds.take(codes))
    spans = [*zip(starts.tolist(), lengths.tolist(), strict=True)]
    words = [query[start - len(PAD) :][:length] for start, length in spans]
    is_whole = np.array([len(word) > STEM and is_identifier(word) for word in words], bool)
    short = np.minimum(lengths, STEM)
    found = stem_keys(plain, starts, short)
    keys = np.unique(found[~is_whole])
    begins = np.zeros(1 << FIRST_BITS, bool)
    begins[first_letters(plain, starts, short)[~is_whole]] = True
    stems, longs, wholes = np.searchsorted(keys, found).tolist(), {}, {}
    for number, (start, length) in enumerate(spans):
        if is_whole[number]:
            wholes[words[number]] = -1, plain[start : start + length]
        elif length >= LONG_WORD:
            tail = plain[start + STEM : start + length - ENDING]
            longs[tail.tobytes(), stems[number]] = stems[number], tail
    for name in _SIGNED.finditer(query):
        first, last = (place + len(PAD) for place in name.span())
        inside = np.flatnonzero((starts >= first) & (starts < last) & ~is_whole)
        wholes[name[0]] = stems[inside[0]] if len(inside) else -1, plain[first:last]
    grouped = []
    for number, word in enumerate(words):
        if word.isdecimal() and len(word) >= MIN_GROUPED:
            term = len(keys) + len(longs) + [*wholes].index(word) if is_whole[number] else stems[number]
            start, length = spans[number]
            code = plain[start : start + length]
            grouped.append((term, np.insert(code, range(len(word) % 3 or 3, len(word), 3), _ANY_MARK)))
    return Terms(keys, begins, [*longs.values()], [*wholes.values()], grouped)


def find_terms(scan: Scan, terms: Terms) -> tuple[Ints, Ints]:
    """Return offset and number of each occurrence of `terms`. Most words are skipped by their first two letters."""
    likely = np.flatnonzero(terms.begins.take(scan.firsts))
    starts = scan.words[likely]
    keys = stem_keys(scan.plain, starts, scan.lengths[likely])
    numbers = np.minimum(np.searchsorted(terms.keys, keys), len(terms.keys) - 1)
    is_same = terms.keys[numbers] == keys
    starts, numbers = starts[is_same], numbers[is_same]
    offsets, found = [starts], [numbers]
    for number, (stem, tail) in enumerate(terms.longs, len(terms.keys)):
        own = starts[numbers == stem]
        places = np.minimum(own[:, None] + np.arange(STEM, STEM + len(tail)), len(scan.plain) - 1)
        own = own[(scan.plain[places] == tail).all(1)]
        offsets.append(own)
        found.append(np.full(len(own), number))
    wholes = ((number, one) for number, (_, one) in enumerate(terms.wholes, len(terms.keys) + len(terms.longs)))
    for number, whole in (*wholes, *terms.grouped):
        own = _find_whole(scan, whole)
        offsets.append(own)
        found.append(np.full(len(own), number))
    return np.concatenate(offsets), np.concatenate(found)


def _find_whole(scan: Scan, whole: Codes) -> Ints:
    """Return where a name, operator or number is that no other letter or sign makes longer."""
    kinds = character_table().kinds
    plain, size = scan.plain, len(whole)
    is_letter = (kinds[whole] & LETTER) > 0
    signs = np.flatnonzero(~is_letter & (whole != _ANY_MARK))
    rare = int(signs[0]) if len(signs) else size - 1  # a sign is rarer than a letter
    at = np.flatnonzero(plain == whole[rare]) - rare
    at = at[(at > 1) & (at < len(plain) - size - 1)]
    found = plain[at[:, None] + np.arange(size)]
    is_same = found == whole
    is_grouped = _ANY_MARK in whole
    if is_grouped:
        is_same |= (whole == _ANY_MARK) & _MARKS[found]
    at = at[is_same.all(1)]
    for edge, step in ((0, -1), (size - 1, 1)):
        beside = at + edge + step
        is_longer = (scan.kinds[beside] & LETTER) > 0
        if is_grouped:
            is_longer |= _POINTS[plain[beside]] & ((scan.kinds[beside + step] & LETTER) > 0)
        elif not is_letter.any():
            is_longer = _OPERATOR_SIGNS[plain[beside]]
        elif not is_letter[edge]:  # C++11 is C++, but a.NET isn't .NET
            is_longer = _NAME_SIGNS[plain[beside]] | (is_longer & (step < 0))
        at = at[~is_longer]
    places: Ints = at
    return places
