"""How many tokens a text has at least, without counting them.

The patterns by which cl100k and o200k split a text before they merge anything begin a new token wherever certain kinds
of characters meet. Such places are counted: of three bytes in a row each rule names what the first, the second and the
third may be. A rule is a bit, so that all of them are looked for at once, in the whole text as one number.

Most chunks that don't fit are found so. If they were counted, an assembly of texts that are new would take a tenth
(with a query) to a third (without) more instructions: `make bench-instructions`, 20 hits.
"""

from __future__ import annotations

import string
from typing import NamedTuple

LONGEST_TOKEN = 128
"""Characters of the longest token of any of the encodings: a run of blanks."""
MOST_CHARS_PER_TOKEN = 8
"""Twice what a token of English prose has. Nothing depends on it but time."""

_ANY = bytes(range(256))
_LETTERS = string.ascii_letters.encode()
_DIGITS = string.digits.encode()
# An apostrophe may begin the end of a word, as in "don't"; a slash may belong to the line break before it, in o200k.
_SIGNS = string.punctuation.replace("'", "").replace("/", "").encode()
_BLANKS = b" \t"
_LINE_BREAKS = b"\r\n"
# First bytes of characters none of which is white space.
_BEYOND_ASCII = bytes({*range(0xC3, 0xF5)} - {0xE1, 0xE2, 0xE3})
_AFTER_LINE_BREAK = _LETTERS + _DIGITS + _SIGNS + b"'" + _BEYOND_ASCII
_NO_SPACE = _AFTER_LINE_BREAK + b"/"


class _Rule(NamedTuple):
    """Where these follow each other, one more token begins, and no other rule counts the same one."""

    first: bytes
    second: bytes
    third: bytes


_RULES = (
    # No token reaches from one word into another.
    _Rule(_ANY, _BLANKS + b"\x0b\x0c", _NO_SPACE),
    _Rule(_ANY, _LINE_BREAKS, _AFTER_LINE_BREAK),
    # Nor from a letter to a digit, a sign or a line break, or from a digit to anything else.
    _Rule(_ANY, _LETTERS, _DIGITS + _SIGNS + b"/\n"),
    _Rule(_ANY, _DIGITS, _LETTERS + _SIGNS + b"/\n"),
    # A sign belongs to the letter after it, unless a blank or another sign takes it; and nothing to a digit.
    _Rule(b" " + _SIGNS, _SIGNS + b"/", _LETTERS),
    _Rule(_ANY, _SIGNS + b"/' ", _DIGITS),
    # Of the blanks before a word only the last one is its own, and those that end a line belong to its break.
    _Rule(_BLANKS, _BLANKS, _NO_SPACE),
    _Rule(_LETTERS + _DIGITS + _SIGNS, _BLANKS, _LINE_BREAKS),
)


def _bits(place: int) -> bytes:
    """For every byte the rules in which it may stand at that place."""
    return bytes(sum(1 << bit for bit, rule in enumerate(_RULES) if byte in rule[place]) for byte in range(256))


_FIRST, _SECOND, _THIRD = _bits(0), _bits(1), _bits(2)


def at_least(text: str, enough: int | None = None) -> int:
    """A lower bound of the tokens of `text` in any of the encodings that are additive, without counting them.

    Wherever the text stands, no more than one of them is in part another text's. If `enough` is given, it looks no
    further than it takes to exceed that in most texts.
    """
    if enough is not None:
        text = text[: (enough + 1) * MOST_CHARS_PER_TOKEN]
    encoded = text.encode("utf-8", "surrogatepass")
    first = int.from_bytes(encoded.translate(_FIRST), "big")
    second = int.from_bytes(encoded.translate(_SECOND), "big")
    third = int.from_bytes(encoded.translate(_THIRD), "big")
    return max((first >> 16 & second >> 8 & third).bit_count(), len(text) // LONGEST_TOKEN)
