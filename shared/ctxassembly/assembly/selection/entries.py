r"""Entries of a roster, an address list or a configuration: paragraphs of short lines without stops.

A text is cut between entries, never inside one: the opening hours of one doctor would be read below another's name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ctxassembly.data.chunks import Span
from ctxassembly.text.lines import TextLines
from ctxassembly.text.sentences import sentence_spans


def entry_spans(text: str) -> list[Span]:
    r"""Return the spans of the entries of `text`, ascending, without the blank lines between them.

    >>> text = "Dr. Ann\nMonday\n\nDr. Bob\nFriday\n\nClosed in May."
    >>> [text[start:end] for start, end in entry_spans(text)]
    ['Dr. Ann\nMonday', 'Dr. Bob\nFriday']
    """
    if "\n" not in text:
        return []
    boundaries = [0, *(end for _, end in sentence_spans(text))]
    continues = [start > 0 for start, _ in pairwise(boundaries)]
    lines = TextLines(text, boundaries, continues, [""] * len(continues))
    found = dict.fromkeys(map(lines.entry, range(len(continues))))
    spans = [(boundaries[entry[0]], boundaries[entry[-1] + 1]) for entry in found if entry]
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]


def ends_outside_entries(ends: Iterable[int], entries: Sequence[Span]) -> list[int]:
    """Return the `ends` that are inside none of the ascending `entries`."""
    starts = [start for start, _ in entries]
    kept: list[int] = []
    for end in ends:
        at = bisect_left(starts, end) - 1
        if at < 0 or end >= entries[at][1]:
            kept.append(end)
    return kept
