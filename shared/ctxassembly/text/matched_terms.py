"""The words of the query that a chunk has, looked up only when they are read: most callers never read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from ctxassembly.text.words import (
    ENDING_LENGTH,
    LONG_WORD_LENGTH,
    PREFIX_LENGTH,
    blank_punctuation,
    is_spaced,
    normalize,
    words,
)


class TermQuery:
    """The words of one query, ready to be looked for in many texts.

    >>> TermQuery("fasting before gastroscopy").find_terms("Gastroscopies: the fasting patient")
    ('fasting', 'gastroscopy')
    """

    def __init__(self, query: str) -> None:
        self._query = query

    @cached_property
    def _forms(self) -> tuple[tuple[str, str], ...]:
        """Each word, and the string that a text with blanks around its words has if it has any form of that word."""
        return tuple((word, _search_form(word)) for word in dict.fromkeys(words(self._query)))

    def find_terms(self, text: str) -> tuple[str, ...]:
        """Return the words of the query that `text` has in any form, each once, in the order of the query.

        Two words are forms of one if their first six letters are the same; of a long word, all letters but its ending
        must be. A word of fewer than six letters has no other form. Sentences are chosen by the same rule.
        """
        same = normalize(text)
        # Adapters write out every trace, so this has to be fast: one search in a string for each word.
        spaced = blank_punctuation(same) if is_spaced(same) else " ".join(words(text))
        between = f" {spaced} "
        return tuple(word for word, form in self._forms if form in between)


def _search_form(word: str) -> str:
    if len(word) < PREFIX_LENGTH:
        return f" {word} "
    return f" {word[:PREFIX_LENGTH]}" if len(word) < LONG_WORD_LENGTH else f" {word[:-ENDING_LENGTH]}"


class MatchedTerms(Sequence[str]):
    """The words of a query that a text has: a tuple made on first reading, and pickled as a plain tuple."""

    __slots__ = ("_query", "_terms", "_text")

    def __init__(self, wanted: TermQuery, text: str) -> None:
        self._query, self._text = wanted, text
        self._terms: tuple[str, ...] | None = None

    def _tuple(self) -> tuple[str, ...]:
        if self._terms is None:
            self._terms = self._query.find_terms(self._text)
        return self._terms

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._tuple()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tuple())

    def __len__(self) -> int:
        return len(self._tuple())

    def __eq__(self, other: object) -> bool:
        return self._tuple() == (other._tuple() if isinstance(other, MatchedTerms) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)
