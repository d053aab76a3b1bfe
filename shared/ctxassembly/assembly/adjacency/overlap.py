"""How much of a text's beginning already stands at the end of another one, told by the texts alone, in linear time."""

from __future__ import annotations

from collections.abc import Sequence

TRIES = 8
"""Places to verify before the search turns to the linear one; real text needs one."""


def overlap_chars(first: str, second: str, min_chars: int, max_chars: int | None = None) -> int:
    """How many characters at the beginning of `second` already stand in `first`: more than `min_chars`, else 0.

    All of `second` if `first` contains it. At most `max_chars` otherwise. 0 if the match is ambiguous.
    """
    least = min_chars + 1
    if len(second) >= least and len(second) <= len(first):
        at = first.find(second)
        if at >= 0:
            unique = first.find(second, at + 1) < 0 and not _repeats(second, least)
            return len(second) if unique else 0
    limit = min(len(first), len(second), max_chars or len(second))
    if limit < least:
        return 0
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
        at = _longest_border([*head, None, *first[-limit:]]) - least
        if at < 0:
            return 0
    return 0 if _repeats(head[: at + least], least) else at + least


def _repeats(text: str, least: int) -> bool:
    """Whether `text` ends as it begins over `least` characters or more, so that a shorter overlap would match too."""
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
    """The length of the longest proper prefix of `text` that also ends it (Knuth, Morris and Pratt), in linear time.

    A None in the text equals no character and nothing of the overlap can reach across it.
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
