"""Many texts as one string of bytes, a byte a character, so that tables and arrays can read them all at once.

That is Latin-1, with the typographic marks and symbols that stand in nearly every text in the places of the control
characters 0x80 to 0x9f, which stand in none. So a place in the bytes is a place in the text. A text with any other
character is strange to it: functions over strings read those.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLANKS = "\u2003\u2009\u202f\u3000"
# Marks that are no part of a word, and become none in compatible form.
_MARKS = (
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a\u2032"  # quotes
    "\u2010\u2011\u2013\u2014\u2212"  # hyphens, dashes, minus
    "\u2026\u2020\u2022\u25a0\u25aa\u25cf\u2192\u2713"  # ellipsis, dagger, bullets, arrow, tick
    "\u2264\u2265\u20ac\u200b\ufeff\ufffd"  # inequality, euro, what has no width, what could not be decoded
    f"{_BLANKS}"
)
_CONTROL = range(0x80, 0xA0)
MARKS = dict(zip(_MARKS, map(chr, _CONTROL), strict=True))
"""The character that stands for each mark."""
BYTES = "".join(map(chr, (*range(0x80), *range(0xA0, 0x100))))
"""The characters that stand for themselves."""
BLANKS = "".join(char for char in BYTES if char.isspace()) + _BLANKS
GUARD = "\0"
"""It stands between two texts: neither white space nor part of a word."""
PADDING = 8
"""Guards at either end, so that a look at the eight bytes before or after a place never leaves the bytes."""
_BYTE_OF = {"?": ord("?"), **{mark: ord(char) for mark, char in MARKS.items()}}


class Bytes(NamedTuple):
    """Texts as bytes, one after the other, with guards around each."""

    whole: bytes
    begins: NDArray[np.intp]
    """The place of each text's first character."""
    strange: frozenset[int]
    """The numbers of the texts that have a guard, or a character without a byte, whose bytes mean nothing."""


def as_bytes(texts: Sequence[str]) -> Bytes:
    """The bytes of `texts`."""
    begins = np.cumsum([PADDING, *(len(text) + 1 for text in texts)], dtype=np.intp)[:-1]
    beside = GUARD * (PADDING - 1)
    joined = GUARD.join((beside, *texts, beside))
    strange = {number for number, text in enumerate(texts) if GUARD in text}
    if joined.isascii():
        return Bytes(joined.encode("ascii"), begins, frozenset(strange))
    whole = bytearray(joined.encode("latin-1", "replace"))
    letters = np.frombuffer(whole, np.uint8)
    others = np.flatnonzero((letters == ord("?")) | (letters - np.uint8(_CONTROL.start) < len(_CONTROL)))  # modulo 256
    for number, (first, last) in enumerate(pairwise([*np.searchsorted(others, begins).tolist(), len(others)])):
        for at in others[first:last].tolist() if first < last else ():
            if (byte := _BYTE_OF.get(joined[at])) is None:
                strange.add(number)
                break
            whole[at] = byte
    return Bytes(bytes(whole), begins, frozenset(strange))


def table(*classes: str) -> bytes:
    """A translation table: for each byte, the sum of 1, 2, 4, ... for the first, second, third, ... class it is in."""
    of = [frozenset(MARKS.get(char, char) for char in chars) for chars in classes]
    return bytes(sum(1 << bit for bit, chars in enumerate(of) if chr(byte) in chars) for byte in range(256))
