"""Joints of two chunks of one document: the overlap to be stripped, or the gap between them.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Without offsets the longest text that ends the first chunk and begins the second is the overlap, if it is long enough to
be no accident and if it can be meant in one way only (`adjacency/overlap.py`). A shorter one is found if
`number_chunks` recorded it.
"""

from __future__ import annotations

from ctxassembly.assembly.adjacency.overlap import overlap_length
from ctxassembly.assembly.adjacency.positions import chunk_section, claimed_overlap, overlap_by_offset
from ctxassembly.data.candidates import Join
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys

NEXT_LINE = Join(0, "\n")
"""The joint of two chunks between which a splitter stripped white space."""


def find_join(first: Chunk, second: Chunk, is_adjacent: bool, min_chars: int, max_chars: int | None) -> Join | None:
    """Return the join by which `second` continues `first`, which comes before it; None if there is a gap between them.

    Chunks that are not `is_adjacent` by their position are joined only if their offsets prove that nothing is between
    them. For chunks of different pages or sections only shared text is such a proof, never touching offsets.
    Approximate offsets say where to look for shared text.
    """
    offset_overlap = overlap_by_offset(first, second)
    # Offsets that the text bears out.
    if (
        offset_overlap is not None
        and offset_overlap >= 0
        and (is_adjacent or offset_overlap > min_chars or chunk_section(first) == chunk_section(second))
    ):
        return Join(offset_overlap, "")
    # Approximate offsets say only that shared text is to be looked for, and indexes that aren't adjacent that it isn't.
    if not is_adjacent:
        if first.index is not None or second.index is not None or claimed_overlap(first, second) <= min_chars:
            return None
        shared = overlap_length(first.text, second.text, min_chars, max_chars)
        return Join(shared, "") if shared else None
    # A gap of a few characters is white space that the splitter stripped: there is no overlap to look for.
    if offset_overlap is not None and offset_overlap >= -min_chars:
        return NEXT_LINE
    if offset_overlap is not None and first.index is None and second.index is None and _is_gap(first, second):
        return None
    # Adjacent, with unknown or wrong offsets: find the overlap in the texts. If none is found, the chunks touch.
    shared = _recorded_overlap(first, second) or overlap_length(first.text, second.text, min_chars, max_chars)
    return Join(shared, "") if shared else NEXT_LINE


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
