"""Quotes in an answer, and markers in them that are the source's own.

A source may have references of its own: "... according to [2] in all cases." If an answer quotes it, this [2] is quoted
text and cites nothing. It is told from a marker that the model put inside the quotation marks by the words around it:
the marker is the source's own if some passage has the quote from its beginning, through the marker, up to the next
marker or to the end of the quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ctxassembly.data.chunks import Span
from ctxassembly.text.words import wording
from ctxassembly.wording.languages import LANGUAGES

QUOTE_CHARS = 1_000
"""Characters of the longest quote: a quotation mark that is never closed must not swallow the answer."""
_CLOSING: dict[str, str] = {}
"""The marks that end a quote, by the mark that begins it, of all languages: an answer may be in another one than its
context."""
for _opening, _closing in (pair for language in LANGUAGES.values() for pair in language.quotes):
    _CLOSING[_opening] = "".join(sorted({*_CLOSING.get(_opening, ""), _closing}))
QUOTED = re.compile(
    "|".join(
        (
            f'"([^"\\n]{{0,{QUOTE_CHARS}}})"',
            *(f"{left}([^{left}{right}\\n]{{1,{QUOTE_CHARS}}})[{right}]" for left, right in _CLOSING.items()),
            # Single ones look like apostrophes. They open or close only where no letter is on the other side, and
            # `check_quotes` takes them only around several words.
            rf"(?<!\w)'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)'(?!\w)",
            rf"(?<!\w)‘(?=\S)((?:[^‘’\n]|(?<=\w)’(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)’(?!\w)",
        )
    )
)
SINGLE = 2 + len(_CLOSING)
"""The first group of `QUOTED` for single quotation marks."""
LOOKAHEAD = QUOTE_CHARS + 3
"""Characters after a marker that decide whether it is quoted: the longest quote, and one more."""
LOOKBACK = 4 * QUOTE_CHARS
"""Characters before a marker, within its line, that are searched for quotes."""
_OPENING = re.compile(f"[\"'‘{''.join(_CLOSING)}]")
_MARKER = re.compile(r"[\[【⁰¹²³⁴⁵⁶⁷⁸⁹]")
_AROUND = " \t.,;:!?…"


def sought(quote: str) -> str:
    """The words of a quote as they are looked for, without punctuation at the ends.

    >>> sought("“Eat  nothing.”"[1:-1])
    'eat nothing'
    """
    return wording(quote).strip(_AROUND)


def says(text: str, quote: str) -> bool:
    """True if a source's `text` has the sought words, with or without the backslashes that a context adds."""
    return quote in text or ("\\" in quote and quote.replace("\\", "") in text)


class Quotations:
    """Tells whether the markers of an answer are quoted from a source. They have to be asked about in order."""

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._texts = texts
        """A function that gives the wording of all passages, called for the first marker."""
        self._read: Sequence[str] | None = None
        self._held: dict[str, bool] = {}
        self._next = 0
        self._inside: Span = (0, 0)

    def may_be(self, text: str, base: int, marker: Span) -> bool:
        """False if the marker is certainly no source's own, so that nobody has to wait for the end of a quote.

        `text` begins at offset `base` of the answer, at least `LOOKBACK` characters before the marker.
        """
        at, end = marker
        written = wording(text[at:end])
        if written not in self._held:
            if self._read is None:
                self._read = tuple(self._texts())
            self._held[written] = any(written in passage for passage in self._read)
        if not self._held[written]:
            return False
        if self._inside[1] > at + base:
            return True
        opening = _OPENING.search(text, self._line(text, base, at), at)
        self._next = (opening.start() if opening else at) + base
        return opening is not None

    def has(self, text: str, base: int, marker: Span) -> bool:
        """True if the marker is a source's own.

        Ask once `text` has `LOOKAHEAD` characters from the marker on, the rest of its line, or the rest of the answer.
        """
        at, end = marker
        quote = self._quote(text, base, at)
        if quote is None:
            return False
        another = _MARKER.search(text, end, quote[1] - 1)
        words = sought(text[quote[0] + 1 : another.start() if another else quote[1] - 1])
        return any(says(passage, words) for passage in self._read or ())

    def _quote(self, text: str, base: int, at: int) -> Span | None:
        """The quote around `at` with its quotation marks. Each mark that may open a quote is tried once in all."""
        if self._inside[1] <= at + base:
            begin = self._line(text, base, at)
            while opening := _OPENING.search(text, begin, at):
                begin = opening.end()
                if found := QUOTED.match(text, opening.start(), at + LOOKAHEAD):
                    begin = found.end()
                    if begin > at:
                        self._inside = (found.start() + base, begin + base)
            self._next = begin + base
        begin, end = self._inside
        return (begin - base, end - base) if end > at + base else None

    def _line(self, text: str, base: int, at: int) -> int:
        """The beginning of the line of `at`, or of that part of it which has not been searched yet."""
        begin = max(at - LOOKBACK, self._next - base, 0)
        return max(text.rfind("\n", begin, at) + 1, begin)
