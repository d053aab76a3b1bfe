"""Chunks that have to stand whole, as their metadata ask: they are taken before all others."""

from __future__ import annotations

from collections.abc import Sequence

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import is_marked
from ctxassembly.data.metadata_keys import MetadataKeys


def take_whole(layout: Layout, candidates: Sequence[Candidate], window: int, keys: MetadataKeys) -> Layout:
    """`layout` with those of `candidates`, best first, that have to stand whole and fit.

    Hits go before all others. A neighbour stands if all hits have room beside it.
    """
    hits = {candidate.key: candidate for candidate in candidates if candidate.is_hit}
    for candidate in candidates:
        if candidate.distance > window or not is_marked(candidate.chunk, "keep_whole", keys):
            continue
        beside = [] if candidate.is_hit else list(hits.values())
        if layout.may_fit([candidate]) and layout.fits([*beside, candidate]):
            layout = layout.plus([candidate])
            hits.pop(candidate.key, None)
    return layout
