"""The chunks of a pool -> one text. From here on everything is an offset into it.

A chunk is three offsets: where it begins, where it begins to own its text, and where it ends. What is between its begin
and its own text is overlap, which the chunk before it has.

Where two chunks meet, their offsets are believed first, and only where the text agrees: splitters get them wrong.
Then comes what `number_chunks` recorded, who saw the whole document. Without both, the longest text that ends the first
chunk and begins the second is the overlap if several pairs show a splitter that makes them, or if it is long
(`ingestion/overlaps.py`). Else nothing is taken for one: a row may be there twice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.assembly.adjacency.positions import chunk_section, claimed_overlap, overlap_by_offset
from ctxassembly.assembly.pool import Pool
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.ingestion.beginnings import common_beginning
from ctxassembly.ingestion.matches import shared_length
from ctxassembly.ingestion.overlaps import HALF, pair_overlaps
from ctxassembly.text.sentences import PAD

_GAP = PAD[:2]
"""Between texts that don't continue each other."""
_NEXT_LINE = "\n"
"""Between two chunks where a splitter stripped white space, but for one blank inside a line."""
MIN_LINE = 60
"""Characters of a line that ends in a stop from which on it is one of a paragraph, and not of a list or a poem."""


class Joint(NamedTuple):
    """How a chunk goes on from the one before."""

    cut: int
    """Characters at its beginning that aren't written again."""
    header: int
    """How many of these are a header with which the chunk before begins, too; the others are its end."""
    glue: str


_TOUCHING, _INSIDE_LINE = Joint(0, 0, _NEXT_LINE), Joint(0, 0, " ")
_UNKNOWN = Joint(0, 0, _NEXT_LINE)
"""The same, unless the texts of all such pairs show an overlap."""


class Text(NamedTuple):
    """The text of all chunks as one string, padded at both ends. Lists have an entry for each chunk of the pool."""

    text: str
    begins: list[int]
    """Where each chunk begins, with its overlap."""
    headers: list[int]
    """How many characters of each chunk aren't in the text: the header that the chunk before begins with, too."""
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

    def of_chunk(self, number: int) -> str:
        """Return the text of a chunk, with its overlap and without what was cut out."""
        return self.text[self.begins[number] : self.ends[number]]

    def in_chunk(self, number: int, start: int, end: int) -> Span:
        """Return the offsets in a chunk of a part of its text that no cut divides."""
        begin = (self.origins or self.begins)[number] - self.headers[number]
        if not self.cuts:
            return start - begin, end - begin
        before, after = self.gone[bisect_right(self.cuts, start)], self.gone[bisect_left(self.cuts, end)]
        return start + before - begin, end + after - begin


def place_of(text: Text, offset: int) -> int:
    """Return the place of an `offset` that counts what was cut out."""
    number = bisect_right([cut + gone for cut, gone in zip(text.cuts, text.gone, strict=False)], offset)
    return max(text.cuts[number - 1], offset - text.gone[number]) if number else offset


def join(pool: Pool, config: AssemblyConfig) -> Text:
    """Return the text of `pool`: adjacent chunks are joined without their overlap, others are apart."""
    parts, size = [PAD], len(PAD)
    begins, owns, ends = list[int](), list[int](), list[int]()
    breaks, opens, headers = list[int](), list[int](), list[int]()
    for number, (candidate, joint) in enumerate(zip(pool.candidates, _joints(pool, config), strict=True)):
        text = candidate.chunk.text
        cut, header, glue = joint or (0, 0, _GAP)
        if joint is not None and cut and (halves := len(parts[-1]) - len(parts[-1].rstrip(HALF))):
            # This chunk has the whole of the character that the chunk before it has a half of.
            parts[-1] = parts[-1][:-halves]
            size -= halves
            ends[-1] -= halves
        parts += (glue, text[cut:] if cut else text)
        size += len(glue)
        if joint is None:
            # Where its first sentence begins: blanks at the beginning of a line are part of it.
            breaks.append(size + text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1)
            if number in pool.documents:
                opens.append(breaks[-1])
        begins.append(size - cut + header)
        headers.append(header)
        owns.append(size)
        size += len(text) - cut
        ends.append(size)
    parts.append(PAD)
    return Text("".join(parts), begins, headers, owns, ends, breaks, opens)


def _joints(pool: Pool, config: AssemblyConfig) -> list[Joint | None]:
    """Return how each chunk is joined to the one before; None if it doesn't continue it."""
    joints, unknown, first_of = list[Joint | None](), list[dict[int, tuple[str, str]]](), {*pool.documents}
    before: Candidate | None = None
    for number, candidate in enumerate(pool.candidates):
        chunk, joint = candidate.chunk, None
        if before is None or number in first_of:
            unknown.append({})
        else:
            is_adjacent = candidate.position - before.position <= 1
            texts = before.chunk.text.rstrip(HALF), chunk.text.lstrip(HALF)
            joint = _find_join(before.chunk, chunk, is_adjacent, config.min_overlap_chars, config.max_overlap_chars)
            is_half = texts != (before.chunk.text, chunk.text) and joint is not None and not joint.cut
            if joint is _UNKNOWN or is_half:
                unknown[-1][number] = texts
        joints.append(joint)
        # A chunk inside the one before it has nothing that the next one could continue.
        is_inside = joint is not None and joint.cut == len(chunk.text) and before is not None
        before = before._replace(position=candidate.position) if is_inside and before else candidate
    unknown = [pairs for pairs in unknown if pairs]
    found = pair_overlaps([[*pairs.values()] for pairs in unknown], config.min_overlap_chars)
    for pairs, lengths in zip(unknown, found, strict=True):
        for number, length in zip(pairs, lengths, strict=True):
            if 0 < length <= (config.max_overlap_chars or length):
                text = pool.candidates[number].chunk.text
                joints[number] = Joint(length + len(text) - len(text.lstrip(HALF)), 0, "")
    return joints


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


def _find_join(first: Chunk, second: Chunk, is_adjacent: bool, min_chars: int, max_chars: int | None) -> Joint | None:
    """Return how `second` goes on from `first`, which comes before it; None for a gap, `_UNKNOWN` if texts decide.

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
        return Joint(offset_overlap, 0, "")
    # Approximate offsets say only that shared text is to be looked for, and indexes that aren't adjacent that it isn't.
    if not is_adjacent:
        if first.index is not None or second.index is not None or claimed_overlap(first, second) <= min_chars:
            return None
        shared = shared_length(first.text, second.text, min_chars)
        return Joint(shared, 0, "") if 0 < shared <= (max_chars or shared) else None
    recorded = _recorded(first, second)
    if recorded is not None and recorded is not _TOUCHING:
        return recorded
    # A gap of a few characters is white space that the splitter stripped: there is no overlap to look for.
    if recorded is _TOUCHING or (offset_overlap is not None and offset_overlap >= -min_chars):
        return _INSIDE_LINE if offset_overlap == -1 and _is_one_line(first.text, second.text) else _TOUCHING
    if offset_overlap is not None and first.index is None and second.index is None and _is_gap(first, second):
        return None
    # Adjacent, with unknown or wrong offsets.
    if shared := _contained(first.text, second.text, min_chars) or _repeated_lead(first.text, second.text):
        return Joint(shared, 0, "")
    return _UNKNOWN


def _recorded(first: Chunk, second: Chunk) -> Joint | None:
    """Return the joint that the metadata of `second` record; None if they record none, or `first` is another text."""
    length = second.metadata.get(MetadataKeys.overlap[0])
    if type(length) is not int or not 0 <= length <= len(second.text):
        return None
    if not length:
        return _TOUCHING
    if first.text.rstrip(HALF).endswith(second.text[:length].lstrip(HALF)):
        return Joint(length, 0, "")
    # A header, with which both begin, and then the overlap.
    header = len(common_beginning([first.text, second.text[:length]]))
    if not header or not first.text.endswith(second.text[header:length]):
        return None
    return Joint(length, header, "" if header < length else _NEXT_LINE)


def _is_one_line(first: str, second: str) -> bool:
    """Return whether one line goes on in `second`: a row that was cut, a sentence, or a paragraph of several.

    The one character that a splitter stripped between the two was a blank, then.
    """
    last, following = first.rpartition("\n")[2], second.partition("\n")[0]
    if last.startswith("|"):
        return not last.endswith("|") or not following.startswith("|")
    if last.endswith((".", "!", "?")):
        return len(last) >= MIN_LINE and following[:1].isalnum()
    return "\n" not in first and following[:1].islower()


def _contained(first: str, second: str, min_chars: int) -> int:
    """Return the length of `second` if it is inside `first`, once; else 0."""
    is_inside = min_chars < len(second) <= len(first) and second in first
    return len(second) if is_inside and first.find(second, first.find(second) + 1) < 0 else 0


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
