"""Excerpts: the text of chunks of which only slices are kept, in reading order, each character once.

Two chunks that overlap may keep different slices of the text they share. Joining them in pairs would have to know which
of the two was shortened, and how. So chunks that continue each other are placed on one line, the document's text as far
as they have it, overlap on overlap. Each slice becomes a span of that line. A character that two chunks keep belongs to
the first of them, and `GAP` marks where text between two spans is left out.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import GAP, Candidate, Join, TextPiece
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.text.sentences import is_wrapped_line


def build_document_texts(
    candidates: Sequence[Candidate], get_join: Callable[[Chunk, Chunk, bool], Join | None]
) -> list[DocumentText]:
    """Return `candidates`, of one document and sorted by position, placed on as few lines as they make."""
    lines: list[DocumentText] = []
    position = 0
    for candidate in candidates:
        is_adjacent = candidate.position == position + 1
        position = candidate.position
        found_join = get_join(lines[-1].last_chunk, candidate.chunk, is_adjacent) if lines else None
        if found_join is None:
            lines.append(DocumentText(candidate))
        else:
            lines[-1].add(candidate, found_join)
    return lines


class DocumentText:
    """The text that chunks make together, and the beginning of each chunk in it."""

    def __init__(self, first: Candidate) -> None:
        self.members = [(0, first)]
        """The candidates, each with its beginning in the text; ascending, except for one that another contains."""
        self.last_chunk = first.chunk
        """The chunk that reaches farthest."""
        self._parts = [first.chunk.text]
        self._length = len(first.chunk.text)

    @property
    def text(self) -> str:
        """The whole text, put together."""
        return "".join(self._parts)

    def add(self, candidate: Candidate, found_join: Join) -> None:
        """Place `candidate` on the line, where it meets the chunk that reaches farthest."""
        chunk = candidate.chunk
        if found_join.overlap < len(chunk.text):
            begin = self._length + len(found_join.separator) - found_join.overlap
            self._parts += (found_join.separator, chunk.text[found_join.overlap :])
            self._length = begin + len(chunk.text)
            self.last_chunk = chunk
        else:
            begin = self._length - len(self.last_chunk.text) + _offset_in(chunk, self.last_chunk)
        self.members.append((begin, candidate))


def _offset_in(inner: Chunk, outer: Chunk) -> int:
    """Return the beginning of `inner` in `outer`, which contains it: by the offsets if they are right."""
    if inner.start is not None and outer.start is not None:
        position = inner.start - outer.start
        if position >= 0 and outer.text.startswith(inner.text, position):
            return position
    return outer.text.find(inner.text)


class _KeptSlice(NamedTuple):
    """A span of the line that belongs to one candidate."""

    start: int
    end: int
    candidate: Candidate
    chunk_start: int
    """The beginning of the candidate's chunk in the line."""
    shared_chars: int
    """Characters that the candidate keeps but that belong to others; on its first slice only."""


def _kept_slices(line: DocumentText) -> list[_KeptSlice]:
    """Return the spans that each candidate keeps and no candidate before it does, in the order of the line."""
    taken: list[Span] = []
    slices: list[_KeptSlice] = []
    for chunk_start, candidate in line.members:
        spans = [(chunk_start + start, chunk_start + end) for start, end in candidate.spans]
        free = [rest for span in spans for rest in subtract_spans(span, taken)]
        shared_chars = sum(end - start for start, end in spans) - sum(end - start for start, end in free)
        for start, end in free:
            insort(taken, (start, end))
            slices.append(_KeptSlice(start, end, candidate, chunk_start, shared_chars))
            shared_chars = 0  # the first slice has it for all
    return sorted(slices, key=lambda part: part.start)


def subtract_spans(span: Span, taken: Sequence[Span]) -> Iterator[Span]:
    """Return the rest of `span` outside the spans `taken`, which are ascending and apart.

    >>> list(subtract_spans((0, 10), [(2, 4), (8, 12)]))
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


def kept_pieces(line: DocumentText) -> tuple[TextPiece, ...]:
    """Return the slices of the line as pieces; none if they are all blank."""
    text = line.text
    pieces: list[TextPiece] = []
    ends: list[int] = []
    for kept_slice in _kept_slices(line):
        start, separator = kept_slice.start, ""
        gap_text = text[ends[-1] : start] if pieces else ""
        if gap_text.strip():
            # Text is left out: white space on both sides of it gives way to the marker.
            start += _leading_blank_length(gap_text, text[start : kept_slice.end])
            _strip_end(pieces, ends)
            separator = gap_marker(text, ends[-1], start) if pieces else ""
        elif gap_text:
            separator = "\n" if "\n" in gap_text else " "
        if start < kept_slice.end:
            pieces.append(
                TextPiece(
                    kept_slice.candidate,
                    start - kept_slice.chunk_start,
                    kept_slice.end - kept_slice.chunk_start,
                    separator,
                    kept_slice.shared_chars,
                )
            )
            ends.append(kept_slice.end)
    _strip_end(pieces, ends)
    return tuple(pieces)


def _strip_end(pieces: list[TextPiece], ends: list[int]) -> None:
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


def _leading_blank_length(gap_text: str, text: str) -> int:
    """Return the length of the white space at the beginning of `text`; the indentation of its first line stays."""
    leading_blank = text[: _indent_length(text)]
    blanks = gap_text[len(gap_text.rstrip()) :] + leading_blank
    line = blanks.rfind("\n") + 1
    return max(line - (len(blanks) - len(leading_blank)), 0) if line else len(leading_blank)


def gap_marker(text: str, start: int, end: int) -> str:
    r"""Return the marker in place of `text[start:end]`: on a line of its own unless that is all within a paragraph.

    Inside a line, what comes after the marker would pass for the rest of the paragraph, heading or list item before it.

    >>> gap_marker("One. Two. Three.", 4, 10), gap_marker("- One. Two.\n- Three.", 6, 14)
    (' [...] ', '\n[...]\n')
    """
    at = text.find("\n", start, end)
    while at >= 0:
        if not is_wrapped_line(text, at):
            return f"\n{GAP}\n"
        at = text.find("\n", at + 1, end)
    return f" {GAP} "


def _indent_length(text: str) -> int:
    return len(text) - len(text.lstrip())
