"""A budget below one unit: the header goes step by step, then the text is cut at a sentence, a word, a character."""

from __future__ import annotations

from collections.abc import Callable

from ctxassembly.data.chunks import Span

HEADER_SHARE = 0.25
"""The largest share of the limit that a header takes above a text that has to be cut."""


def longest_beginning(whole: str, run: Span, fits: Callable[[Span], bool]) -> Span | None:
    """Return as much of `run` in `whole` as `fits`, cut at a blank where there is one; None if nothing does."""
    start, end = run
    start += len(whole[start:end]) - len(whole[start:end].lstrip())
    low, high = start, end
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits((start, middle)) else (low, middle - 1)
    while low > start and not fits((start, low)):  # counts of prefixes don't always rise
        low -= 1
    if low == start:
        return None
    cut = max(whole.rfind(" ", start, low + 1), whole.rfind("\n", start, low + 1)) if low < end else low
    return (start, cut) if cut > start and fits((start, cut)) else (start, low)
