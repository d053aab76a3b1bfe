"""What is decided before relevance: chunks that must be kept whole come first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import OVER_BUDGET, Candidate, Exclusion
from ctxassembly.safe_repr import safe_repr


class PlacedRequired(NamedTuple):
    """A layout with the candidates that must be kept whole and fit."""

    layout: Layout
    exclusions: Mapping[int, Exclusion] = MappingProxyType({})
    """The neighbors that must be kept whole and don't fit, by key. A hit may be kept in part."""
    notes: Sequence[str] = ()
    """A note for each hit that must be kept whole and doesn't fit."""


def place_required(layout: Layout, candidates: Sequence[Candidate], required_keys: Collection[int]) -> PlacedRequired:
    """Place the `candidates`, best first, that must be kept whole and fit in `layout`.

    A neighbor is included only if all hits fit next to it.
    """
    if not required_keys:
        return PlacedRequired(layout)
    hits_left = {candidate.key: candidate for candidate in candidates if candidate.is_hit}
    exclusions: dict[int, Exclusion] = {}
    notes: list[str] = []
    for candidate in candidates:
        if candidate.key not in required_keys:
            continue
        required_hits = [] if candidate.is_hit else list(hits_left.values())
        may_fit = candidate.distance <= layout.config.window and layout.might_fit([candidate])
        if may_fit and layout.fits([*required_hits, candidate]):
            layout = layout.with_candidates([candidate])
            hits_left.pop(candidate.key, None)
        elif candidate.is_hit:
            notes.append(f"keep_whole: {safe_repr(candidate.chunk.id, 80)} does not fit whole, treated as any other")
        else:
            exclusions[candidate.key] = Exclusion(OVER_BUDGET, layout.text_tokens(candidate))
    return PlacedRequired(layout, exclusions, notes)
