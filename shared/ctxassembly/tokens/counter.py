"""Exact counts of tokens: by tiktoken, by toktok-rs where it is installed, or by any function of the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from ctxassembly.errors import ConfigError
from ctxassembly.tokens.tiktoken_files import faster_counter, load_encoding

MAX_CHARS_PER_TOKEN = 8
"""Twice the characters of a token of English prose. Only time depends on it."""
FAST_ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony")
"""Encodings that toktok-rs counts as tiktoken does."""
MAX_ORDINARY_CHARS = 100_000
"""Characters of the longest text that tiktoken counts without a guard against its own limits."""


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """The counter of one encoding.

    >>> counter_for("cl100k_base").count("Drink water until two hours before.")
    7
    """

    count: Callable[[str], int]
    """Returns the tokens of a text."""


def counter_for(encoding: str | Callable[[str], int]) -> TokenCounter:
    """Return the counter of a tiktoken encoding, or of any function from a text to its number of tokens.

    An encoding has one counter for the whole process.

    Raises:
        ConfigError: the encoding is unknown, or its vocabulary can be neither found nor downloaded.
        ConfigError: raised by its `count`, if the function returns anything but an int of 0 or more.
    """
    if isinstance(encoding, str):
        return _tiktoken_counter(str.__str__(encoding))  # a subclass of str would get a counter of its own
    return TokenCounter(_with_checks(encoding))


@cache
def _tiktoken_counter(name: str) -> TokenCounter:
    encoding = load_encoding(name)
    encode, encode_ordinary = encoding.encode, encoding.encode_ordinary

    def count(text: str) -> int:
        # In a document, <|endoftext|> is plain text and no control token. encode_ordinary takes it so, and is faster
        # for short texts, but panics where encode raises an error.
        if len(text) <= MAX_ORDINARY_CHARS:
            return len(encode_ordinary(text))
        try:
            return len(encode(text, disallowed_special=()))
        except ValueError:
            # About a million blanks in a row exceed the stack of the pattern. A token has at least one byte, so the
            # number of bytes is never too low: such a text counts as too large instead of slipping through.
            return len(text.encode("utf-8", "surrogatepass"))

    return TokenCounter(faster_counter(name, count) if name in FAST_ENCODINGS else count)


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
