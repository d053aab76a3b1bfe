"""A lower bound on the tokens of a text, without counting them.

cl100k and o200k split a text by a pattern before they merge anything, so a new token begins wherever certain kinds of
characters meet. The bound is the number of such places. A rule names the kinds of three bytes in a row; each rule is a
bit. The text is translated three times, each byte to the rules in which it may stand first, second or third. Read as
three long integers, shifted by a byte each and combined with `&`, they have a bit set wherever a rule applies: a few
operations find all places of all rules at once.

Most chunks that don't fit are found this way. If they were counted instead, an assembly of new texts would take a tenth
(with a query) to a third (without) more instructions: `make bench-instructions`, 20 hits.
"""

from __future__ import annotations

import string
from typing import NamedTuple

LONGEST_TOKEN = 128
"""Characters of the longest token of the encodings, a run of blanks."""
MOST_CHARS_PER_TOKEN = 8
"""Twice the characters of a token of English prose. Only time depends on it."""

_ANY = bytes(range(256))
_LETTERS = string.ascii_letters.encode()
_DIGITS = string.digits.encode()
# An apostrophe may begin the end of a word, as in "don't"; a slash may belong to the line break before it, in o200k.
_SIGNS = string.punctuation.replace("'", "").replace("/", "").encode()
_BLANKS = b" \t"
_LINE_BREAKS = b"\r\n"
# First bytes, in UTF-8, of characters of which none is white space.
_BEYOND_ASCII = bytes({*range(0xC3, 0xF5)} - {0xE1, 0xE2, 0xE3})
_AFTER_LINE_BREAK = _LETTERS + _DIGITS + _SIGNS + b"'" + _BEYOND_ASCII
_NO_SPACE = _AFTER_LINE_BREAK + b"/"


class _Rule(NamedTuple):
    """Three bytes in a row where a token begins that no other rule counts."""

    first: bytes
    second: bytes
    third: bytes


_RULES = (
    # No token reaches from one word or line into the next.
    _Rule(_ANY, _BLANKS + b"\x0b\x0c", _NO_SPACE),
    _Rule(_ANY, _LINE_BREAKS, _AFTER_LINE_BREAK),
    # No token reaches from a letter to a digit, a sign or a line break, nor from a digit to anything else.
    _Rule(_ANY, _LETTERS, _DIGITS + _SIGNS + b"/\n"),
    _Rule(_ANY, _DIGITS, _LETTERS + _SIGNS + b"/\n"),
    # A sign goes with the letter after it, unless a blank or a sign before it takes it. Nothing goes with a digit.
    _Rule(b" " + _SIGNS, _SIGNS + b"/", _LETTERS),
    _Rule(_ANY, _SIGNS + b"/' ", _DIGITS),
    # Of the blanks before a word, the last goes with the word. Blanks at the end of a line go with its break.
    _Rule(_BLANKS, _BLANKS, _NO_SPACE),
    _Rule(_LETTERS + _DIGITS + _SIGNS, _BLANKS, _LINE_BREAKS),
)


def _bits(place: int) -> bytes:
    """A translation table: for each byte, the rules in which it may stand at `place`, a bit each."""
    return bytes(sum(1 << bit for bit, rule in enumerate(_RULES) if byte in rule[place]) for byte in range(256))


_FIRST, _SECOND, _THIRD = _bits(0), _bits(1), _bits(2)


def at_least(text: str, enough: int | None = None) -> int:
    """A lower bound on the tokens of `text` in every encoding whose counts add up.

    It holds for the text alone. Put into another text, at most one of its tokens crosses the boundary, so the bound is
    one less. With `enough`, only as much of the text is read as exceeds that many tokens in most texts.

    >>> at_least("Drink water until two hours before.")
    6
    """
    if enough is not None:
        text = text[: (enough + 1) * MOST_CHARS_PER_TOKEN]
    encoded = text.encode("utf-8", "surrogatepass")
    first = int.from_bytes(encoded.translate(_FIRST), "big")
    second = int.from_bytes(encoded.translate(_SECOND), "big")
    third = int.from_bytes(encoded.translate(_THIRD), "big")
    return max((first >> 16 & second >> 8 & third).bit_count(), len(text) // LONGEST_TOKEN)
