"""Stems as numbers, and where the words of texts begin: what a query's words are looked for in.

A stem has at most six letters. In Latin-1 these are the lower bytes of its key, so the keys of all words of all texts
come of one load of eight bytes each and a mask. Any other stem has its hash for a key, with the top bit set: that two
stems of one corpus share a key has a chance of one in a million million.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.data.chunks import Span
from ctxassembly.text.latin import BYTES, PADDING
from ctxassembly.text.terms import STEM_CHARS, stems
from ctxassembly.text.words import is_spaced, placed, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHER = 1 << 63
_BEYOND = "\u0100"
"""The first character beyond Latin-1."""
_HARD = "ßµ"
"""Letters that have more than one letter, or one beyond Latin-1, in `plain` text."""
_WORD = re.compile(r"\w+")
_ACCENTED = re.compile("(?:\\w[\u0300-\u036f]*)+")
"""A word with accents that are characters of their own."""
_MASKS = np.array([(1 << 8 * letters) - 1 for letters in range(STEM_CHARS + 1)], dtype="<u8")


class Words(NamedTuple):
    """The words of a text, in order."""

    at: NDArray[np.uint32]
    """Where each begins, or in a script without spaces its sentence, if `plain` text has other places."""
    keys: NDArray[np.uint64]
    """The key of each one's stem."""


@lru_cache(16_384)
def key_of(stem: str) -> int:
    """The key of a stem as `stems` makes them."""
    if stem.isascii() or max(stem) < _BEYOND:
        return int.from_bytes(stem.encode("latin-1"), "little")
    return hash(stem) & (_OTHER - 1) | _OTHER


def _letter(char: str) -> str:
    """The letter of `plain` text for `char`; a zero if it is part of no word."""
    same = char if char in _HARD else plain(char)
    return same if len(same) == 1 and (same.isalnum() or same == "_") else "\0"


_FOLDED = bytes(ord(_letter(chr(byte))) if chr(byte) in BYTES else 0 for byte in range(256))


def words_in(whole: bytes) -> Words:
    """The words of texts as `as_bytes` makes them; they begin at places in the bytes."""
    folded = whole.translate(_FOLDED)
    letters = np.frombuffer(folded, np.uint8)
    is_part = letters != 0
    changes = np.flatnonzero(is_part[1:] != is_part[:-1]) + 1
    at, ends = changes[::2], changes[1::2]
    loads: NDArray[np.uint64] = np.ndarray((len(folded) - PADDING + 1,), "<u8", folded, 0, (1,))
    keys = loads[at] & _MASKS[np.minimum(ends - at, STEM_CHARS)]
    for letter in _HARD.encode("latin-1"):
        if letter in folded:
            found = np.flatnonzero(letters == letter)
            of = np.searchsorted(at, found, "right") - 1
            for place in of[found - at[of] < STEM_CHARS].tolist():
                keys[place] = _hard_key(folded[at[place] : ends[place]])
    return Words(at.astype(np.uint32), keys)


@lru_cache(4_096)
def _hard_key(word: bytes) -> int:
    return key_of(plain(word.decode("latin-1"))[:STEM_CHARS])


def words_of(text: str, sentences: Sequence[Span]) -> Words:
    """The words of a text in any script, which has these `sentences`."""
    same = plain(text)
    found = list(_spaced(text, same) if is_spaced(same) else _unspaced(text, same, sentences))
    own = [stem for _, stem in found]
    keys = np.fromiter(map(hash, own), np.int64, len(own)).view(np.uint64) | np.uint64(_OTHER)
    for number in [number for number, stem in enumerate(own) if stem < _BEYOND]:
        keys[number] = key_of(own[number])
    return Words(np.array([at for at, _ in found], dtype=np.uint32), keys)


def _spaced(text: str, same: str) -> Iterator[tuple[int, str]]:
    if len(same) == len(text):
        return ((match.start(), match[0][:STEM_CHARS]) for match in _WORD.finditer(same))
    # Plain text may be longer or shorter: then the words of the text are made plain one by one.
    return ((match.start(), stem) for match in _ACCENTED.finditer(text) for stem in stems(match[0]))


def _unspaced(text: str, same: str, sentences: Sequence[Span]) -> Iterator[tuple[int, str]]:
    if len(same) == len(text):
        return ((at, word[:STEM_CHARS]) for at, word in placed(same))
    return ((begin, stem) for begin, end in sentences for stem in stems(text[begin:end]))
