"""The chunks of a pool -> one text. From here on everything is an offset into it.

A chunk is three offsets: where it begins, where it begins to own its text, and where it ends. What is between its begin
and its own text is overlap, which the chunk before it has.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Without offsets the longest text that ends the first chunk and begins the second is the overlap, if it is long enough to
be no accident and if it can be meant in one way only (`adjacency/overlap.py`). A shorter one is found if
`number_chunks` recorded it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.assembly.adjacency.overlap import overlap_length
from ctxassembly.assembly.adjacency.positions import chunk_section, claimed_overlap, overlap_by_offset
from ctxassembly.assembly.pool import Pool
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.sentences import PAD

_GAP = PAD[:2]
"""Between texts that don't continue each other."""
_NEXT_LINE = "\n"
"""Between two chunks where a splitter stripped white space."""


class Text(NamedTuple):
    """The text of all chunks as one string, padded at both ends. Lists have an entry for each chunk of the pool."""

    text: str
    begins: list[int]
    """Where each chunk begins, with its overlap."""
    owns: list[int]
    """From where on the text counts as that chunk's own; its end if the one before has all of it."""
    ends: list[int]
    breaks: list[int]
    """Where text begins that doesn't continue what is before it, ascending."""
    opens: list[int]
    """Where the text of each document begins."""
    cuts: Sequence[int] = ()
    """Where text that no model reads was cut out, ascending."""
    gone: Sequence[int] = (0,)
    """How many characters were cut out up to each cut, after a 0."""
    origins: Sequence[int] = ()
    """Where the chunks began before anything was cut."""

    def in_chunk(self, number: int, start: int, end: int) -> Span:
        """Return the offsets in a chunk of a part of its text that no cut divides."""
        if not self.cuts:
            return start - self.begins[number], end - self.begins[number]
        before, after = self.gone[bisect_right(self.cuts, start)], self.gone[bisect_left(self.cuts, end)]
        return start + before - self.origins[number], end + after - self.origins[number]


def place_of(text: Text, offset: int) -> int:
    """Return the place of an `offset` that counts what was cut out."""
    number = bisect_right([cut + gone for cut, gone in zip(text.cuts, text.gone, strict=False)], offset)
    return max(text.cuts[number - 1], offset - text.gone[number]) if number else offset


def join(pool: Pool, config: AssemblyConfig) -> Text:
    """Return the text of `pool`: adjacent chunks are joined without their overlap, others are apart."""
    parts, size = [PAD], len(PAD)
    begins, owns, ends = list[int](), list[int](), list[int]()
    breaks, opens, first_of = list[int](), list[int](), {*pool.documents}
    before = None
    for number, candidate in enumerate(pool.candidates):
        chunk, joint = candidate.chunk, None
        text = chunk.text
        if before is not None and number not in first_of:
            is_adjacent = candidate.position - before.position <= 1
            joint = _find_join(before.chunk, chunk, is_adjacent, config.min_overlap_chars, config.max_overlap_chars)
        overlap, glue = joint or (0, _GAP)
        parts += (glue, text[overlap:] if overlap else text)
        size += len(glue)
        if joint is None:
            breaks.append(size + len(text) - len(text.lstrip()))
            if number in first_of:
                opens.append(breaks[-1])
        begins.append(size - overlap)
        owns.append(size)
        size += len(text) - overlap
        ends.append(size)
        # A chunk inside the one before it has nothing that the next one could continue.
        before = candidate if overlap < len(text) or before is None else before._replace(position=candidate.position)
    parts.append(PAD)
    return Text("".join(parts), begins, owns, ends, breaks, opens)


def with_contained(text: Text, pool: Pool) -> Pool:
    """Return `pool` with each chunk as near to the query as the best one inside it, which has no text of its own."""
    candidates, container = [*pool.candidates], 0
    for number, candidate in enumerate(pool.candidates):
        if text.owns[number] < text.ends[number]:
            container = number
            continue
        outer = candidates[container]
        if (candidate.distance > 0, candidate.rank) < (outer.distance > 0, outer.rank):
            candidates[container] = outer._replace(rank=candidate.rank, distance=candidate.distance)
    return pool._replace(candidates=candidates)


def _find_join(
    first: Chunk, second: Chunk, is_adjacent: bool, min_chars: int, max_chars: int | None
) -> tuple[int, str] | None:
    """Return the overlap of `second` with `first`, which comes before it, and what is between them; None for a gap.

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
        return offset_overlap, ""
    # Approximate offsets say only that shared text is to be looked for, and indexes that aren't adjacent that it isn't.
    if not is_adjacent:
        if first.index is not None or second.index is not None or claimed_overlap(first, second) <= min_chars:
            return None
        shared = overlap_length(first.text, second.text, min_chars, max_chars)
        return (shared, "") if shared else None
    # A gap of a few characters is white space that the splitter stripped: there is no overlap to look for.
    if offset_overlap is not None and offset_overlap >= -min_chars:
        return 0, _NEXT_LINE
    if offset_overlap is not None and first.index is None and second.index is None and _is_gap(first, second):
        return None
    # Adjacent, with unknown or wrong offsets: find the overlap in the texts. If none is found, the chunks touch.
    shared = _recorded_overlap(first, second) or overlap_length(first.text, second.text, min_chars, max_chars)
    shared = shared or _repeated_lead(first.text, second.text)
    return (shared, "") if shared else (0, _NEXT_LINE)


def _recorded_overlap(first: Chunk, second: Chunk) -> int:
    """Return the overlap that the metadata of `second` have; 0 if they have none, or `first` doesn't end with it."""
    length = second.metadata.get(MetadataKeys.overlap[0])
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length <= len(second.text):
        return 0
    return length if first.text.endswith(second.text[:length]) else 0


def _repeated_lead(first: str, second: str) -> int:
    """Return the length of a heading, or a line with a colon at its end, that ends `first` and begins `second`.

    However short it is, it isn't there twice: nobody writes a heading above the same heading.
    """
    line, line_break, _ = second.partition("\n")
    is_lead = bool(line_break) and (line.startswith("#") or line.endswith(":"))
    return len(line) if is_lead and f"\n{first}".endswith(f"\n{line}") else 0


def _is_gap(first: Chunk, second: Chunk) -> bool:
    """Return True if text is missing between two chunks whose offsets leave a gap: no link says that they adjoin."""
    is_linked = first.next_id == second.id or second.prev_id == first.id
    return not is_linked and chunk_section(first) == chunk_section(second)
