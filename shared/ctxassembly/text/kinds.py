"""One table for all scripts: the kind of each character, and its plain form.

A text is read as an array of character codes, and these tables turn it into arrays of kinds and of plain characters in
one step each. So words and sentences are found by comparing numbers, in every script the same way; a new script is a
range in a list. Characters beyond the basic plane are rare: they are read as a Chinese character or as a sign.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Bytes = NDArray[np.uint8]
    Codes = NDArray[np.uint16]
    Ints = NDArray[np.intp]

LETTER, SPACE, STOP, CLOSING, NEWLINE, LOWER, UNSPACED, WIDE_STOP = (1 << bit for bit in range(8))
"""Kinds, as bits. LETTER: a letter, a digit, a mark on one, or "_". STOP: may end a sentence if a blank follows.
CLOSING: may come after a stop. UNSPACED: of a script without spaces between words. WIDE_STOP: ends a sentence without
a blank."""

UNSPACED_RANGES = (
    (0x3005, 0x3008),  # Japanese iteration marks
    (0x3040, 0x3100),  # Hiragana, Katakana
    (0x31F0, 0x3200),
    (0x3400, 0xA000),  # Chinese characters
    (0xF900, 0xFB00),
    (0x0E01, 0x0EDF),  # Thai, Lao
    (0x1000, 0x10A0),  # Burmese
    (0x1780, 0x1800),  # Khmer
)
_STOPS = ".!?\u2026\u0589"
_CLOSING = (
    "\"'\u201d\u2019\u00bb\u203a)]*_\u300d\u300f\uff09\u201c\u2018\u00ab\u2039\u3009\u300b\u3011\u3015\uff02\u05f4"
)
_WIDE_STOPS = "\u3002\uff01\uff1f\uff61\u0964\u0965\u061f\u06d4\u1362\u1367\u17d4\u17d5\u104b\u0f0d"
_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
_PLANE = 0x10000
_CHINESE, _NO_LETTERS, _HIGH_SURROGATES = 0x3400, range(0x3400, 0xF900), 0xD800
"""Between U+3400 and U+D800 all are letters that have no other form; from there to U+F900 none is."""
FEW_BLANKS = 8
"""Blanks in a row that are stepped over one by one; more are rare. A text is padded with as many."""


class CharacterTable(NamedTuple):
    """By character code: the kind, and the code of the plain form (lower case, without accent, digits of ASCII)."""

    kinds: Bytes
    plain: Codes


@cache
def character_table() -> CharacterTable:
    """Return the table of the basic plane, made once in some 10 ms."""
    kinds, plain = np.zeros(_PLANE, np.uint8), np.arange(_PLANE, dtype=np.uint16)
    for code in (*range(_NO_LETTERS.start), *range(_NO_LETTERS.stop, _PLANE)):
        character = chr(code)
        if character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M":
            kinds[code] = LETTER | (LOWER if character.islower() else 0)
            digit = unicodedata.decimal(character, None)
            form = unicodedata.normalize("NFKD", character.lower())[:1] if digit is None else str(digit)
            plain[code] = min(ord(form or character), _PLANE - 1)
        elif character.isspace():
            kinds[code] = SPACE | (NEWLINE if character in _BREAKS else 0)
    kinds[_CHINESE:_HIGH_SURROGATES] = LETTER
    for low, high in UNSPACED_RANGES:
        kinds[low:high] |= LETTER | UNSPACED
    for characters, kind in ((_STOPS, STOP), (_CLOSING, CLOSING), (_WIDE_STOPS, WIDE_STOP)):
        kinds[[*map(ord, characters)]] |= kind
    return CharacterTable(kinds, plain)


def table_of(characters: str) -> NDArray[np.bool_]:
    """Return by character code whether it is one of `characters`."""
    table = np.zeros(_PLANE, bool)
    table[[*map(ord, characters)]] = True
    return table


def codes_of(text: str) -> Codes:
    """Return the code of each character of `text`: one number for each, also beyond the basic plane."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if len(encoded) == 2 * len(text):
        return np.frombuffer(encoded, np.uint16)
    wide = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    # From U+20000 on there are Chinese characters; below, emoji and rare scripts, read as a sign.
    other = np.where(wide >= 0x20000, _CHINESE + (wide & 0xFFF), 0x2600)
    return np.where(wide < _PLANE, wide, other).astype(np.uint16)


def is_digit(plain: Codes) -> Bools:
    """Return whether each of `plain` is a digit."""
    found: Bools = (plain >= ord("0")) & (plain <= ord("9"))
    return found


def run_lengths(flags: Bools) -> Ints:
    """Return for each row of `flags` how many it begins with that are true."""
    lengths: Ints = np.logical_and.accumulate(flags, 1).sum(1)
    return lengths


def last_characters(ends: Ints, kinds: Bytes) -> Ints:
    """Return for each of `ends` the last character up to it that is no white space; the first one if there is none."""
    return skip_blanks(ends, kinds, -1, SPACE)


def skip_blanks(places: Ints, kinds: Bytes, step: int, read: int) -> Ints:
    """Return each of `places` moved by `step` beyond blanks: kinds of which SPACE alone is among the bits `read`."""
    for _ in range(FEW_BLANKS):
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
