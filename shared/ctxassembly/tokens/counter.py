"""Exact token counts, cached by piece and added up.

Why counts add up. A byte-pair encoding first splits a text by a pattern, and then merges bytes inside each part: no
token crosses a split. So where the pattern splits whatever surrounds it, the counts of the two sides add up to the
count of the whole. Such a place is called safe. For cl100k and o200k three kinds of places are safe:

- before a space, if the character before it is no white space;
- after a newline, if the character after it is neither white space nor "/", or if the line is indented;
- between a Chinese or Japanese letter and a mark such as a comma: these scripts have few spaces.

Packing tries many combinations of the same pieces, and needs the exact count of each. So a piece is measured once: the
`inner_count` tokens from its first safe place to its last, and the ends left over (`prefix` and `suffix`, mostly a word
each). Joining pieces adds up the inner counts and counts only the ends where two pieces meet:

    head | inner ............ | tail + head | inner ............ | tail
         safe                 safe          safe                 safe

Other encodings and callers' own counters promise nothing. Their texts have no safe place and are counted whole.

`lower_bound` needs no count. cl100k and o200k split a text by a pattern before they merge anything, so a new token
begins wherever certain kinds of characters meet. The bound is the number of such places. A rule names the kinds of
three bytes in a row; each rule is a bit. The text is translated three times, each byte to the rules in which it may be
first, second or third. Read as three long integers, shifted by a byte each and combined with `&`, they have a bit set
wherever a rule applies: a few operations find all places of all rules at once. Most chunks that don't fit are found
this way. If they were counted instead, an assembly of new texts would take a tenth (with a query) to a third (without)
more instructions: `make bench-instructions`, 20 hits.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.errors import ConfigError
from ctxassembly.tokens.cache import TextCache
from ctxassembly.tokens.tiktoken_files import faster_counter, load_encoding

MAX_TOKEN_CHARS = 128
"""Characters of the longest token of the encodings, a run of blanks."""
MAX_CHARS_PER_TOKEN = 8
"""Twice the characters of a token of English prose. Only time depends on it."""
MAX_BOUND_CHARS = 12
"""The same for `lower_bound`, which takes most long words for one token."""

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


def _rule_table(position: int) -> bytes:
    """Return a translation table: for each byte, a bit for each rule in which it may be at `position`."""
    return bytes(sum(1 << bit for bit, rule in enumerate(_RULES) if byte in rule[position]) for byte in range(256))


_FIRST, _SECOND, _THIRD = _rule_table(0), _rule_table(1), _rule_table(2)


def lower_bound(text: str) -> int:
    """Return a lower bound on the tokens of `text` in every encoding whose counts add up.

    It holds for the text alone. Put into another text, at most one of its tokens crosses the boundary, so the bound is
    one less.

    >>> lower_bound("Drink water until two hours before.")
    6
    """
    encoded = text.encode("utf-8", "surrogatepass")
    first = int.from_bytes(encoded.translate(_FIRST), "big")
    second = int.from_bytes(encoded.translate(_SECOND), "big")
    third = int.from_bytes(encoded.translate(_THIRD), "big")
    return max((first >> 16 & second >> 8 & third).bit_count(), len(text) // MAX_TOKEN_CHARS)


ADDITIVE_ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony")
"""Encodings whose counts add up at the safe places."""
CACHE_BYTES = 16 * 1024 * 1024
"""Bytes of each cache; an encoding has three. That is about 8,000 texts of 1,500 characters, or 30,000 words.

The texts asked for longest ago are forgotten first.
"""
MAX_COUNTED_CHARS = 100_000
"""Characters that are counted of a text before the rest is estimated: no splitter makes a chunk as long."""
MIN_SLICE_CHARS, MAX_SLICES = 128, 16
"""Smallest slice, in characters, that is counted to find out that a text doesn't fit, and the most slices of a text.

Only time depends on them.
"""

# Long runs of white space are not cut: tiktoken refuses a million blanks, and to count them in parts would hide that.
_LETTER, _MARK = "[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]", "[\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]"
_SAFE = re.compile(rf"(?<=\S)(?= )|(?<=\n)(?=[^\s/]|[ \t]{{1,64}}\S)|(?<={_LETTER})(?={_MARK})")
_UP_TO_LAST_SAFE = re.compile(rf".*(?:{_SAFE.pattern})", re.DOTALL)


class TokenSpan(NamedTuple):
    """A text with the tokens between its first and its last safe place counted."""

    prefix: str
    """The text before the first safe place; all of it if there is none."""
    inner_count: int
    """Tokens from the first safe place to the last one."""
    suffix: str | None
    """The text after the last safe place; None if there is none."""
    characters: int
    """Length of the whole text."""


def _end_bytes(measured: TokenSpan) -> int:
    """Return the bytes of the ends: a text without a safe place is an end as a whole."""
    return measured.prefix.__sizeof__() + (measured.suffix or "").__sizeof__()


class TokenCounter:
    """Exact counts of texts, and measures of pieces that add up to the count of what they make together.

    >>> counter = counter_for("cl100k_base")
    >>> pieces = ["Drink water until", " two hours before", " the examination."]
    >>> counter.tokens(counter.chain(map(counter.measure, pieces))) == counter.count("".join(pieces))
    True
    """

    def __init__(self, count: Callable[[str], int], *, additive: bool) -> None:
        self._count = count
        self._counts = TextCache[int](CACHE_BYTES)
        self._measures = TextCache[TokenSpan](CACHE_BYTES, _end_bytes)
        self._lower_bounds = TextCache[int](CACHE_BYTES)
        self.additive = additive
        """True if counts add up at safe places."""

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        if not self.additive:
            return self._count(text)
        known = self._counts.recent.get(text)
        if known is None:
            known = self._counts.get(text)
        return self._counts.put(text, self._count(text)) if known is None else known

    def measure(self, text: str, cuts: Iterable[int] = ()) -> TokenSpan:
        """Return `text` with its inner tokens counted.

        At `cuts`, ascending, it is divided if that is safe: the parts may have been counted before.
        """
        if not self.additive:
            return TokenSpan(text, 0, None, len(text))
        return self._measures.recent.get(text) or self._measures.get(text) or self._measure(text, cuts)

    def chain(self, pieces: Iterable[TokenSpan]) -> TokenSpan:
        """Return the measure of `pieces` put one after the other. Only the ends where two pieces meet are counted."""
        head, inner, pending, characters = None, 0, "", 0
        for piece in pieces:
            characters += piece.characters
            if piece.suffix is None:
                pending += piece.prefix
                continue
            if head is None:
                head = pending + piece.prefix
            else:
                inner += self.count(pending + piece.prefix)
            inner += piece.inner_count
            pending = piece.suffix
        if head is None:
            return TokenSpan(pending, 0, None, characters)
        return TokenSpan(head, inner, pending, characters)

    def tokens(self, piece: TokenSpan) -> int:
        """Return the tokens of a measured text."""
        if not piece.characters:  # a tokenizer may count its special tokens
            return self.count("")
        return sum(self.count(end) for end in (piece.prefix, piece.suffix) if end) + piece.inner_count

    def estimate(self, text: str, max_tokens: int) -> int:
        """Return the tokens of `text`: exact up to `max_tokens`, estimated from its beginning if it is longer."""
        beginning = text[: max(max_tokens * MAX_CHARS_PER_TOKEN, MAX_COUNTED_CHARS)]
        if len(beginning) < len(text) and (counted := self.tokens(self.measure(beginning))) > max_tokens:
            return round(counted * len(text) / len(beginning))
        return self.tokens(self.measure(text))

    def exceeds(self, texts: Iterable[str], max_tokens: int) -> bool:
        """Return True if `texts` certainly add more than `max_tokens` tokens in any position, False if they may fit.

        It looks for the cheapest proof: tokens already measured, then lower bounds of the other texts, then their exact
        counts, one text after the other until the answer is certain. The last one is counted slice by slice. Without
        the proof, texts that don't fit would be arranged and rendered for nothing.
        """
        if not self.additive:
            return False
        bound = 0
        unknown: list[tuple[str, int]] = []
        for text in texts:
            if bound > max_tokens:
                return True
            known = self._measures.get(text)
            if known is None:
                unknown.append((text, self._lower_bound(text, max_tokens - bound)))
            bound += unknown[-1][1] if known is None else known.inner_count
        while unknown and bound <= max_tokens:
            text, text_bound = unknown.pop()
            bound += (
                self.measure(text).inner_count if unknown else self._count_inner(text, max_tokens - bound + text_bound)
            ) - text_bound
        return bound > max_tokens

    def clear_caches(self) -> None:
        """Empty the caches."""
        self._counts.clear()
        self._measures.clear()
        self._lower_bounds.clear()

    def _measure(self, text: str, cuts: Iterable[int]) -> TokenSpan:
        head, inside, tail = _split_at_boundaries(text)
        begin, end = len(head), len(head) + len(inside)
        places = [begin, *[cut for cut in cuts if begin < cut < end and _SAFE.match(text, cut)], end]
        if len(places) > 2:
            inner = sum([self.count(text[first:last]) for first, last in pairwise(places)])
        else:
            inner = self._count(inside) if inside else 0
        return self._measures.put(text, TokenSpan(head, inner, tail, len(text)))

    def _lower_bound(self, text: str, stop_above: int) -> int:
        """Return a lower bound on the tokens of `text` in any position.

        Only as much of it is read as exceeds `stop_above` tokens in most texts.
        """
        read = text[: (stop_above + 2) * MAX_BOUND_CHARS]
        known = self._lower_bounds.get(read)
        return self._lower_bounds.put(read, lower_bound(read) - 1) if known is None else known

    def _count_inner(self, text: str, max_tokens: int) -> int:
        """Return the inner tokens of `text`, or a lower bound on them as soon as that exceeds `max_tokens`."""
        head, inside, tail = _split_at_boundaries(text)
        counted, start, step = 0, 0, max(MIN_SLICE_CHARS, len(inside) // MAX_SLICES)
        while cut := _SAFE.search(inside, start + step):
            # Remembered: the next budget asks again, and so does the same text up to another end.
            counted += self.count(inside[start : cut.end()])
            start = cut.end()
            if (bound := counted + lower_bound(inside[start:])) > max_tokens:
                return self._lower_bounds.put(text, bound)
        inner = counted + (self._count(inside[start:]) if inside else 0)
        return self._measures.put(text, TokenSpan(head, inner, tail, len(text))).inner_count


def _split_at_boundaries(text: str) -> tuple[str, str, str | None]:
    """Return `text` cut at its first and its last safe place; the third part is None if there is no safe place."""
    first = _SAFE.search(text)
    if first is None:
        return text, "", None
    begin = first.end()
    last = _UP_TO_LAST_SAFE.match(text, begin)
    end = last.end() if last else begin
    return text[:begin], text[begin:end], text[end:]


def counter_for(encoding: str | Callable[[str], int]) -> TokenCounter:
    """Return the counter of a tiktoken encoding, or of any function from a text to its number of tokens.

    An encoding has one counter, and so one cache, for the whole process.

    Raises:
        ConfigError: the encoding is unknown, or its vocabulary can be neither found nor downloaded.
        ConfigError: raised by its `count`, if the function returns anything but an int of 0 or more.
    """
    if isinstance(encoding, str):
        return _tiktoken_counter(str.__str__(encoding))  # a subclass of str would get a counter of its own
    return TokenCounter(_with_checks(encoding), additive=False)


@cache
def _tiktoken_counter(name: str) -> TokenCounter:
    encoding = load_encoding(name)
    encode, encode_ordinary = encoding.encode, encoding.encode_ordinary

    def count(text: str) -> int:
        # In a document, <|endoftext|> is plain text and no control token. encode_ordinary takes it so, and is faster
        # for short texts, but panics where encode raises an error.
        if len(text) <= MAX_COUNTED_CHARS:
            return len(encode_ordinary(text))
        try:
            return len(encode(text, disallowed_special=()))
        except ValueError:
            # About a million blanks in a row exceed the stack of the pattern. A token has at least one byte, so the
            # number of bytes is never too low: such a text counts as too large instead of slipping through.
            return len(text.encode("utf-8", "surrogatepass"))

    additive = name in ADDITIVE_ENCODINGS
    return TokenCounter(faster_counter(name, count) if additive else count, additive=additive)


def _with_checks(count: Callable[[str], int]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        tokens = count(text)
        if hasattr(tokens, "__len__") and not isinstance(tokens, str):
            # Most tokenizers return the tokens. They may be as many as the text is long: the error shows their type.
            allowed = "a function that returns the number of tokens, not the tokens (lambda text: len(encode(text)))"
            raise ConfigError("encoding", allowed, type(tokens))
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise ConfigError("encoding", "a function that returns a non-negative integer", tokens)
        return tokens

    return checked
