"""What is written of chunks of which only slices are kept: the slices in reading order, each character once.

Chunks that continue each other are laid onto one line of text, overlap on overlap, and all that is kept of them is cut
out of that line. So it doesn't matter which of two overlapping chunks was shortened, and how.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.pieces import GAP, Joint, Piece


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
    """The text that chunks make together, and where in it each of them begins."""

    def __init__(self, first: Candidate) -> None:
        self.members = [(0, first)]
        """Where each of the candidates begins in the text; ascending but for one that another contains."""
        self.last = first.chunk
        """The chunk that reaches farthest."""
        self._parts = [first.chunk.text]
        self._length = len(first.chunk.text)

    @property
    def text(self) -> str:
        """All of it, put together anew."""
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
            begin = self._length - len(self.last.text) + _place(chunk, self.last)
        self.members.append((begin, candidate))


def _place(inner: Chunk, outer: Chunk) -> int:
    """Where `inner`, which `outer` contains, begins in it: by the offsets if they are right."""
    if inner.start is not None and outer.start is not None:
        place = inner.start - outer.start
        if place >= 0 and outer.text.startswith(inner.text, place):
            return place
    return outer.text.find(inner.text)


class _Slice(NamedTuple):
    """A slice of the line that a candidate has alone."""

    start: int
    end: int
    candidate: Candidate
    origin: int
    shared: int


def _slices(line: Line) -> list[_Slice]:
    """What each candidate keeps and none before it, in the order of the line."""
    taken: list[Span] = []
    slices: list[_Slice] = []
    for origin, candidate in line.members:
        spans = [(origin + start, origin + end) for start, end in candidate.slices]
        free = [span for each in spans for span in without(each, taken)]
        shared = sum(end - start for start, end in spans) - sum(end - start for start, end in free)
        for start, end in free:
            insort(taken, (start, end))
            slices.append(_Slice(start, end, candidate, origin, shared))
            shared = 0  # the first slice tells it for all
    return sorted(slices, key=lambda each: each.start)


def without(span: Span, taken: Sequence[Span]) -> Iterator[Span]:
    """What is left of `span` outside the spans that are taken, which are ascending and apart."""
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
    """The slices of the line as pieces; none if they are all blank.

    What two chunks share belongs to the first one that keeps it.
    """
    text = line.text
    pieces: list[Piece] = []
    ends: list[int] = []
    for each in _slices(line):
        start, glue = each.start, ""
        missing = text[ends[-1] : start] if pieces else ""
        if missing.strip():
            start += _before_text(missing, text[start : each.end])
            _strip_end(pieces, ends)
            glue = _marker(text[ends[-1] : start]) if pieces else ""
        elif missing:
            glue = "\n" if "\n" in missing else " "
        if start < each.end:
            pieces.append(Piece(each.candidate, start - each.origin, each.end - each.origin, glue, each.shared))
            ends.append(each.end)
    _strip_end(pieces, ends)
    return tuple(pieces)


def _strip_end(pieces: list[Piece], ends: list[int]) -> None:
    """Take the white space off the last of `pieces` that has more, and those after it out."""
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
    """The length of the white space that `text` begins with, but for the indentation of a line that begins there."""
    lead = text[: _indent(text)]
    blanks = missing[len(missing.rstrip()) :] + lead
    line = blanks.rfind("\n") + 1
    return max(line - (len(blanks) - len(lead)), 0) if line else len(lead)


def _marker(missing: str) -> str:
    """The marker for text that is left out; what begins or ends a line outside of it does so beside it, too."""
    before = "\n" if "\n" in missing[: _indent(missing)] else " "
    after = "\n" if "\n" in missing[len(missing.rstrip()) :] else " "
    return f"{before}{GAP}{after}"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
