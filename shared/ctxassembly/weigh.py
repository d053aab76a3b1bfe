"""What the query makes of candidates: sentences that fit, or an order in which whole chunks or passages are taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxassembly.budget import runs
from ctxassembly.config import AssemblyConfig, Granularity
from ctxassembly.layout import Layout
from ctxassembly.pack import pack
from ctxassembly.scale import Filled
from ctxassembly.types import STOPPED, Candidate, LeftOut
from ctxassembly.units import units_of

PASSAGE_PRESSURE = 1.25
"""All candidates by the room for them. Up to here whole passages find as much as chunks do."""
CHUNK_PRESSURE = 3.0
"""Up to here whole chunks find as much as sentences do."""
CHUNK_SHARE = 0.2
"""Of the room that the longest of them takes: where it is more, whole chunks leave too much of the room empty."""


class Weighed(NamedTuple):
    """Candidates as a query weighs them: taken by sentences, or in the order to take them."""

    packed: Filled | None
    ranked: Sequence[Candidate]
    """Best first, if nothing is taken yet."""
    stopped: Mapping[int, LeftOut]
    """Those that are not worth their room, by `id`."""


def weigh(layout: Layout, candidates: Sequence[Candidate], query: str, config: AssemblyConfig) -> Weighed:
    """What `query` makes of `candidates`. Sentences are taken at once: nothing else knows what they are worth."""
    units = units_of(layout.lines(candidates), query, config.stop_below)
    chars_per_token = len(candidates[0].text) / max(layout.text_tokens(candidates[0]), 1)
    grain = config.grain(query)
    if config.granularity == "auto" and grain == "sentence" and config.stop_below is None:
        room = (layout.max_tokens - layout.token_count) * chars_per_token
        lengths = [len(each.text) for each in candidates]
        grain = under_pressure(lengths, min(room, config.max_characters or math.inf))
    if grain == "sentence" and (packed := pack(layout, units, chars_per_token)):
        layout.take(packed.candidates)
        return Weighed(units.filled(candidates, packed.forms, packed.chars_per_token), (), {})
    poor = units.poor()
    if grain == "passage":  # whole, for the best that it has
        poor = {id(each) for run in runs(candidates) if poor.issuperset(map(id, run)) for each in run}
    stopped = {id(each): LeftOut(STOPPED, layout.text_tokens(each)) for each in candidates if id(each) in poor}
    ranked = units.by_value(each for each in candidates if id(each) not in poor)
    if grain == "passage":
        ranked = [each for run in runs(ranked) for each in run]
    return Weighed(None, ranked, stopped)


def under_pressure(lengths: Sequence[int], room: float) -> Granularity:
    """What `auto` keeps whole of candidates that have `lengths`, in characters: the less, the less `room` there is."""
    if max(lengths) > CHUNK_SHARE * room or sum(lengths) > CHUNK_PRESSURE * room:
        return "sentence"
    return "passage" if sum(lengths) <= PASSAGE_PRESSURE * room else "chunk"
