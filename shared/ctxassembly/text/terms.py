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
from ctxassembly.text.words import is_identifier, strip_invisible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Codes
    from ctxassembly.text.scan import Ints, Keys

    Bools = NDArray[np.bool_]

LONG_WORD, ENDING = 10, 2
"""Letters of the shortest long word, and of the ending in which its forms differ."""
_OPERATORS = "=<>!+*/%&|^~@:$-"
_SIGNED = re.compile(
    r"(?<!\w)(?:\w+(?:\+\+|\#)(?![^\W\d])|\.[^\W\d]\w+)"  # C++, C#, .NET
    rf"|(?<![^\s`'\"(])(?:[=<>+*%@^~|]|(?!--)(?!//?/)[{_OPERATORS}]{{2,3}})(?![^\s`'\"),.;?])"
)
_SHARP, _PLUS = map(ord, "#+")
_IS_SIGN, _IS_OPERATOR = table_of("+#"), table_of(_OPERATORS + "#")
_MARKS = ",.' \u2019\xa0\u202f\u2009\u066c\uff0c\uff0e"
"""What is between groups of three digits, in India of two but for the last."""
_IS_MARK, _IS_POINT = table_of(_MARKS), table_of(_MARKS[:3])
_GROUPED = re.compile(rf"(?<![\w.,])(?:\d{{1,3}}(?:[{_MARKS}]\d{{3}})+|\d{{1,2}}(?:,\d{{2}})+,\d{{3}})(?!\w)")
_ANY_MARK = 0
"""The code that replaces each of the marks."""
MIN_GROUPED, MIN_GROUPED_BY_TWO = 4, 6
"""Digits of the shortest number that may be in groups, of three and of two."""


class Terms(NamedTuple):
    """The different words of a query: their stems, then what is found in addition to a stem, or in its place."""

    keys: Keys
    """Of the stems, ascending."""
    begins: Bools
    """Whether a stem begins with two letters, by their number."""
    stems: list[int]
    """The number of the stem that each further term is found in addition to; -1 for none."""
    longs: list[Codes]
    """Of long words, which are the first of these terms, the letters behind the stem but the ending."""
    wholes: list[tuple[int, Codes]]
    """The number of a term, and what is found whole: of names and operators, and of numbers also in groups."""


def query_terms(query: str) -> Terms:
    """Return the terms of `query`."""
    query = _GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), strip_invisible(query))
    codes = codes_of(PAD + query + PAD)
    plain = character_table().plain.take(codes)
    starts, lengths = find_words(character_table().kinds.take(codes))
    spans = zip((starts - len(PAD)).tolist(), lengths.tolist(), strict=True)
    words = [query[start : start + length] for start, length in spans]
    is_whole = np.array([len(word) > STEM and is_identifier(word) for word in words], bool)
    words = [word.lower() for word in words]
    short = np.minimum(lengths, STEM)
    found = stem_keys(plain, starts, short)
    keys = np.unique(found[~is_whole])
    begins = np.zeros(1 << FIRST_BITS, bool)
    begins[first_letters(plain, starts, short)[~is_whole]] = True
    stem_of = {word: -1 if is_whole[at] else int(np.searchsorted(keys, found[at])) for at, word in enumerate(words)}
    longs = {word: stem for word, stem in stem_of.items() if len(word) >= LONG_WORD and stem >= 0}
    names = {word: stem for word, stem in stem_of.items() if stem < 0}
    for name in _SIGNED.findall(query):
        names[name] = stem_of.get(max((word for word in words if word in name.lower()), key=len, default=""), -1)
    term_of = stem_of | {name: number for number, name in enumerate(names, len(keys) + len(longs))}
    wholes = [(term_of[name], _plain(name)) for name in names]
    for word in stem_of:
        if word.isdecimal() and len(word) >= MIN_GROUPED:
            by_three, by_two = range(len(word) % 3 or 3, len(word), 3), range(len(word) % 2 + 1, len(word) - 2, 2)
            ways = (by_three, by_two) if len(word) >= MIN_GROUPED_BY_TWO else (by_three,)
            wholes += [(term_of[word], np.insert(_plain(word), borders, _ANY_MARK)) for borders in ways]
    return Terms(
        keys, begins, [*longs.values(), *names.values()], [_plain(word)[STEM:-ENDING] for word in longs], wholes
    )


def _are_letters(codes: Codes) -> Bools:
    are_letters: Bools = (character_table().kinds[codes] & LETTER) > 0
    return are_letters


def _plain(text: str) -> Codes:
    """Return the characters of `text` in lower case, without accents."""
    return character_table().plain.take(codes_of(text))


def find_terms(scan: Scan, terms: Terms) -> tuple[Ints, Ints]:
    """Return offset and number of each occurrence of `terms`. Most words are skipped by their first two letters."""
    likely = np.flatnonzero(terms.begins.take(scan.firsts))
    starts = scan.words[likely]
    starts = starts if scan.places is None else np.searchsorted(scan.places, starts)
    keys = stem_keys(scan.seen, starts, scan.lengths[likely])
    numbers = np.minimum(np.searchsorted(terms.keys, keys), len(terms.keys) - 1)
    is_same = terms.keys[numbers] == keys
    after = starts + scan.lengths[likely]  # C isn't C#, nor C++, unless these are asked for
    is_signed = (scan.seen[after] == _SHARP) | (scan.seen[after] == _PLUS) & (scan.seen[after + 1] == _PLUS)
    is_same &= ~is_signed | np.isin(numbers, terms.stems[len(terms.longs) :])
    starts, numbers = starts[is_same], numbers[is_same]
    found = [(starts, numbers)]
    for number, (stem, tail) in enumerate(zip(terms.stems, terms.longs, strict=False), len(terms.keys)):
        own = starts[numbers == stem]
        places = np.minimum(own[:, None] + np.arange(STEM, STEM + len(tail)), len(scan.seen) - 1)
        own = own[(scan.seen[places] == tail).all(1)]
        found.append((own, np.full(len(own), number)))
    for number, whole in terms.wholes:
        own = _find_whole(scan.seen, whole)
        found.append((own, np.full(len(own), number)))
    offsets = np.concatenate([offsets for offsets, _ in found])
    return offsets if scan.places is None else scan.places[offsets], np.concatenate([terms for _, terms in found])


def _find_whole(plain: Codes, whole: Codes) -> Ints:
    """Return where a name, operator or number is that no other letter or sign makes longer."""
    size = len(whole)
    at = np.flatnonzero(plain == whole[-1]) - (size - 1)
    at = at[(at > 1) & (at < len(plain) - size - 1)]
    found = plain[at[:, None] + np.arange(size)]
    at = at[((found == whole) | ((whole == _ANY_MARK) & _IS_MARK[found])).all(1)]
    before, after = plain[at - 1], plain[at + size]
    if not _are_letters(whole).any():
        is_longer = _IS_OPERATOR[before] | _IS_OPERATOR[after]
    else:  # C++11 is C++, but a.NET isn't .NET
        is_longer = _are_letters(before) | (_are_letters(after) if _are_letters(whole)[-1] else _IS_SIGN[after])
    if _ANY_MARK in whole:
        is_longer |= _IS_POINT[before] & _are_letters(plain[at - 2])
        is_longer |= _IS_POINT[after] & _are_letters(plain[at + size + 1])
    places: Ints = at[~is_longer]
    return places
