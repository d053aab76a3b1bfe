"""What a text has whatever the query: where its sentences and its words begin.

A text is padded with white space at both ends (`PAD`), so that looking at the characters around a place never needs a
check. Arrays are of offsets in code points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.kinds import LETTER, SPACE, UNSPACED, character_table, codes_of, table_of
from ctxassembly.text.sentence_starts import sentence_starts
from ctxassembly.text.sentences import PAD
from ctxassembly.text.words import INVISIBLE, strip_invisible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.kinds import Bytes, Codes

    Ints = NDArray[np.intp]
    Keys = NDArray[np.uint64]
    Floats = NDArray[np.float64]

STEM = 6
"""Letters by which two words are forms of one, in any language."""
FIRST_BITS = 12
"""Bits of the number for the first two letters of a word, by which most words are skipped."""
_MASKS = np.array([(1 << 16 * min(length, 4)) - 1 for length in range(STEM + 1)], np.uint64)
_REST_MASKS = np.array([(1 << 16 * max(length - 4, 0)) - 1 for length in range(STEM + 1)], np.uint32)
_FIRST_MASKS = np.array([(1 << 16 * min(length, 2)) - 1 for length in range(STEM + 1)], np.uint32)
_IS_INVISIBLE = table_of(INVISIBLE)
_FACTOR, _REST_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd factors with mixed bits (of splitmix64 and xxHash): two stems that differ have the same key by accident only."""
CHARACTERS_PER_TOKEN, TOKENS_PER_SIGN = 16, 0.6
"""A sentence costs a token a word, one for so many characters, and a part of one for each sign, of which rows of
figures have many: within .09 to .13 of its tokens, once scaled, in three languages."""


class Scan(NamedTuple):
    """The sentences and words of a text."""

    sentences: Ints
    """Where each begins; they tile the text."""
    costs: Floats
    """About how many tokens each sentence has, but for a factor that language and subject decide."""
    kinds: Bytes
    """The kind of each character of the text."""
    plain: Codes
    """Each character in lower case, without accent."""
    words: Ints
    lengths: Ints
    """The letters of each word, at most `STEM`."""
    firsts: Ints
    """A number for the first two letters of each word."""
    seen: Codes
    """`plain` without the characters that nobody sees, which are inside of words and no part of them."""
    places: Ints | None
    """Where each of these is in the text; None if all are seen."""


@lru_cache(maxsize=8)
def scan(text: str) -> Scan:
    """Return what `text`, which is padded, has. The last texts are remembered: the same hits may get a new question."""
    table = character_table()
    codes = codes_of(text)
    kinds, plain = table.kinds.take(codes), table.plain.take(codes)
    seen, places = plain, None
    if len(strip_invisible(text)) < len(text):
        places = np.flatnonzero(~_IS_INVISIBLE.take(codes))
        seen = plain[places]
    words, lengths = find_words(kinds if places is None else kinds[places])
    lengths = np.minimum(lengths, STEM)
    firsts = first_letters(seen, words, lengths)
    words = words if places is None else places[words]
    sentences = sentence_starts(text, kinds, plain)
    signs = np.flatnonzero((kinds & (LETTER | SPACE)) == 0)
    counts = np.diff(np.searchsorted(words, sentences), append=len(words))
    sign_counts = np.diff(np.searchsorted(signs, sentences), append=len(signs))
    costs = counts + TOKENS_PER_SIGN * sign_counts + np.diff(sentences, append=len(text)) / CHARACTERS_PER_TOKEN
    return Scan(sentences, costs, kinds, plain, words, lengths, firsts, seen, places)


def find_words(kinds: Bytes) -> tuple[Ints, Ints]:
    """Return offset and length of each word. In a script without spaces every two adjacent characters are one."""
    is_letter = (kinds & (LETTER | UNSPACED)) == LETTER
    edges = np.flatnonzero(is_letter[1:] != is_letter[:-1])
    starts, lengths = edges[::2] + 1, edges[1::2] - edges[::2]
    is_unspaced = (kinds & UNSPACED) > 0
    if is_unspaced.any():
        places = np.flatnonzero(is_unspaced)
        starts, lengths = np.concatenate([starts, places]), np.concatenate([lengths, 1 + is_unspaced[places + 1]])
        order = starts.argsort(kind="stable")
        starts, lengths = starts[order], lengths[order]
    return starts, lengths


def first_letters(plain: Codes, starts: Ints, lengths: Ints) -> Ints:
    """Return a number of `FIRST_BITS` for the first two letters of each word."""
    two = np.ndarray((len(plain) - len(PAD),), "<u4", plain, 0, (2,)).take(starts) & _FIRST_MASKS[lengths]
    return ((two ^ two >> FIRST_BITS - 1) & (1 << FIRST_BITS) - 1).astype(np.intp)


def stem_keys(plain: Codes, starts: Ints, lengths: Ints) -> Keys:
    """Return a number for the first `STEM` letters of each word: four letters are one load, the rest another."""
    size = len(plain) - len(PAD)
    first = np.ndarray((size,), "<u8", plain, 0, (2,))[starts] & _MASKS[lengths]
    rest = np.ndarray((size,), "<u4", plain, 8, (2,))[starts] & _REST_MASKS[lengths]
    return (first * _FACTOR) ^ (rest * _REST_FACTOR)
