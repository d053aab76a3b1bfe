r"""Entries of a roster, an address list or a configuration: paragraphs of short lines without stops.

A text is cut between entries, never inside one: the opening hours of one doctor would be read below another's name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from ctxassembly.data.chunks import Span
from ctxassembly.text.lines import MAX_ENTRY_CHARS, MAX_ENTRY_LINES, MAX_LINE_CHARS
from ctxassembly.text.sentences import is_ended

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n")
_NO_ENTRY = re.compile(
    r"[ \t]*(?:\||#{1,6}[ \t]|(?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s)"
)
"""The beginning of a row, a heading or an item, each of which can be understood without the next line."""


def entry_spans(text: str) -> list[Span]:
    r"""Return the spans of the entries of `text`, ascending, without the blank lines between them.

    >>> text = "Dr. Ann\nMonday\n\nDr. Bob\nFriday\n\nClosed in May."
    >>> [text[start:end] for start, end in entry_spans(text)]
    ['Dr. Ann\nMonday', 'Dr. Bob\nFriday']
    """
    if "\n" not in text:
        return []
    borders = [0, *(at for match in _BLANK_LINES.finditer(text) for at in match.span()), len(text)]
    spans: list[Span] = []
    for start, end in zip(borders[::2], borders[1::2], strict=True):
        if end - start <= MAX_ENTRY_CHARS:
            paragraph = text[start:end]
            lines = paragraph.strip().split("\n")
            if 1 < len(lines) <= MAX_ENTRY_LINES and all(map(_is_entry_line, lines)):
                spans.append((start + paragraph.index(lines[0]), start + len(paragraph.rstrip())))
    return spans


def _is_entry_line(line: str) -> bool:
    words = line.strip()
    return 0 < len(words) <= MAX_LINE_CHARS and not is_ended(words) and not _NO_ENTRY.match(line)


def ends_outside_entries(ends: Iterable[int], entries: Sequence[Span]) -> list[int]:
    """Return the `ends` that are inside none of the ascending `entries`."""
    starts = [start for start, _ in entries]
    kept: list[int] = []
    for end in ends:
        at = bisect_left(starts, end) - 1
        if at < 0 or end >= entries[at][1]:
            kept.append(end)
    return kept
