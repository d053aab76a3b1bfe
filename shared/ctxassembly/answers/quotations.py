"""What of an answer stands between quotation marks, and whether a marker there is the source's own.

A source may hold a reference of its own, "... according to [2] in all cases.", and an answer may quote it: then [2] is
what was quoted, and cites nothing. It is if a passage has all that the quote says from its beginning through the marker
to the next one, or to its end. What the model put inside the quotation marks itself no passage has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ctxassembly.data.chunks import Span
from ctxassembly.text.words import wording
from ctxassembly.wording.languages import LANGUAGES

QUOTE_CHARS = 1_000
"""Longest quote looked for: a quotation mark that is never closed must not swallow the answer."""
_CLOSING: dict[str, str] = {}
"""What ends a quote, by what begins it: an answer may be in another language than its context."""
for _opening, _closing in (pair for language in LANGUAGES.values() for pair in language.quotes):
    _CLOSING[_opening] = "".join(sorted({*_CLOSING.get(_opening, ""), _closing}))
QUOTED = re.compile(
    "|".join(
        (
            f'"([^"\\n]{{0,{QUOTE_CHARS}}})"',
            *(f"{left}([^{left}{right}\\n]{{1,{QUOTE_CHARS}}})[{right}]" for left, right in _CLOSING.items()),
            # Apostrophes look the same: these count only around several words, not beside a letter.
            rf"(?<!\w)'(?=\S)((?:[^'\n]|(?<=\w)'(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)'(?!\w)",
            rf"(?<!\w)‘(?=\S)((?:[^‘’\n]|(?<=\w)’(?=\w)){{1,{QUOTE_CHARS}}})(?<=\S)’(?!\w)",
        )
    )
)
SINGLE = 2 + len(_CLOSING)
"""The first group above that has single quotation marks."""
LOOKAHEAD = QUOTE_CHARS + 3
"""After a character, as many tell whether it stands in a quote: to its end, and one more."""
LOOKBACK = 4 * QUOTE_CHARS
"""Before a character, as many of its line are read for where quotes begin and end."""
_OPENING = re.compile(f"[\"'‘{''.join(_CLOSING)}]")
_MARKER = re.compile(r"[\[【⁰¹²³⁴⁵⁶⁷⁸⁹]")
_AROUND = " \t.,;:!?…"


def sought(quote: str) -> str:
    """What is looked for of a quote: its words, but for punctuation at the ends."""
    return wording(quote).strip(_AROUND)


def says(text: str, quote: str) -> bool:
    """Whether a source's `text` has what was sought of a quote, with or without the backslashes of a context."""
    return quote in text or ("\\" in quote and quote.replace("\\", "") in text)


class Quotations:
    """Tells of the markers of an answer, one after the other, whether they are part of what it quotes."""

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._texts = texts
        """The wording of all passages, asked for once there is a marker."""
        self._read: Sequence[str] | None = None
        self._held: dict[str, bool] = {}
        self._next = 0
        self._inside: Span = (0, 0)

    def may_be(self, text: str, base: int, marker: Span) -> bool:
        """Whether the marker may be a source's own: if not, nothing more of the answer need be there.

        `text` stands at `base` of the answer, and begins `LOOKBACK` characters before the marker, or earlier.
        """
        at, end = marker
        written = wording(text[at:end])
        if written not in self._held:
            if self._read is None:
                self._read = tuple(self._texts())
            self._held[written] = any(written in each for each in self._read)
        if not self._held[written]:
            return False
        if self._inside[1] > at + base:
            return True
        opening = _OPENING.search(text, self._line(text, base, at), at)
        self._next = (opening.start() if opening else at) + base
        return opening is not None

    def has(self, text: str, base: int, marker: Span) -> bool:
        """Whether the marker, which may be a source's own, is. The text reaches `LOOKAHEAD` characters beyond it."""
        at, end = marker
        quote = self._quote(text, base, at)
        if quote is None:
            return False
        another = _MARKER.search(text, end, quote[1] - 1)
        words = sought(text[quote[0] + 1 : another.start() if another else quote[1] - 1])
        return any(says(each, words) for each in self._read or ())

    def _quote(self, text: str, base: int, at: int) -> Span | None:
        """The quote around `at`, quotation marks included. Each one that may begin a quote is tried once."""
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
        """Where the line of `at` begins, or what of it has not been read."""
        begin = max(at - LOOKBACK, self._next - base, 0)
        return max(text.rfind("\n", begin, at) + 1, begin)
