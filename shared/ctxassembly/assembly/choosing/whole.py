"""Chunks that have to stand whole, as their metadata ask: they are taken before all others."""

from __future__ import annotations

from collections.abc import Sequence

from ctxassembly.assembly.choosing.scale import Scale
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.data.marks import is_marked


def take_whole(scale: Scale, candidates: Sequence[Candidate], window: int, keys: MetadataKeys) -> None:
    """Takes those of `candidates`, best first, that have to stand whole and fit.

    What was retrieved goes before all others. A neighbour stands if all that was retrieved has room beside it.
    """
    hits = [each for each in candidates if each.is_hit]
    taken: set[int] = set()
    for each in candidates:
        if each.distance <= window and is_marked(each.chunk, "keep_whole", keys):
            beside = [] if each.is_hit else [hit for hit in hits if hit.key not in taken]
            if scale.may_fit([each]) and scale.fits([*beside, each]):
                scale.take([each])
                taken.add(each.key)
