"""Exact token counts, cached by piece and added up where that is proven.

Byte-pair encodings first split a text by a pattern and then merge inside each part. Where the pattern always splits,
the counts on both sides add up: for cl100k and o200k between anything but white space and a space, and between a
newline and a character that is neither white space nor "/". So a piece is counted once, from its first such place to
its last; only what is left at its ends, mostly a word, is counted again with the end of the piece before.
Other tokenizers promise nothing, so theirs are counted whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from ctxassembly.errors import ConfigError
from ctxassembly.vocabulary import load_encoding

ADDITIVE = ("cl100k_base", "o200k_base")
NEAR_END = 200
"""Characters; hardly a word is longer."""
LONGEST_TOKEN = 128
"""Characters of the longest token of either: a run of blanks."""
CACHED_PIECES = 8_192
"""About 1,000 hits with their neighbours; with the length limit below, 64 MB at the very most."""
LONGEST_CACHED = 8_192
"""Characters; a longer piece is rare and not worth its memory."""

_SAFE = re.compile(r"(?<=\S)(?= )|(?<=\n)(?=[^\s/])")


class Counter:
    """Counts tokens of texts, and of texts made of pieces."""

    def __init__(self, count: Callable[[str], int], *, additive: bool) -> None:
        self._count = count
        self._cached = lru_cache(maxsize=CACHED_PIECES)(count)
        self._split = lru_cache(maxsize=CACHED_PIECES)(self._split_uncached)
        self.additive = additive

    def count(self, text: str) -> int:
        """The tokens of `text`."""
        return self._cached(text) if self.additive and len(text) <= LONGEST_CACHED else self._count(text)

    def total(self, pieces: Iterable[str]) -> int:
        """The tokens of the text that `pieces` make together, which is not always the sum of theirs."""
        if not self.additive:
            return self._count("".join(pieces))
        tokens, rest = 0, ""
        for piece in pieces:
            split = self._split(piece) if len(piece) <= LONGEST_CACHED else self._split_uncached(piece)
            if split is None:
                rest += piece
            else:
                head, inner, tail = split
                tokens += self.count(rest + head) + inner
                rest = tail
        return tokens + (self.count(rest) if rest else 0)

    def at_least(self, text: str) -> int:
        """A lower bound of the tokens of `text`, without counting."""
        return len(text) // LONGEST_TOKEN if self.additive else 0

    def forget(self) -> None:
        """Empty the caches."""
        self._cached.cache_clear()
        self._split.cache_clear()

    def _split_uncached(self, piece: str) -> tuple[str, int, str] | None:
        """What comes before the first safe place, the tokens up to the last one, and what comes after it."""
        first = _SAFE.search(piece)
        if first is None:
            return None
        # The last place is near the end; looking there first spares a scan of the whole piece.
        near = max(first.end(), len(piece) - NEAR_END)
        last = max((match.end() for match in _SAFE.finditer(piece, near)), default=None)
        if last is None:
            last = max(match.end() for match in _SAFE.finditer(piece, first.start()))
        inner = piece[first.end() : last]
        return piece[: first.end()], self._count(inner) if inner else 0, piece[last:]


def counter_for(encoding: str | Callable[[str], int]) -> Counter:
    """The counter of a tiktoken encoding, one for the whole process, or of any function from text to count.

    Raises:
        VocabularyError: the encoding is unknown or its vocabulary can't be had.
    """
    return _tiktoken_counter(encoding) if isinstance(encoding, str) else Counter(_checked(encoding), additive=False)


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

    return Counter(count, additive=name in ADDITIVE)


def _checked(count: Callable[[str], int]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        tokens = count(text)
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise ConfigError("encoding", "a function that returns a non-negative integer", tokens)
        return tokens

    return checked
