"""Offsets of two chunks against each other, believed only as far as the texts bear them out.

Splitters get offsets wrong: LangChain's `add_start_index` with a token splitter gave -1 for 88 of 245 chunks. Where a
reader makes a document of each page or section, offsets begin anew there. So an offset says where to look; the text
decides.
"""

from __future__ import annotations

from ctxassembly.assembly.adjacency.overlap import overlap_chars
from ctxassembly.data.chunks import Chunk, PartName

TOUCHING = 20
"""Characters of a gap that may be stripped white space, or of an overlap that may be an accident."""
FACTS = "facts"
"""The name of the part that holds a graph's facts about a chunk."""


def part_of(chunk: Chunk) -> PartName:
    """The page or section that the chunk's offset counts in."""
    return chunk.origin.part if chunk.origin else ()


def is_facts(chunk: Chunk) -> bool:
    """True if `chunk` is a graph's facts about another one, which have no position in the document's text."""
    return any(name == FACTS for name, _ in part_of(chunk))


def offset_of(chunk: Chunk) -> int | None:
    """The offset of `chunk` in its part, exact or approximate; None if unknown."""
    return chunk.start if chunk.start is not None or chunk.origin is None else chunk.origin.near


def by_offset(first: Chunk, second: Chunk) -> int | None:
    """Verified characters that the two share by their offsets; negative for a gap, None if the offsets are wrong."""
    if first.start is None or second.start is None or second.start < first.start:
        return None
    shared = first.start + len(first.text) - second.start
    if shared <= 0:
        return shared
    shared = min(shared, len(second.text))
    return shared if first.text.startswith(second.text[:shared], second.start - first.start) else None


def said_to_share(first: Chunk, second: Chunk) -> int:
    """Characters that the two share if their offsets are about right; 0 if by them `second` begins elsewhere."""
    one, two = offset_of(first), offset_of(second)
    if one is None or two is None or two < one or part_of(first) != part_of(second):
        return 0
    return max(one + len(first.text) - two, 0)


def continues(first: Chunk, second: Chunk) -> bool:
    """True if `second` goes on where `first` ends, or sooner, by offsets that the text bears out."""
    shared = by_offset(first, second)
    if shared is not None:
        # Chunks of different parts may touch by accident, since offsets begin anew; shared text is no accident.
        return shared > TOUCHING or (shared >= -TOUCHING and part_of(first) == part_of(second))
    return said_to_share(first, second) > TOUCHING and overlap_chars(first.text, second.text, TOUCHING) > 0


def lies_in(inner: Chunk, outer: Chunk) -> bool:
    """True if the text of `inner` stands in that of `outer` where their offsets say so."""
    begin, at = offset_of(outer), offset_of(inner)
    if begin is None or at is None or len(inner.text) > len(outer.text) or part_of(inner) != part_of(outer):
        return False
    if inner.start is not None and outer.start is not None:
        return at >= begin and outer.text.startswith(inner.text, at - begin)
    return begin - TOUCHING <= at <= begin + len(outer.text) and inner.text.strip() in outer.text
