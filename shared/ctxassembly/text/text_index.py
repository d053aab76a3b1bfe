"""An index of the sentences and words of texts.

The index of a text doesn't depend on the query, so it is made once and cached by the caller. A word is indexed by the
hash of its prefix, which is the form by which a query finds it (`words.PREFIX_LENGTH`). Two prefixes of one corpus
share a hash of 64 bits with a chance of one in a million million. Many texts are read at once, as arrays of characters:
one by one as strings, they would take four times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from sys import getsizeof
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.characters import SPACED_WORD, UNSPACED_WORD, Characters
from ctxassembly.text.sentence_breaks import sentence_starts
from ctxassembly.text.sentence_rules import CLOSING, STOPS
from ctxassembly.text.words import PREFIX_LENGTH, normalize_with_offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ctxassembly.text.characters import BoolArray, IntArray

HEADING = re.compile("#{1,6} ")
"""The beginning of a heading. A section begins there, or after two blank lines."""


class TextIndex(NamedTuple):
    """Sentences and words of a text. The arrays are kept as bytes, which are quicker to divide and to join."""

    sentence_starts: bytes
    """Offset of each sentence but the first, times two, plus 1 if a section begins there, as `uint32`."""
    word_starts: bytes
    """Offset of each word, ascending, as `uint32`."""
    keys: bytes
    """Hash of each word's prefix, as `int64`."""
    is_ended: bool
    """True if a sentence ends where the text ends."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory: two to three for each character of the text."""
        return sum(map(getsizeof, self))


_BATCH_TEXTS = 72
"""Number of texts that are read at once: more are hardly faster, and take more memory."""


def index_texts(texts: Sequence[str]) -> list[TextIndex]:
    """Return the sentences and words of each of `texts`."""
    indexes: list[TextIndex] = []
    for begin in range(0, len(texts), _BATCH_TEXTS):
        batch = texts[begin : begin + _BATCH_TEXTS]
        columns = _read_sentences(batch), *_read_words(batch), map(_is_ended, batch)
        indexes += map(TextIndex, *columns)
    return indexes


def _read_sentences(texts: Sequence[str]) -> Iterator[bytes]:
    """Yield the starts of the sentences of each of `texts`, as in its index."""
    characters = Characters(texts)
    starts = sentence_starts(characters)
    offsets, counts = characters.in_texts(starts)
    encoded = 2 * offsets + _begin_sections(characters, starts)
    return _divide(encoded.astype(np.uint32), counts)


def _begin_sections(characters: Characters, starts: IntArray) -> BoolArray:
    """Return at which of `starts` a section begins."""
    line_starts = characters.newlines + 1
    begins_section = np.zeros(len(characters.codes), dtype=bool)
    begins_section[line_starts[2:][line_starts[2:] == line_starts[:-2] + 2]] = True
    for start in line_starts[characters.codes[line_starts] == ord("#")].tolist():
        begins_section[start] |= HEADING.match(characters.joined, start) is not None
    begin_sections: BoolArray = begins_section[starts]
    return begin_sections


def _divide(values: NDArray[np.integer], counts: IntArray) -> Iterator[bytes]:
    """Yield the bytes of `values` text by text: `counts` says how many belong to each."""
    whole = values.tobytes()
    bounds = [0, *(values.itemsize * counts.cumsum()).tolist()]
    return (whole[begin:end] for begin, end in pairwise(bounds))


def _is_ended(text: str) -> bool:
    """Return True if a sentence ends where `text` does: after a stop and a blank, or a line break."""
    if not text[-1:].isspace():
        return False
    ended = text.rstrip()
    return "\n" in text[len(ended) :] or ended.rstrip(CLOSING)[-1:] in STOPS


def _read_words(texts: Sequence[str]) -> tuple[Iterator[bytes], Iterator[bytes]]:
    """Return the offsets of the words of each of `texts`, and their keys, as in its index."""
    normalized = [normalize_with_offsets(text) for text in texts]
    characters = Characters([text for text, _ in normalized])
    starts, keys = _word_keys(characters)
    offsets, counts = characters.in_texts(starts)
    for (_, changes), end, count in zip(normalized, counts.cumsum().tolist(), counts.tolist(), strict=True):
        if changes:
            own = offsets[end - count : end]
            own[:] = np.interp(own, *np.array(changes).T)
    return _divide(offsets.astype(np.uint32), counts), _divide(keys, counts)


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number, so that no character is lost when a hash overflows."""
_POWERS = np.array([pow(int(_MULTIPLIER), power, 1 << 64) for power in reversed(range(PREFIX_LENGTH))], dtype=np.uint64)


def _word_keys(characters: Characters) -> tuple[IntArray, IntArray]:
    """Return the offset of each word of normalized texts, and the hash of its prefix.

    In a script with spaces, a word is a run of letters and digits; in others every two adjacent characters are a word,
    and so is a single one.
    """
    codes, is_part = characters.codes, characters.are(SPACED_WORD)
    starts = (is_part[1:] > is_part[:-1]).nonzero()[0] + 1
    keys = codes.take(starts).astype(np.uint64)
    is_inside = np.ones(len(starts), dtype=bool)  # of a word that is as long: quicker than to find all ends
    for distance in range(1, PREFIX_LENGTH):
        places = starts + distance
        is_inside &= is_part.take(places)
        keys *= _MULTIPLIER
        keys += codes.take(places) * is_inside
    is_unspaced = characters.are(UNSPACED_WORD)
    if is_unspaced.any():
        begins = (is_unspaced[1:-1] & (is_unspaced[2:] | ~is_unspaced[:-2])).nonzero()[0] + 1
        pair_keys = codes[begins] * _POWERS[0] + codes[begins + 1] * is_unspaced[begins + 1] * _POWERS[1]
        starts, keys = np.append(starts, begins), np.append(keys, pair_keys)
        order = starts.argsort()
        starts, keys = starts[order], keys[order]
    return starts, (keys ^ (keys >> np.uint64(32))).view(np.int64)


def prefix_keys(prefixes: Iterable[str]) -> IntArray:
    """Return the key of each of `prefixes`, which are normalized: the hash of `_word_keys`, without its arrays."""
    padded = "".join([prefix.ljust(PREFIX_LENGTH, "\0") for prefix in prefixes]).encode("utf-32-le", "surrogatepass")
    keys: NDArray[np.uint64] = np.frombuffer(padded, dtype="<u4").reshape(-1, PREFIX_LENGTH) @ _POWERS
    return (keys ^ (keys >> np.uint64(32))).view(np.int64)
