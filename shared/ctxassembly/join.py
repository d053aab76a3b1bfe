"""Chunks of one document -> passages: overlap stripped, gaps kept apart, every piece a verbatim slice.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Without them the longest text that ends the first chunk and begins the second is the overlap, if it is long enough to
be no accident and if it can be meant in one way only: of equal log lines or table rows nobody can say how many were
repeated by the splitter, and stripping too many would delete real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxassembly.excerpt import lines_of, written
from ctxassembly.types import Candidate, Chunk, Joint, Piece

TRIES = 8
"""Places to verify before the search turns to the linear one; real text needs one."""


class Stretch:
    """Candidates that continue each other, in reading order, and the passage that they make."""

    __slots__ = ("candidates", "known", "last", "passage")

    def __init__(self, candidates: list[Candidate], passage: tuple[Piece, ...], last: Chunk) -> None:
        self.candidates = candidates
        self.passage = passage
        """Empty if nothing but blanks is kept."""
        self.last = last
        """The chunk that reaches farthest: what comes next continues this one or nothing."""
        self.known: dict[object, Any] = {}
        """What was found out about it: it stays as it is, whatever joins other stretches."""


def join(candidates: Sequence[Candidate], joint: Callable[[Chunk, Chunk, bool], Joint | None]) -> list[Stretch]:
    """The stretches that `candidates`, of one document and sorted by position, make.

    `joint(a, b, adjacent)` says how b continues a; None begins a new stretch. A chunk that adds nothing has no piece.
    Blank lines around a passage and white space after it belong to no piece. Of a candidate that is shortened only what
    is kept is written, with a marker where the chunks say more.
    """
    if any(candidate.kept is not None for candidate in candidates):
        lines = lines_of(candidates, joint)
        found = [(line, written(line)) for line in lines]
        return [
            Stretch([each for _, each in line.members], trimmed(pieces) if pieces else (), line.last)
            for line, pieces in found
        ]
    stretches: list[Stretch] = []
    members: list[Candidate] = []
    run: list[Piece] = []
    position = 0
    for candidate in candidates:
        chunk = candidate.chunk
        met = joint(run[-1].candidate.chunk, chunk, candidate.position == position + 1) if run else None
        position = candidate.position
        if met is None:
            if run:
                stretches.append(Stretch(members, trimmed(run), run[-1].candidate.chunk))
            members, run = [candidate], [Piece(candidate, 0, len(chunk.text), "")]
            continue
        members.append(candidate)
        if met.shared < len(chunk.text):
            run.append(Piece(candidate, met.shared, len(chunk.text), met.glue, met.shared))
    if run:
        stretches.append(Stretch(members, trimmed(run), run[-1].candidate.chunk))
    return stretches


def trimmed(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces without blank lines before them and white space after them; at least one has other text."""
    run = list(pieces)
    while len(run) > 1 and not run[-1].text.strip():
        run.pop()
    last = run[-1]
    end = last.start + len(last.text.rstrip())
    if end != last.end:
        run[-1] = last._replace(end=end)
    first = run[0]
    text = first.text
    # Whole blank lines go, the indentation of the first line stays.
    blank = text[: len(text) - len(text.lstrip())].rfind("\n") + 1
    if blank:
        run[0] = first._replace(start=first.start + blank)
    return tuple(run)


def find_joint(first: Chunk, second: Chunk, adjacent: bool, min_chars: int, max_chars: int | None) -> Joint | None:
    """How `second` continues `first`, which comes before it in the document; None if there is a gap between them.

    Chunks that are not adjacent by their place are joined only if their offsets prove that nothing is between them.
    """
    by_offset = _by_offset(first, second)
    if by_offset is not None and by_offset >= 0:
        return Joint(by_offset, "")
    if not adjacent:
        return None
    # Chunks a few characters apart are what a splitter that strips white space leaves: there is no overlap to find.
    if by_offset is not None and by_offset >= -min_chars:
        return Joint(0, "\n")
    shared = overlap_chars(first.text, second.text, min_chars, max_chars)
    return Joint(shared, "") if shared else Joint(0, "\n")


def _by_offset(first: Chunk, second: Chunk) -> int | None:
    """Characters that the two share by their offsets, verified; negative for a gap, None if the offsets are wrong."""
    if first.start is None or second.start is None or second.start < first.start:
        return None
    shared = first.start + len(first.text) - second.start
    if shared <= 0:
        return shared
    shared = min(shared, len(second.text))
    return shared if first.text.startswith(second.text[:shared], second.start - first.start) else None


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
