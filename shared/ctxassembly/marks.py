"""What the metadata of a chunk may ask for: that it stands whole, or that no neighbours come with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ctxassembly.keys import MetadataKeys
from ctxassembly.scale import Scale
from ctxassembly.types import Candidate, Chunk

Mark = Literal["keep_whole", "no_neighbours"]


def is_marked(chunk: Chunk, mark: Mark, keys: MetadataKeys) -> bool:
    """Whether the metadata of `chunk` say so: True, 1, or either as text, which is how some stores keep it."""
    value = keys.read(chunk.metadata, mark)
    return value is True or (value is not None and str(value).lower() in ("true", "1"))


def take_whole(scale: Scale, candidates: Sequence[Candidate], window: int, keys: MetadataKeys) -> None:
    """Takes those of `candidates`, best first, that have to stand whole and fit.

    What was retrieved goes before all others. A neighbour stands if all that was retrieved has room beside it.
    """
    hits = [each for each in candidates if each.is_hit]
    taken: set[int] = set()
    for each in candidates:
        if each.distance <= window and is_marked(each.chunk, "keep_whole", keys):
            beside = [] if each.is_hit else [hit for hit in hits if id(hit) not in taken]
            if scale.may_fit([each]) and scale.fits([*beside, each]):
                scale.take([each])
                taken.add(id(each))
