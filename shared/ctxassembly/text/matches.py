"""Which words of the query a chunk has: looked up when somebody asks, since most callers never do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

from ctxassembly.text.terms import ENDING_CHARS, LONG_CHARS, STEM_CHARS
from ctxassembly.text.words import is_spaced, parted, plain, words


class Wanted:
    """The words of a query, as `Matches` of many texts look for them."""

    def __init__(self, query: str) -> None:
        self._query = query

    @cached_property
    def _forms(self) -> tuple[tuple[str, str], ...]:
        """Each word, and what a text of words between blanks has if it has that word in any form."""
        return tuple((word, _form(word)) for word in dict.fromkeys(words(self._query)))

    def found_in(self, text: str) -> tuple[str, ...]:
        """The words of the query that `text` has, in any form, each once, in the order of the query.

        A form of a word is what begins like it, as sentences are chosen: by six letters, of a long word by all but its
        ending. A word of fewer letters is only itself.
        """
        same = plain(text)
        # Adapters write every trace, so this is as fast as looking for a few words in a text can be.
        spaced = parted(same) if is_spaced(same) else " ".join(words(text))
        between = f" {spaced} "
        return tuple(word for word, form in self._forms if form in between)


def _form(word: str) -> str:
    if len(word) < STEM_CHARS:
        return f" {word} "
    return f" {word[:STEM_CHARS]}" if len(word) < LONG_CHARS else f" {word[:-ENDING_CHARS]}"


class Matches(Sequence[str]):
    """The words of a query that a text has: a tuple that is made when it is first read, and is one when written."""

    __slots__ = ("_found", "_text", "_wanted")

    def __init__(self, wanted: Wanted, text: str) -> None:
        self._wanted, self._text = wanted, text
        self._found: tuple[str, ...] | None = None

    def _tuple(self) -> tuple[str, ...]:
        if self._found is None:
            self._found = self._wanted.found_in(self._text)
        return self._found

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
        return self._tuple() == (other._tuple() if isinstance(other, Matches) else other)

    def __hash__(self) -> int:
        return hash(self._tuple())

    def __repr__(self) -> str:
        return repr(self._tuple())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._tuple(),)
