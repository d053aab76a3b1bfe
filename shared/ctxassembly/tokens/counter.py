"""Exact token counts, cached by piece and added up where that is proven.

Byte-pair encodings first split a text by a pattern and then merge inside each part. Where the pattern always splits,
the counts on both sides add up: for cl100k and o200k between anything but white space and a space, and between a
newline and a character that is neither white space nor "/". So a piece is counted once, from its first such place to
its last; only what is left at its ends, mostly a word, is counted again together with the end of the piece before.
Other tokenizers promise nothing: their texts have no such place and are counted whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from ctxassembly.errors import ConfigError
from ctxassembly.tokens.accelerated import accelerated
from ctxassembly.tokens.lower_bound import MOST_CHARS_PER_TOKEN, at_least
from ctxassembly.tokens.remembered import Remembered
from ctxassembly.tokens.vocabulary import load_encoding

ADDITIVE = ("cl100k_base", "o200k_base", "o200k_harmony")
REMEMBERED_BYTES = 16 * 1024 * 1024
"""For each encoding and each of three kinds of counts: of 1,500 characters that is about 8,000 texts, of words 30,000.
What was not asked for longest is forgotten."""
COUNTED_CHARS = 100_000
"""Of a text, at least, before its tokens are estimated: no splitter makes a chunk as long."""
SLICE, SLICES = 256, 16
"""Characters, at least, that are counted at once as long as it is open whether a text fits, and how often that is tried
at most. Nothing depends on them but time."""

_SAFE = re.compile(r"(?<=\S)(?= )|(?<=\n)(?=[^\s/])")
_UP_TO_LAST_SAFE = re.compile(rf".*(?:{_SAFE.pattern})", re.DOTALL)


class Measured(NamedTuple):
    """A text as far as its tokens are known: those between its first and its last safe place."""

    head: str
    """What comes before the first safe place; the whole text if it has none."""
    inner: int
    """The tokens from there to the last one."""
    tail: str | None
    """What comes after the last one; None if there is none."""
    characters: int
    """Of all of it."""


class Counter:
    """Counts tokens of texts, and measures pieces so that what they make together needs no new count."""

    def __init__(self, count: Callable[[str], int], *, additive: bool) -> None:
        self._count = count
        self._counts = Remembered[int](REMEMBERED_BYTES)
        self._measures = Remembered[Measured](REMEMBERED_BYTES)
        self._floors = Remembered[int](REMEMBERED_BYTES)
        self.additive = additive
        """Whether counts add up at safe places."""

    def count(self, text: str) -> int:
        """The tokens of `text`."""
        if not self.additive:
            return self._count(text)
        known = self._counts.young.get(text)
        if known is None:
            known = self._counts.get(text)
        return self._counts.put(text, self._count(text)) if known is None else known

    def measure(self, text: str) -> Measured:
        """`text`, measured."""
        if not self.additive:
            return Measured(text, 0, None, len(text))
        known = self._measures.young.get(text)
        if known is None:
            known = self._measures.get(text)
        return self._measure(text) if known is None else known

    def chain(self, pieces: Iterable[Measured]) -> Measured:
        """The text that `pieces` make one after the other, measured. Only their ends are counted."""
        head, inner, rest, characters = None, 0, "", 0
        for piece in pieces:
            characters += piece.characters
            if piece.tail is None:
                rest += piece.head
                continue
            if head is None:
                head = rest + piece.head
            else:
                inner += self.count(rest + piece.head)
            inner += piece.inner
            rest = piece.tail
        if head is None:
            return Measured(rest, 0, None, characters)
        return Measured(head, inner, rest, characters)

    def tokens(self, piece: Measured) -> int:
        """The tokens of a measured text."""
        return sum(self.count(end) for end in (piece.head, piece.tail) if end) + piece.inner

    def about(self, text: str, most: int) -> int:
        """The tokens of `text`; of one that has more than `most` in its beginning already, estimated from that."""
        begun = text[: max(most * MOST_CHARS_PER_TOKEN, COUNTED_CHARS)]
        if len(begun) < len(text) and (counted := self.tokens(self.measure(begun))) > most:
            return round(counted * len(text) / len(begun))
        return self.tokens(self.measure(text))

    def exceed(self, texts: Sequence[str], most: int) -> bool:
        """Whether `texts` are sure to bring more than `most` tokens, wherever each of them is put in.

        What is known already is counted. Of the others a lower bound often says it; if it doesn't, those are counted
        too, one by one as long as it is open, the last slice by slice: they would be rendered for nothing.
        """
        if not self.additive:
            return False
        floor = 0
        unknown: list[tuple[str, int]] = []
        for text in texts:
            if floor > most:
                return True
            known = self._measures.get(text)
            if known is None:
                unknown.append((text, self._floor(text, most - floor)))
            floor += unknown[-1][1] if known is None else known.inner
        while unknown and floor <= most:
            text, least = unknown.pop()
            floor += (self.measure(text).inner if unknown else self._inner(text, most - floor + least)) - least
        return floor > most

    def forget(self) -> None:
        """Empty the caches."""
        self._counts.clear()
        self._measures.clear()
        self._floors.clear()

    def _measure(self, text: str) -> Measured:
        head, inside, tail = _parts(text)
        inner = self._count(inside) if inside else 0
        return self._measures.put(text, Measured(head, inner, tail, len(text)))

    def _floor(self, text: str, enough: int) -> int:
        """What `text` brings at least, wherever it is put in; it may bring more if this is no more than `enough`."""
        known = self._floors.get(text)
        if known is not None and known > enough:
            return known
        return self._floors.put(text, max(at_least(text, enough + 1) - 1, -1 if known is None else known))

    def _inner(self, text: str, most: int) -> int:
        """The tokens inside `text`; if they are sure to be more than `most`, what is sure."""
        head, inside, tail = _parts(text)
        counted, start, step = 0, 0, max(SLICE, len(inside) // SLICES)
        while cut := _SAFE.search(inside, start + step):
            counted += self._count(inside[start : cut.end()])
            start = cut.end()
            if (floor := counted + at_least(inside[start:])) > most:
                return self._floors.put(text, floor)
        inner = counted + (self._count(inside[start:]) if inside else 0)
        return self._measures.put(text, Measured(head, inner, tail, len(text))).inner


def _parts(text: str) -> tuple[str, str, str | None]:
    """What of `text` comes before its first safe place, up to the last, and after it: None if there is none."""
    first = _SAFE.search(text)
    if first is None:
        return text, "", None
    begin = first.end()
    last = _UP_TO_LAST_SAFE.match(text, begin)
    end = last.end() if last else begin
    return text[:begin], text[begin:end], text[end:]


def counter_for(encoding: str | Callable[[str], int]) -> Counter:
    """The counter of a tiktoken encoding, one for the whole process, or of any function from text to count.

    Raises:
        VocabularyError: the encoding is unknown or its vocabulary can't be had.
    """
    if isinstance(encoding, str):
        return _tiktoken_counter(str.__str__(encoding))  # of a subclass of str there would be another one
    return Counter(_checked(encoding), additive=False)


@cache
def _tiktoken_counter(name: str) -> Counter:
    encode = load_encoding(name).encode

    def count(text: str) -> int:
        try:
            # Markup such as <|endoftext|> in a document is plain text, not a control token.
            return len(encode(text, disallowed_special=()))
        except ValueError:
            # About a million blanks in a row exceed the pattern's stack. A token has at least one byte, so this
            # is never too low: such a text counts as too large instead of slipping through.
            return len(text.encode("utf-8", "surrogatepass"))

    additive = name in ADDITIVE
    return Counter(accelerated(name, count) if additive else count, additive=additive)


def _checked(count: Callable[[str], int]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        tokens = count(text)
        if hasattr(tokens, "__len__") and not isinstance(tokens, str):
            # What most tokenizers return, and as long as the text: its type says enough.
            allowed = "a function that returns the number of tokens, not the tokens (lambda text: len(encode(text)))"
            raise ConfigError("encoding", allowed, type(tokens))
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise ConfigError("encoding", "a function that returns a non-negative integer", tokens)
        return tokens

    return checked
