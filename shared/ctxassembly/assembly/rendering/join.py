"""Chunks of one document -> passages: overlap stripped, gaps kept apart, every piece a verbatim slice.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Without offsets the longest text that ends the first chunk and begins the second is the overlap, if it is long enough to
be no accident and if it can be meant in one way only (`adjacency/overlap.py`). A shorter one is found if
`number_chunks` recorded it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxassembly.assembly.adjacency.indentation import is_indentation_lost
from ctxassembly.assembly.adjacency.overlap import overlap_length
from ctxassembly.assembly.adjacency.positions import chunk_section, claimed_overlap, overlap_by_offset
from ctxassembly.assembly.adjacency.shared_ids import has_shared_index
from ctxassembly.assembly.rendering.excerpt import build_document_texts, kept_pieces
from ctxassembly.data.candidates import Candidate, Join, TextPiece
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys


class JoinedPassage:
    """Candidates that continue each other, in reading order, and the passage they make."""

    __slots__ = ("cache", "candidates", "last_chunk", "pieces")

    def __init__(self, candidates: list[Candidate], pieces: tuple[TextPiece, ...], last_chunk: Chunk) -> None:
        self.candidates = candidates
        self.pieces = pieces
        """Empty if nothing but blanks is kept."""
        self.last_chunk = last_chunk
        """The chunk that reaches farthest: a later chunk continues this one or none."""
        self.cache: dict[object, Any] = {}
        """Cached measures of the passage, which stays as it is, whatever joins other stretches."""


def join(candidates: Sequence[Candidate], get_join: Callable[[Chunk, Chunk, bool], Join | None]) -> list[JoinedPassage]:
    """Return the stretches of `candidates`, which are of one document and sorted by position.

    `get_join(a, b, is_adjacent)` is how b continues a; None begins a new stretch. A chunk that adds nothing has no
    piece. Blank lines around a passage and white space after it belong to no piece. Of a shortened candidate only the
    kept slices are written, with a marker where text is left out.
    """
    # Shortened chunks take the longer way: what is kept of each is cut out of the line they make together.
    if any(candidate.kept_spans is not None for candidate in candidates):
        lines = build_document_texts(candidates, get_join)
        found = [(line, kept_pieces(line)) for line in lines]
        return [
            JoinedPassage(
                [candidate for _, candidate in line.members], trim_passage(pieces) if pieces else (), line.last_chunk
            )
            for line, pieces in found
        ]
    passages: list[JoinedPassage] = []
    members: list[Candidate] = []
    pieces: list[TextPiece] = []
    position = 0
    for candidate in candidates:
        chunk = candidate.chunk
        found_join = get_join(pieces[-1].candidate.chunk, chunk, candidate.position == position + 1) if pieces else None
        position = candidate.position
        if found_join is None:
            if pieces:
                passages.append(JoinedPassage(members, trim_passage(pieces), pieces[-1].candidate.chunk))
            members, pieces = [candidate], [TextPiece(candidate, 0, len(chunk.text), "")]
            continue
        members.append(candidate)
        # A chunk that lies in the one before adds no piece.
        if found_join.overlap < len(chunk.text):
            pieces.append(
                TextPiece(candidate, found_join.overlap, len(chunk.text), found_join.separator, found_join.overlap)
            )
    if pieces:
        passages.append(JoinedPassage(members, trim_passage(pieces), pieces[-1].candidate.chunk))
    return passages


def trim_passage(pieces: Sequence[TextPiece]) -> tuple[TextPiece, ...]:
    """Return the pieces without the blank lines before and the white space after them; at least one has other text."""
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


def find_join(first: Chunk, second: Chunk, is_adjacent: bool, min_chars: int, max_chars: int | None) -> Join | None:
    """Return the join by which `second` continues `first`, which comes before it; None if there is a gap between them.

    Chunks that are not `is_adjacent` by their position are joined only if their offsets prove that nothing is between
    them. For chunks of different pages or sections only shared text is such a proof, never touching offsets.
    Approximate offsets say where to look for shared text.
    """
    offset_overlap = overlap_by_offset(first, second)
    # Several texts have the index or the id, so being adjacent proves nothing: only touching offsets or shared text do.
    is_ambiguous = has_shared_index(first) or has_shared_index(second)
    is_near = (is_adjacent and not is_ambiguous) or chunk_section(first) == chunk_section(second)
    # Offsets that the text bears out.
    if offset_overlap is not None and offset_overlap >= 0 and (is_near or offset_overlap > min_chars):
        return Join(offset_overlap, "")
    if is_ambiguous:
        if (
            offset_overlap is not None
            and -min_chars <= offset_overlap < 0
            and chunk_section(first) == chunk_section(second)
        ):
            return Join(0, "\n")
        are_close = first.index is not None and second.index is not None and abs(first.index - second.index) <= 1
        shared = overlap_length(first.text, second.text, min_chars, max_chars) if are_close else 0
        return Join(shared, "") if shared else None
    # Approximate offsets say only that shared text is to be looked for, and indexes that aren't adjacent that it isn't.
    if not is_adjacent:
        if first.index is not None or second.index is not None or claimed_overlap(first, second) <= min_chars:
            return None
        shared = overlap_length(first.text, second.text, min_chars, max_chars)
        return Join(shared, "") if shared else None
    # A gap of a few characters is white space that the splitter stripped: there is no overlap to look for.
    if offset_overlap is not None and offset_overlap >= -min_chars:
        return None if is_indentation_lost(first, second, -offset_overlap) else Join(0, "\n")
    if offset_overlap is not None and first.index is None and second.index is None and _is_gap(first, second):
        return None
    # Adjacent, with unknown or wrong offsets: find the overlap in the texts. If none is found, the chunks touch.
    shared = _recorded_overlap(first, second) or overlap_length(first.text, second.text, min_chars, max_chars)
    if shared:
        return Join(shared, "")
    return None if is_indentation_lost(first, second, None) else Join(0, "\n")


def _recorded_overlap(first: Chunk, second: Chunk) -> int:
    """Return the overlap that the metadata of `second` have; 0 if they have none, or `first` doesn't end with it."""
    length = second.metadata.get(MetadataKeys.overlap[0])
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length <= len(second.text):
        return 0
    return length if first.text.endswith(second.text[:length]) else 0


def _is_gap(first: Chunk, second: Chunk) -> bool:
    """Return True if text is missing between two chunks whose offsets leave a gap: no link says that they adjoin."""
    is_linked = first.next_id == second.id or second.prev_id == first.id
    return not is_linked and chunk_section(first) == chunk_section(second)
