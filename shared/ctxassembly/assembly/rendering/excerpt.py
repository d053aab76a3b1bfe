"""Excerpts: the text of chunks of which only slices are kept, in reading order, each character once.

Two chunks that overlap may keep different slices of the text they share. Joining them in pairs would have to know which
of the two was shortened, and how. So chunks that continue each other are laid onto one line, the document's text as far
as they have it, overlap on overlap. Each slice becomes a span of that line. A character that two chunks keep belongs to
the first of them, and `GAP` marks where text between two spans is left out.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import GAP, Candidate, Joint, Piece
from ctxassembly.data.chunks import Chunk, Span


def lines_of(candidates: Sequence[Candidate], joint: Callable[[Chunk, Chunk, bool], Joint | None]) -> list[Line]:
    """`candidates`, of one document and sorted by position, laid onto as few lines as they make."""
    lines: list[Line] = []
    position = 0
    for candidate in candidates:
        adjacent = candidate.position == position + 1
        position = candidate.position
        met = joint(lines[-1].last, candidate.chunk, adjacent) if lines else None
        if met is None:
            lines.append(Line(candidate))
        else:
            lines[-1].add(candidate, met)
    return lines


class Line:
    """The text that chunks make together, and the beginning of each chunk in it."""

    def __init__(self, first: Candidate) -> None:
        self.members = [(0, first)]
        """The candidates, each with its beginning in the text; ascending, except for one that another contains."""
        self.last = first.chunk
        """The chunk that reaches farthest."""
        self._parts = [first.chunk.text]
        self._length = len(first.chunk.text)

    @property
    def text(self) -> str:
        """The whole text, put together anew."""
        return "".join(self._parts)

    def add(self, candidate: Candidate, met: Joint) -> None:
        """Lay `candidate` onto the line, where it meets the chunk that reaches farthest."""
        chunk = candidate.chunk
        if met.shared < len(chunk.text):
            begin = self._length + len(met.glue) - met.shared
            self._parts += (met.glue, chunk.text[met.shared :])
            self._length = begin + len(chunk.text)
            self.last = chunk
        else:
            begin = self._length - len(self.last.text) + _position(chunk, self.last)
        self.members.append((begin, candidate))


def _position(inner: Chunk, outer: Chunk) -> int:
    """The beginning of `inner` in `outer`, which contains it: by the offsets if they are right."""
    if inner.start is not None and outer.start is not None:
        position = inner.start - outer.start
        if position >= 0 and outer.text.startswith(inner.text, position):
            return position
    return outer.text.find(inner.text)


class _Slice(NamedTuple):
    """A span of the line that belongs to one candidate."""

    start: int
    end: int
    candidate: Candidate
    origin: int
    """The beginning of the candidate's chunk in the line."""
    shared: int
    """Characters that the candidate keeps but that belong to others; on its first slice only."""


def _slices(line: Line) -> list[_Slice]:
    """The spans that each candidate keeps and no candidate before it does, in the order of the line."""
    taken: list[Span] = []
    slices: list[_Slice] = []
    for origin, candidate in line.members:
        spans = [(origin + start, origin + end) for start, end in candidate.slices]
        free = [rest for span in spans for rest in without(span, taken)]
        shared = sum(end - start for start, end in spans) - sum(end - start for start, end in free)
        for start, end in free:
            insort(taken, (start, end))
            slices.append(_Slice(start, end, candidate, origin, shared))
            shared = 0  # the first slice has it for all
    return sorted(slices, key=lambda part: part.start)


def without(span: Span, taken: Sequence[Span]) -> Iterator[Span]:
    """The rest of `span` outside the spans `taken`, which are ascending and apart.

    >>> list(without((0, 10), [(2, 4), (8, 12)]))
    [(0, 2), (4, 8)]
    """
    start, end = span
    for at in range(max(bisect_left(taken, (start, start)) - 1, 0), len(taken)):
        begin, stop = taken[at]
        if begin >= end:
            break
        if begin > start:
            yield start, begin
        start = max(start, stop)
    if start < end:
        yield start, end


def written(line: Line) -> tuple[Piece, ...]:
    """The slices of the line as pieces; none if they are all blank."""
    text = line.text
    pieces: list[Piece] = []
    ends: list[int] = []
    for part in _slices(line):
        start, glue = part.start, ""
        missing = text[ends[-1] : start] if pieces else ""
        if missing.strip():
            # Text is left out: white space on both sides of it gives way to the marker.
            start += _before_text(missing, text[start : part.end])
            _strip_end(pieces, ends)
            glue = _marker(text[ends[-1] : start]) if pieces else ""
        elif missing:
            glue = "\n" if "\n" in missing else " "
        if start < part.end:
            pieces.append(Piece(part.candidate, start - part.origin, part.end - part.origin, glue, part.shared))
            ends.append(part.end)
    _strip_end(pieces, ends)
    return tuple(pieces)


def _strip_end(pieces: list[Piece], ends: list[int]) -> None:
    """Strip the white space at the end of `pieces`, and remove those at the end that have nothing else."""
    while pieces:
        text = pieces[-1].text
        if blank := len(text) - len(text.rstrip()):
            pieces[-1] = pieces[-1]._replace(end=pieces[-1].end - blank)
            ends[-1] -= blank
        if blank < len(text):
            return
        pieces.pop()
        ends.pop()


def _before_text(missing: str, text: str) -> int:
    """The length of the white space at the beginning of `text`, without the indentation of a line that begins there."""
    lead = text[: _indent(text)]
    blanks = missing[len(missing.rstrip()) :] + lead
    line = blanks.rfind("\n") + 1
    return max(line - (len(blanks) - len(lead)), 0) if line else len(lead)


def _marker(missing: str) -> str:
    """The marker in place of `missing` text, with a line break on each side where the missing text has one."""
    before = "\n" if "\n" in missing[: _indent(missing)] else " "
    after = "\n" if "\n" in missing[len(missing.rstrip()) :] else " "
    return f"{before}{GAP}{after}"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
