"""What the query makes of candidates: sentences that fit, or an order in which whole chunks or passages are taken."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import last_fitting
from ctxassembly.assembly.choosing.fill import runs
from ctxassembly.assembly.choosing.pack import pack, reduced
from ctxassembly.assembly.choosing.scale import Filled
from ctxassembly.assembly.choosing.units import HELD, LEAST_CHARS, WEIGHTS, Units, units_of
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.reasons import STOPPED
from ctxassembly.settings.config import AssemblyConfig, Granularity

PASSAGE_PRESSURE = 1.25
"""All candidates by the room for them. Up to here whole passages find as much as chunks do."""
CHUNK_PRESSURE = 3.0
"""Up to here whole chunks find as much as sentences do."""
CHUNK_SHARE = 0.2
"""Of the room that the longest of them takes: where it is more, whole chunks leave too much of the room empty."""
SURELY = 0.9
"""Of the room: hits that take less of it by a guess are not counted to see whether they fit whole."""
LINKED = 2.0
"""What a sentence is worth more beside one that is taken, where chunks might stand whole but for a hit that is lost."""


class Weighed(NamedTuple):
    """Candidates as a query weighs them: taken, or in the order to take them."""

    packed: Filled | None
    ranked: Sequence[Candidate]
    """Best first, if nothing is taken yet."""
    stopped: Mapping[int, LeftOut]
    """Those that are not worth their room, by key."""
    held: Units | None
    """Their sentences, if all hits fit whole, so that none is to be lost."""


def weigh(layout: Layout, candidates: Sequence[Candidate], query: str, config: AssemblyConfig) -> Weighed:
    """What `query` makes of `candidates`. Sentences are taken at once: nothing else knows what they are worth."""
    chars_per_token = _chars_per_token(layout, candidates)
    room = min((layout.max_tokens - layout.token_count) * chars_per_token, config.max_characters or math.inf)
    grain = config.grain(query)
    if config.granularity == "auto" and grain == "sentence" and config.stop_below is None:
        grain = under_pressure([len(each.text) for each in candidates], room)
    hits = _hits(candidates) if config.stop_below is None else []
    held = bool(hits) and _all_fit(layout, hits, room)
    weights = HELD if held else WEIGHTS
    units = units_of(layout.lines(candidates), query, config.stop_below, weights, config.function_words)
    first: Candidate | None = None
    if grain == "sentence":
        best = units.best_of(hits) if held else frozenset[int]()
        packed = pack(layout, units, chars_per_token, best)
        if packed and layout.is_empty:
            first = _too_long(units, packed.forms)
        if packed and first is None:
            layout.take(packed.candidates)
            filled = units.filled(candidates, packed.forms, packed.chars_per_token)
            return Weighed(filled, (), {}, units if held else None)
    poor = units.poor()
    if grain == "passage":  # whole, for the best that it has
        poor = {each.key for run in runs(candidates) if poor.issuperset([each.key for each in run]) for each in run}
    stopped = {each.key: LeftOut(STOPPED, layout.text_tokens(each)) for each in candidates if each.key in poor}
    ranked = units.by_value(each for each in candidates if each.key not in poor)
    if grain == "passage":
        ranked = [each for run in runs(ranked) for each in run]
    if first is not None:
        ranked = [first, *(each for each in ranked if each.key != first.key)]
    return Weighed(None, ranked, stopped, units if held else None)


def hold(layout: Layout, candidates: Sequence[Candidate], units: Units, grain: Granularity) -> Filled:
    """Takes at least the best sentence of each hit, where all hits fit whole.

    By sentences it takes the best of all besides. Else it takes the most valuable candidates whole, as many as fit
    beside the best sentence of each hit after them; the room that is left is for the best sentences of all others.

    A neighbour that repeats the words of the query would else take the place of a hit that answers in others. All of
    each hit first is no cure, since much of the evidence is beside them: with 5, 8, 10 and 20 hits that finds .012 less
    on four sets, where this finds as much (`tests/bench/README.md`).
    """
    chars_per_token = _chars_per_token(layout, candidates)
    ranked, hits = units.by_value(candidates), _hits(candidates)
    best = units.best_of(hits)
    short = {key: each for key, each in reduced(units, best).items() if each.is_hit}
    packed = pack(layout, units, chars_per_token, best, linked=LINKED) if grain == "sentence" else None
    if packed and short.keys() <= packed.forms.keys():
        layout.take(packed.candidates)
        return units.filled(candidates, packed.forms, packed.chars_per_token)

    def after(number: int) -> dict[int, Candidate]:
        return {each.key: short[each.key] for each in ranked[number:] if each.key in short}

    def fits(number: int) -> bool:
        return layout.fits([*ranked[:number], *after(number).values()])

    number = last_fitting(range(1, len(ranked) + 1), fits)
    if not number and not fits(0):  # the markers take more than what they stand for
        ranked, number = hits, len(hits)
    forms, rest = {each.key: each for each in ranked[:number]}, after(number)
    layout.take(ranked[:number])
    best = units.best_of(_hits(ranked[number:]))
    whole = {place for share in units.shares if share.candidate.key in forms for place in share.places}
    packed = pack(layout, units, chars_per_token, best, whole - best, LINKED)
    if packed and rest.keys() <= packed.forms.keys():
        rest = {key: form for key, form in packed.forms.items() if key not in forms}
    layout.take(list(rest.values()))
    return units.filled(candidates, {**rest, **forms}, chars_per_token)


def _too_long(units: Units, standing: Collection[int]) -> Candidate | None:
    """The best sentence of all, if a hit has it and it is too long to stand: it is cut before a lesser one stands."""
    long = (place for place, unit in enumerate(units.units) if unit.end - unit.start >= LEAST_CHARS)
    best = max(long, key=units.values.__getitem__, default=-1)
    if any(best in share.places and share.candidate.key in standing for share in units.shares):
        return None
    with_it = (each for each in reduced(units, {best}).values() if each.is_hit)
    return min(with_it, key=lambda each: each.rank, default=None)


def _hits(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [each for each in candidates if each.is_hit]


def _all_fit(layout: Layout, hits: Sequence[Candidate], room: float) -> bool:
    """Whether `hits` fit whole; by a guess where they leave some of the `room`, in characters.

    Where it is wrong, hits keep a sentence each although not all of them fit. To count them would cost a tenth more.
    """
    return sum(layout.lengths(hits)) <= SURELY * room or layout.fits(hits)


def _chars_per_token(layout: Layout, candidates: Sequence[Candidate]) -> float:
    """A guess."""
    return len(candidates[0].text) / max(layout.text_tokens(candidates[0]), 1)


def under_pressure(lengths: Sequence[int], room: float) -> Granularity:
    """What `auto` keeps whole of candidates that have `lengths`, in characters: the less, the less `room` there is."""
    if max(lengths) > CHUNK_SHARE * room or sum(lengths) > CHUNK_PRESSURE * room:
        return "sentence"
    return "passage" if sum(lengths) <= PASSAGE_PRESSURE * room else "chunk"
