"""The chunks of a pool -> one text. From here on everything is an offset into it.

A chunk is three offsets: where it begins, where it begins to own its text, and where it ends. What is between its begin
and its own text is overlap, which the chunk before it has.
"""

from __future__ import annotations

from typing import NamedTuple

from ctxassembly.assembly.adjacency.joints import find_join
from ctxassembly.assembly.pool import Pool
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.text.sentences import PAD

_GAP = PAD[:2]
"""Between texts that don't continue each other."""


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
            joint = find_join(before.chunk, chunk, is_adjacent, config.min_overlap_chars, config.max_overlap_chars)
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
