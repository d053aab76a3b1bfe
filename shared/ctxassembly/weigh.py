"""What the query makes of candidates: sentences that fit, or an order in which whole chunks or passages are taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxassembly.budget import runs
from ctxassembly.config import AssemblyConfig, Granularity
from ctxassembly.cut import last_fitting
from ctxassembly.layout import Layout
from ctxassembly.pack import pack, reduced
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
    """Best first, those that aren't taken yet."""
    stopped: Mapping[int, LeftOut]
    """Those that are not worth their room, by `id`."""
    shortened: Mapping[int, Candidate]
    """What was taken of hits for which there is no room whole, by the `id` of these."""


def weigh(
    layout: Layout, candidates: Sequence[Candidate], query: str, config: AssemblyConfig, *, hold: bool = False
) -> Weighed:
    """What `query` makes of `candidates`. Sentences are taken at once: nothing else knows what they are worth.

    To `hold` the hits is to keep at least the best sentence of each; sentences do where all hits fit whole.
    """
    units = units_of(layout.lines(candidates), query, config.stop_below)
    chars_per_token = len(candidates[0].text) / max(layout.text_tokens(candidates[0]), 1)
    grain = config.grain(query)
    if config.granularity == "auto" and grain == "sentence" and config.stop_below is None and not hold:
        room = (layout.max_tokens - layout.token_count) * chars_per_token
        lengths = [len(each.text) for each in candidates]
        grain = under_pressure(lengths, min(room, config.max_characters or math.inf))
    hits = [each for each in candidates if each.is_hit] if config.stop_below is None else []
    best = units.best_of(hits) if hold or (grain == "sentence" and layout.fits(hits)) else frozenset[int]()
    if grain == "sentence" and (packed := pack(layout, units, chars_per_token, best)):
        layout.take(packed.candidates)
        return Weighed(units.filled(candidates, packed.forms, packed.chars_per_token), (), {}, {})
    poor = units.poor()
    if grain == "passage":  # whole, for the best that it has
        poor = {id(each) for run in runs(candidates) if poor.issuperset(map(id, run)) for each in run}
    stopped = {id(each): LeftOut(STOPPED, layout.text_tokens(each)) for each in candidates if id(each) in poor}
    ranked = units.by_value(each for each in candidates if id(each) not in poor)
    if grain == "passage":
        ranked = [each for run in runs(ranked) for each in run]
    if not hold:
        return Weighed(None, ranked, stopped, {})
    short = {key: each for key, each in reduced(units, best).items() if each.is_hit}
    number = _beside(layout, ranked, short)
    rest = {id(each): short[id(each)] for each in ranked[number:] if id(each) in short}
    layout.take([*ranked[:number], *rest.values()])
    shortened = {key: each for key, each in rest.items() if each.kept is not None}
    return Weighed(None, [each for each in ranked[number:] if id(each) not in rest], stopped, shortened)


def _beside(layout: Layout, ranked: Sequence[Candidate], short: Mapping[int, Candidate]) -> int:
    """How many of `ranked` fit whole beside the `short` forms of all that come after them."""

    def fits(number: int) -> bool:
        return layout.fits([*ranked[:number], *(short[id(each)] for each in ranked[number:] if id(each) in short)])

    return last_fitting(range(1, len(ranked) + 1), fits)


def under_pressure(lengths: Sequence[int], room: float) -> Granularity:
    """What `auto` keeps whole of candidates that have `lengths`, in characters: the less, the less `room` there is."""
    if max(lengths) > CHUNK_SHARE * room or sum(lengths) > CHUNK_PRESSURE * room:
        return "sentence"
    return "passage" if sum(lengths) <= PASSAGE_PRESSURE * room else "chunk"
