"""Chunks of one document -> passages: overlap stripped, gaps kept apart, every piece a verbatim slice.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Without offsets the longest text that ends the first chunk and begins the second is the overlap, if it is long enough to
be no accident and if it can be meant in one way only (`adjacency/overlap.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxassembly.assembly.adjacency.overlap import overlap_chars
from ctxassembly.assembly.adjacency.positions import by_offset, part_of, said_to_share
from ctxassembly.assembly.adjacency.shared_ids import is_doubtful
from ctxassembly.assembly.rendering.excerpt import lines_of, written
from ctxassembly.data.candidates import Candidate, Joint, Piece
from ctxassembly.data.chunks import Chunk


class Stretch:
    """Candidates that continue each other, in reading order, and the passage they make."""

    __slots__ = ("candidates", "known", "last", "passage")

    def __init__(self, candidates: list[Candidate], passage: tuple[Piece, ...], last: Chunk) -> None:
        self.candidates = candidates
        self.passage = passage
        """Empty if nothing but blanks is kept."""
        self.last = last
        """The chunk that reaches farthest: a later chunk continues this one or none."""
        self.known: dict[object, Any] = {}
        """Measures of the passage, remembered: it stays as it is, whatever joins other stretches."""


def join(candidates: Sequence[Candidate], joint: Callable[[Chunk, Chunk, bool], Joint | None]) -> list[Stretch]:
    """The stretches of `candidates`, which are of one document and sorted by position.

    `joint(a, b, adjacent)` is how b continues a; None begins a new stretch. A chunk that adds nothing has no piece.
    Blank lines around a passage and white space after it belong to no piece. Of a shortened candidate only the kept
    slices are written, with a marker where text is left out.
    """
    # Shortened chunks take the longer way: what is kept of each is cut out of the line they make together.
    if any(candidate.kept is not None for candidate in candidates):
        lines = lines_of(candidates, joint)
        found = [(line, written(line)) for line in lines]
        return [
            Stretch([candidate for _, candidate in line.members], trimmed(pieces) if pieces else (), line.last)
            for line, pieces in found
        ]
    stretches: list[Stretch] = []
    members: list[Candidate] = []
    pieces: list[Piece] = []
    position = 0
    for candidate in candidates:
        chunk = candidate.chunk
        met = joint(pieces[-1].candidate.chunk, chunk, candidate.position == position + 1) if pieces else None
        position = candidate.position
        if met is None:
            if pieces:
                stretches.append(Stretch(members, trimmed(pieces), pieces[-1].candidate.chunk))
            members, pieces = [candidate], [Piece(candidate, 0, len(chunk.text), "")]
            continue
        members.append(candidate)
        # A chunk that lies in the one before adds no piece.
        if met.shared < len(chunk.text):
            pieces.append(Piece(candidate, met.shared, len(chunk.text), met.glue, met.shared))
    if pieces:
        stretches.append(Stretch(members, trimmed(pieces), pieces[-1].candidate.chunk))
    return stretches


def trimmed(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces without the blank lines before and the white space after them; at least one has other text."""
    kept = list(pieces)
    while len(kept) > 1 and not kept[-1].text.strip():
        kept.pop()
    last = kept[-1]
    end = last.start + len(last.text.rstrip())
    if end != last.end:
        kept[-1] = last._replace(end=end)
    first = kept[0]
    text = first.text
    # Whole blank lines go, the indentation of the first line stays.
    blank = text[: len(text) - len(text.lstrip())].rfind("\n") + 1
    if blank:
        kept[0] = first._replace(start=first.start + blank)
    return tuple(kept)


def find_joint(first: Chunk, second: Chunk, adjacent: bool, min_chars: int, max_chars: int | None) -> Joint | None:
    """The joint by which `second` continues `first`, which comes before it; None if there is a gap between them.

    Chunks that are not `adjacent` by their position are joined only if their offsets prove that nothing is between
    them. For chunks of different pages or sections only shared text is such a proof, never touching offsets.
    Approximate offsets say where to look for shared text.
    """
    at = by_offset(first, second)
    # Several texts have the index or the id, so being adjacent proves nothing: only touching offsets or shared text do.
    in_doubt = is_doubtful(first) or is_doubtful(second)
    is_near = (adjacent and not in_doubt) or part_of(first) == part_of(second)
    # Offsets that the text bears out.
    if at is not None and at >= 0 and (is_near or at > min_chars):
        return Joint(at, "")
    if in_doubt:
        if at is not None and -min_chars <= at < 0 and part_of(first) == part_of(second):
            return Joint(0, "\n")
        near = first.index is not None and second.index is not None and abs(first.index - second.index) <= 1
        shared = overlap_chars(first.text, second.text, min_chars, max_chars) if near else 0
        return Joint(shared, "") if shared else None
    # Approximate offsets say only that shared text is to be looked for, and indexes that aren't adjacent that it isn't.
    if not adjacent:
        if first.index is not None or second.index is not None or said_to_share(first, second) <= min_chars:
            return None
        shared = overlap_chars(first.text, second.text, min_chars, max_chars)
        return Joint(shared, "") if shared else None
    # A gap of a few characters is white space that the splitter stripped: there is no overlap to look for.
    if at is not None and at >= -min_chars:
        return Joint(0, "\n")
    if at is not None and first.index is None and second.index is None and _is_gap(first, second):
        return None
    # Adjacent, with offsets that are unknown or wrong: the texts alone tell the overlap. If none is found, they touch.
    shared = overlap_chars(first.text, second.text, min_chars, max_chars)
    return Joint(shared, "") if shared else Joint(0, "\n")


def _is_gap(first: Chunk, second: Chunk) -> bool:
    """True if text is missing between two chunks with a gap by their offsets: no link says that they adjoin."""
    linked = first.next_id == second.id or second.prev_id == first.id
    return not linked and part_of(first) == part_of(second)
