"""The hits behind a context, for another assembly: in less room, under other labels, together with other contexts."""

from __future__ import annotations

from dataclasses import replace

from ctxassembly.context import Context
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Hit


def hits_of(context: Context) -> list[Hit]:
    """The chunks that stand in `context`, best first and whole: the hits by rank, then their neighbours.

    Chunks that were left out have no text in a context, and so don't come back; its trace names them. No chunk brings
    neighbours again.

    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"The {name}.")) for name in ("falcon", "ember")])
    >>> [hit.chunk.text for hit in hits_of(context)]
    ['The falcon.', 'The ember.']
    """
    alone = {context.keys.no_neighbours[0]: True}
    found: dict[int, Candidate] = {}
    for passage in context.passages:
        for piece in passage.pieces:
            found.setdefault(piece.candidate.key, piece.candidate)
    ranked = sorted(found.values(), key=lambda one: (not one.is_hit, one.rank, one.distance, one.key))
    return [Hit(replace(one.chunk, metadata={**one.chunk.metadata, **alone}, vector=None), one.score) for one in ranked]
