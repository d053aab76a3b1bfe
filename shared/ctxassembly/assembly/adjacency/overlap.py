"""Overlap of two chunks, told by their texts alone, in linear time.

A splitter repeats the end of one chunk at the beginning of the next: the overlap is a text that ends the first and
begins the second. Repetition in the document looks the same. In a log or a table with equal rows the longest such text
spans rows that really are there twice, and stripping it would delete them. The sign of repetition is that the match can
be meant in more than one way: it ends as it begins (it has a border), so a shorter overlap would match as well. Then
nothing is stripped: a row is read twice, none is lost.

The search is for the longest match. It has to end as the first text ends, so these last characters are looked for in
the second text, from the right, and each finding is verified. The first one is nearly always right: of 6,000 pairs from
real splitters all but 4, which had duplicated text, gave the true overlap. Two chunks of 1,500 characters take 5
microseconds, 70 times less than trying each length. If 8 findings fail, the texts repeat themselves and the search
would become quadratic; then the prefix function takes over (120,000 equal letters: 20 ms).
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof
from typing import NamedTuple

from ctxassembly.tokens.cache import LONGEST, Remembered

TRIES = 8
"""Findings to verify before the linear search takes over; real text needs one."""
REMEMBERED_BYTES = 8 * 1024 * 1024
"""Bytes of the texts whose overlap with another one is remembered, those others included."""


class _Compared(NamedTuple):
    """The text with which another one was compared last, and what was found."""

    first: str
    min_chars: int
    max_chars: int | None
    shared: int


_COMPARED = Remembered[_Compared](REMEMBERED_BYTES, lambda known: getsizeof(known.first))
"""By the second text: the one that comes before it in its document is nearly always the same."""


def overlap_chars(first: str, second: str, min_chars: int, max_chars: int | None = None) -> int:
    """The number of characters at the beginning of `second` that end `first`: more than `min_chars`, else 0.

    All of `second` if `first` contains it anywhere; otherwise at most `max_chars`. 0 if the match is ambiguous.

    >>> overlap_chars("Drink water. Eat nothing.", "Eat nothing. Then rest.", 5)
    12
    >>> overlap_chars("Head. No. No. No.", "No. No. No. Foot.", 2)
    0
    """
    known = _COMPARED.get(second)
    if known is not None and known.min_chars == min_chars and known.max_chars == max_chars and known.first == first:
        return known.shared
    shared = _overlap_chars(first, second, min_chars, max_chars)
    if len(first) <= LONGEST:
        _COMPARED.put(second, _Compared(first, min_chars, max_chars, shared))
    return shared


def _overlap_chars(first: str, second: str, min_chars: int, max_chars: int | None) -> int:
    least = min_chars + 1
    # A contained chunk, which adds nothing; ambiguous if it stands there twice.
    if len(second) >= least and len(second) <= len(first):
        at = first.find(second)
        if at >= 0:
            unique = first.find(second, at + 1) < 0 and not _repeats(second, least)
            return len(second) if unique else 0
    limit = min(len(first), len(second), max_chars or len(second))
    if limit < least:
        return 0
    # `at` is where the last `least` characters of `first` stand in the head of `second`: the overlap ends behind them.
    head = second[:limit]
    tail = first[-least:]
    at = head.rfind(tail)
    for _ in range(TRIES):
        if at < 0:
            return 0
        if first.endswith(head[: at + least]):
            break
        at = head.rfind(tail, 0, at + least - 1)
    else:
        # The longest prefix of the head that ends `first` is the border of the two laid one after the other.
        at = _longest_border([*head, None, *first[-limit:]]) - least
        if at < 0:
            return 0
    return 0 if _repeats(head[: at + least], least) else at + least


def _repeats(text: str, least: int) -> bool:
    """True if `text` ends as it begins over `least` characters or more, so that a shorter overlap would match, too."""
    head = text[:least]
    at = text.find(head, 1)
    for _ in range(TRIES):
        if at < 0:
            return False
        if text.startswith(text[at:]):
            return True
        at = text.find(head, at + 1)
    return _longest_border(text) >= least


def _longest_border(text: Sequence[str | None]) -> int:
    """The length of the longest proper prefix of `text` that also ends it, by the prefix function, in linear time.

    After Knuth, Morris and Pratt (1977). A None in the text equals no character, so no border reaches across it.
    """
    border = [0] * len(text)
    length = 0
    for at in range(1, len(text)):
        while length and text[at] != text[length]:
            length = border[length - 1]
        if text[at] == text[length]:
            length += 1
        border[at] = length
    return border[-1] if border else 0
