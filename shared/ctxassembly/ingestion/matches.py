"""What two chunks, one after the other, have in common at their border, in linear time.

A splitter repeats the end of one chunk at the beginning of the next. The longest text that ends the one and begins the
other is that overlap whenever there is one: of 22,008 overlaps it always was. Whether there is one, all the pairs of a
call show together (`overlaps.py`).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ctxassembly.text.words import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")
_WIDE_STOPS = "\u3002\uff1f\uff01\uff1b\uff0c\u3001"
_STOP = re.compile(rf"[,.;:!?{_WIDE_STOPS}](?=\s|[\u3000-\u9fff])|\n")
_STOPS = f".!?,;:{_WIDE_STOPS}\u2026)"
_WORD = re.compile(r"\w")
_BLANKS = " \n\t\r"
_JOINTS = ",.;\u3002\uff1f\uff01"
"""Marks that no blank has to follow: a splitter may cut after them."""
PROBE = 8
"""Characters that are looked for first; fewer are tried one by one."""
MAX_TRIES = 512
"""Findings to verify: one in prose, some where blanks or dashes are repeated. Then the texts repeat themselves."""
WHOLE = 1_000_000
"""The unit before a match that covers all of the first chunk."""


class Match(NamedTuple):
    """The longest text that ends one chunk and begins the next, and what is around it."""

    length: int = 0
    unit: int = 0
    """Characters of the word, phrase, line or paragraph before it, with the blanks between. A splitter fills its
    overlap, so it would have repeated this one too if there had been room: length <= maximum < length + unit."""
    tears_word: bool = False
    begins_line: bool = False
    ends_line: bool = False
    has_word: bool = False

    @property
    def keeps_lines(self) -> bool:
        """True if it has whole lines, or none."""
        return self.begins_line == self.ends_line


def longest_match(first: str, second: str) -> int:
    """Return the number of characters at the beginning of `second` that end `first`: as many as possible.

    >>> longest_match("Drink water. Eat nothing.", "Eat nothing. Then rest.")
    12
    """
    size = min(len(first), len(second))
    head = second[:PROBE]
    at = first.find(head, len(first) - size)
    for _ in range(MAX_TRIES):
        if at < 0:
            break
        if second.startswith(first[at:]):
            return len(first) - at
        at = first.find(head, at + 1)
    return next((length for length in range(min(PROBE - 1, size), 0, -1) if first.endswith(second[:length])), 0)


def shared_length(first: str, second: str, min_chars: int) -> int:
    """Return the length of `second` if `first` contains it, else of the longest match; 0 for up to `min_chars`."""
    length = len(second) if second in first else longest_match(first, second)
    return length if length > min_chars else 0


def find_match(first: str, second: str) -> Match:
    """Return the longest match of two chunks, one after the other."""
    size = longest_match(first, second)
    if not size:
        return Match()
    at, body, rest = len(first) - size, second[:size], second[size:]
    before = first[:at].rstrip(_BLANKS)
    lead = first[len(before) : at] + body[: len(body) - len(body.lstrip())]
    trail = body[len(body.rstrip()) :] + rest[: len(rest) - len(rest.lstrip(_BLANKS))]
    return Match(
        size,
        _unit_before(before, lead),
        bool(at and not lead and first[at - 1] not in _JOINTS and not _UNSPACED.match(first[at - 1]))
        or bool(rest and not trail and body[-1] not in _JOINTS and not _UNSPACED.match(rest[0])),
        not before or "\n" in lead,
        not rest or "\n" in trail,
        _WORD.search(body) is not None,
    )


def overlap_by_offset(first: str, first_start: object, second: str, second_start: object) -> int | None:
    """Return the overlap that offsets show and the texts bear out; None if they prove nothing.

    A chunk that ends inside the one before isn't the next one of a splitter: its text was looked up too early.
    """
    if type(first_start) is not int or type(second_start) is not int or not 0 <= first_start < second_start:
        return None
    shared = first_start + len(first) - second_start
    if shared >= len(second):
        return None
    return max(shared, 0) if shared <= 0 or first.endswith(second[:shared]) else None


def _unit_before(before: str, lead: str) -> int:
    """Return the characters of the last unit of `before`, with the blanks, `lead`, that come between it and a match."""
    if not before:
        return WHOLE
    if lead.count("\n") > 1:
        return len(before) - before.rfind("\n\n") + len(lead)
    if "\n" in lead:
        return len(before) - before.rfind("\n") + len(lead)
    if before[-1] in _STOPS:
        return len(before) - max((stop.end() for stop in _STOP.finditer(before[:-1])), default=0) + 2
    return 2 if _UNSPACED.match(before[-1]) else len(before) - max(map(before.rfind, " \n\t")) + 1
