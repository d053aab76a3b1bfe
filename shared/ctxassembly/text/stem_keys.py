"""Stems as numbers, and where the words of texts begin: what a query's words are looked for in.

A stem has at most six letters. In Latin-1 these are the lower bytes of its key, so the keys of all words of all texts
come of one load of eight bytes each and a mask. Any other stem has a key with the top bit set: its hash, so that two
stems of one corpus share a key has a chance of one in a million million; or its characters, if they are at most two. So
the pairs of a text without spaces, which has as many of them as characters, come of one array: its words are found in
a fourteenth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.data.chunks import Span
from ctxassembly.text.latin import BYTES, PADDING
from ctxassembly.text.terms import STEM_CHARS, stems
from ctxassembly.text.words import UNSPACED, is_spaced, plain, spaced_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHER = 1 << 63
_CHAR_BITS = 21
_PAIR = 2
"""Characters of the longest stem whose key has them."""
_BEYOND = "\u0100"
"""The first character beyond Latin-1."""
_HARD = "ßµ".encode("latin-1")
"""Letters that have more than one letter, or one beyond Latin-1, in `plain` text."""
_WORD = re.compile(r"\w+")
_ACCENTED = re.compile("(?:\\w[\u0300-\u036f]*)+")
"""A word with accents that are characters of their own."""
_STEM, _LOWEST, _HIGHEST = (np.uint64(byte * 0x01_01_01_01_01_01) for byte in (0xFF, 0x01, 0x80))
"""All bits of a stem, and the lowest and the highest one of each letter."""


class Words(NamedTuple):
    """The words of a text, in order."""

    at: NDArray[np.intp]
    """Where each begins, or in a script without spaces its sentence, if `plain` text has other places."""
    keys: NDArray[np.uint64]
    """The key of each one's stem."""


@lru_cache(16_384)
def key_of(stem: str) -> int:
    """The key of a stem as `stems` makes them."""
    if stem.isascii() or max(stem) < _BEYOND:
        return int.from_bytes(stem.encode("latin-1"), "little")
    if len(stem) <= _PAIR:
        return _OTHER | ord(stem[0]) << _CHAR_BITS | ord(stem[1:] or "\0")
    return hash(stem) & (_OTHER - 1) | _OTHER


def _letter(char: str) -> str:
    """The letter of `plain` text for `char`; a zero if it is part of no word."""
    same = char if ord(char) in _HARD else plain(char)
    return same if len(same) == 1 and (same.isalnum() or same == "_") else "\0"


_FOLDED = bytes(ord(_letter(chr(byte))) if chr(byte) in BYTES else 0 for byte in range(256))


def words_in(whole: bytes) -> Words:
    """The words of texts as `as_bytes` makes them; they begin at places in the bytes."""
    folded = whole.translate(_FOLDED)
    is_part = np.frombuffer(folded, np.uint8) != 0
    at = np.flatnonzero(is_part[1:] > is_part[:-1]) + 1
    loads: NDArray[np.uint64] = np.ndarray((len(folded) - PADDING + 1,), "<u8", folded, 0, (1,))
    keys = loads[at] & _STEM
    # The highest bit of the first letter that is none: with that, the stem ends (Warren, Hacker's Delight, 6-1).
    end = (keys - _LOWEST) & ~keys & _HIGHEST
    keys &= (end & -end) - np.uint64(1)
    for letter in _HARD:
        if letter in folded:
            found = np.flatnonzero(np.frombuffer(folded, np.uint8) == letter)
            of = np.searchsorted(at, found, "right") - 1
            for number in of[found - at[of] < STEM_CHARS].tolist():
                place = at[number].item()
                keys[number] = _hard_key(folded[place : place + STEM_CHARS].partition(b"\0")[0])
    return Words(at, keys)


@lru_cache(4_096)
def _hard_key(letters: bytes) -> int:
    return key_of(plain(letters.decode("latin-1"))[:STEM_CHARS])


def words_of(text: str, sentences: Sequence[Span]) -> Words:
    """The words of a text in any script, which has these `sentences`."""
    same = plain(text)
    if is_spaced(same):
        return _keyed(_spaced(text, same))
    if len(same) == len(text):
        return _in_pairs(same)
    return _keyed((begin, stem) for begin, end in sentences for stem in stems(text[begin:end]))


def _spaced(text: str, same: str) -> Iterator[tuple[int, str]]:
    if len(same) == len(text):
        return ((match.start(), match[0][:STEM_CHARS]) for match in _WORD.finditer(same))
    # Plain text may be longer or shorter: then the words of the text are made plain one by one.
    return ((match.start(), stem) for match in _ACCENTED.finditer(text) for stem in stems(match[0]))


def _keyed(found: Iterable[tuple[int, str]]) -> Words:
    places, own = [], []
    for at, stem in found:
        places.append(at)
        own.append(stem)
    keys = np.fromiter(map(hash, own), np.int64, len(own)).view(np.uint64) | np.uint64(_OTHER)
    for number in [number for number, stem in enumerate(own) if stem < _BEYOND or len(stem) <= _PAIR]:
        keys[number] = key_of(own[number])
    return Words(np.array(places, dtype=np.intp), keys)


def _in_pairs(text: str) -> Words:
    """The words of a plain text in a script without spaces: see `words`."""
    codes, table = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), _unspaced()
    unspaced = np.append(table[np.minimum(codes, len(table) - 1)], False)
    goes_on = unspaced[1:]
    # A pair begins at each character but the last one of a run, and one that stands alone is a word, too.
    begins = unspaced[:-1] & (goes_on | ~np.append(False, unspaced[:-2]))
    at = np.flatnonzero(begins)
    second = np.where(goes_on[at], np.append(codes, 0)[at + 1], 0).astype(np.uint64)
    keys = codes[at].astype(np.uint64) << np.uint64(_CHAR_BITS) | second | np.uint64(_OTHER)
    others = _keyed((match.start(), match[0][:STEM_CHARS]) for match in spaced_words(text))
    if not len(others.at):
        return Words(at, keys)
    at, keys = np.append(at, others.at), np.append(keys, others.keys)
    order = np.argsort(at)
    return Words(at[order], keys[order])


@cache
def _unspaced() -> NDArray[np.bool_]:
    """Whether each character is of a script without spaces; the last one stands for all beyond."""
    table = np.zeros(max(ord(last) for _, last in UNSPACED) + 2, dtype=bool)
    for first, last in UNSPACED:
        table[ord(first) : ord(last) + 1] = True
    return table
