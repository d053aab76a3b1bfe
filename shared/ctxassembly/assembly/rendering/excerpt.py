"""Excerpts: the text of chunks of which only slices are kept, in reading order, each character once.

Two chunks that overlap may keep different slices of the text they share. Joining them in pairs would have to know which
of the two was shortened, and how. So chunks that continue each other are placed on one line, the document's text as far
as they have it, overlap on overlap. Each slice becomes a span of that line. A character that two chunks keep belongs to
the first of them, and `GAP` marks where text between two spans is left out.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from ctxassembly.data.candidates import GAP, Candidate, Join, TextPiece
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.text.sentence_rules import is_wrapped_line


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

    __slots__ = ("_length", "_parts", "_pieces", "last_chunk", "members", "sizes")

    def __init__(self, first: Candidate) -> None:
        self.members = [(0, first)]
        """The candidates, each with its beginning in the text; ascending, except for one that another contains."""
        self.last_chunk = first.chunk
        """The chunk that reaches farthest: a later chunk continues this one or none."""
        self.sizes: dict[object, Any] = {}
        """Cached measures of its passage, which stays as it is, whatever joins other texts."""
        self._parts = [first.chunk.text]
        self._length = len(first.chunk.text)
        self._pieces: tuple[TextPiece, ...] | None = None

    @property
    def text(self) -> str:
        """The whole text, put together."""
        return "".join(self._parts)

    @property
    def candidates(self) -> list[Candidate]:
        """The candidates, in the order in which they were added."""
        return [candidate for _, candidate in self.members]

    @property
    def pieces(self) -> tuple[TextPiece, ...]:
        """The passage that is kept of the text; nothing if that is blank. It is asked for when the text is complete."""
        if self._pieces is None:
            self._pieces = _kept_pieces(self)
        return self._pieces

    def add(self, candidate: Candidate, found_join: Join) -> None:
        """Place `candidate` on the line, where it meets the chunk that reaches farthest."""
        chunk, (overlap, separator) = candidate.chunk, found_join
        if overlap < len(chunk.text):
            begin = self._length + len(separator) - overlap
            self._parts += (separator, chunk.text[overlap:])
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


_KeptSlice = tuple[int, int, Candidate, int, int]
"""A span of the line that belongs to one candidate: its start and end; the candidate, and the beginning of its chunk in
the line; the characters that the candidate keeps but that belong to others, on its first slice only."""


def _kept_slices(line: DocumentText) -> list[_KeptSlice]:
    """Return the spans that each candidate keeps and no candidate before it does, in the order of the line."""
    taken: list[Span] = []
    slices: list[_KeptSlice] = []
    for chunk_start, candidate in line.members:
        shared_chars, own = 0, len(slices)
        for first, last in candidate.spans:
            start, end = chunk_start + first, chunk_start + last
            if not taken or taken[-1][1] <= start:  # most candidates have nothing of what those before them keep
                taken.append((start, end))
                slices.append((start, end, candidate, chunk_start, 0))
                continue
            shared_chars += end - start
            for span in tuple(subtract_spans((start, end), taken)):
                insort(taken, span)
                slices.append((*span, candidate, chunk_start, 0))
                shared_chars -= span[1] - span[0]
        if shared_chars and own < len(slices):
            slices[own] = (*slices[own][:-1], shared_chars)
    return sorted(slices, key=itemgetter(0))


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


def _kept_pieces(line: DocumentText) -> tuple[TextPiece, ...]:
    """Return the kept slices of the line as pieces, without blank lines before them and white space after them."""
    text = line.text
    kept: list[tuple[int, TextPiece]] = []  # each after the beginning of its chunk in the line
    kept_to = 0
    for begin, end, candidate, chunk_start, shared_chars in _kept_slices(line):
        start, separator = begin, ""
        if kept and kept_to < start:
            gap_text = text[kept_to:start]
            if gap_text.isspace():
                separator = "\n" if "\n" in gap_text else " "
            else:  # text is left out: white space on both sides of it gives way to the marker
                start += _leading_blank_length(gap_text, text[start:end])
                kept_to = _strip_end(kept)
                separator = gap_marker(text, kept_to, start) if kept else ""
        if start < end:
            piece = TextPiece(candidate, start - chunk_start, end - chunk_start, separator, shared_chars)
            kept.append((chunk_start, piece))
            kept_to = end
    _strip_end(kept)
    pieces = [piece for _, piece in kept]
    if pieces and (blank := blank_lines_length(pieces[0].text)):
        pieces[0] = pieces[0]._replace(start=pieces[0].start + blank)
    return tuple(pieces)


def _strip_end(kept: list[tuple[int, TextPiece]]) -> int:
    """Strip the white space at the end of what is `kept`, pieces of nothing else included; return the new end."""
    while kept:
        chunk_start, (candidate, start, end, separator, shared_chars) = kept.pop()
        if stripped := candidate.chunk.text[start:end].rstrip():
            end = start + len(stripped)
            kept.append((chunk_start, TextPiece(candidate, start, end, separator, shared_chars)))
            return chunk_start + end
    return 0


def blank_lines_length(text: str) -> int:
    """Return the length of the blank lines that `text` begins with: the indentation of its first line stays."""
    return text[: _indent_length(text)].rfind("\n") + 1


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
