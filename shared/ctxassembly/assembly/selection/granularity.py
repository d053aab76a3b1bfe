"""Candidates weighed by a query: packed by sentences, or put in the order in which whole chunks or passages are taken.

Under pressure sentences find the most; with room for most of what was fetched, whole chunks and then whole passages
find as much, and read better. So `auto` decides by all candidates in parts of the room (`under_pressure`).

Where all hits would fit whole, none of them is to be lost to a neighbour: see `hold.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import LEAST_CHARS, Units, units_of
from ctxassembly.assembly.scoring.weights import FEW_HITS, FUSED, MARGIN, WEIGHTS, Weights
from ctxassembly.assembly.selection.knapsack import pack, reduced
from ctxassembly.assembly.selection.result import Filled, outcome
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.candidates import STOPPED, Candidate, LeftOut


def items_of(candidates: Sequence[Candidate], granularity: Granularity) -> list[list[Candidate]]:
    """`candidates` in items of that size. An item comes where the first of its candidates does."""
    if granularity == "chunk":
        return [[candidate] for candidate in candidates]
    if granularity == "passage":
        return passages_of(candidates)
    return _grouped(candidates, [candidate.chunk.document_id for candidate in candidates])


def passages_of(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """`candidates` by the passages that they make: chunks of one document that stand at consecutive positions."""
    passage_of: dict[int, int] = {}
    passage, before = 0, None
    for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
        at = (candidate.chunk.document_id, candidate.position)
        passage += before not in (at, (at[0], at[1] - 1))
        passage_of[candidate.key] = passage
        before = at
    return _grouped(candidates, [passage_of[candidate.key] for candidate in candidates])


def _grouped(candidates: Sequence[Candidate], keys: Sequence[object]) -> list[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())


PASSAGE_PRESSURE = 1.25
"""All candidates by the room for them. Up to here whole passages find as much as chunks do."""
CHUNK_PRESSURE = 3.0
"""Up to here whole chunks find as much as sentences do."""
CHUNK_SHARE = 0.2
"""Part of the room that the longest chunk takes: above it, whole chunks leave too much of the room empty."""
SURELY = 0.9
"""Part of the room: hits that take less of it by a guess are not counted to see whether they fit whole."""


class Weighed(NamedTuple):
    """Candidates as a query weighs them: packed by sentences, or in the order to take them."""

    packed: Filled | None
    ranked: Sequence[Candidate] = ()
    """Best first, where nothing is packed."""
    stopped: Mapping[int, LeftOut] = MappingProxyType({})
    """Those that are not worth their room, by key."""
    held: Units | None = None
    """Their sentences, if all hits fit whole, so that none is to be lost."""
    loses_hits: bool = False
    """True if so many come before the last hit that it would surely be lost: then none of them is tried one by one."""
    worth: Mapping[int, float] = MappingProxyType({})
    """What each is worth for the query, by key; none if no query weighs them."""


def weigh(
    layout: Layout,
    candidates: Sequence[Candidate],
    query: str,
    config: AssemblyConfig,
    scores: Mapping[str, float] = MappingProxyType({}),
) -> Weighed:
    """Weigh `candidates` by the words of `query`, and by the `scores` of sentences if there are any.

    Sentences are packed at once: nothing else knows their worth.
    """
    chars_per_token = layout.chars_per_token(candidates[0])
    room = min((layout.max_tokens - layout.token_count) * chars_per_token, config.max_characters or math.inf)
    grain = config.grain(query)
    hits: list[Candidate] = []
    if config.stop_below is None:
        hits = _hits(candidates)
        if config.granularity == "auto" and grain == "sentence":
            grain = under_pressure([len(candidate.text) for candidate in candidates], room)
    held = bool(hits) and _all_fit(layout, hits, room)
    weights = weights_for(candidates, config)
    if held:
        weights = weights._replace(neighbour=weights.neighbour + MARGIN)
    units = units_of(layout.lines(candidates), query, config.stop_below, weights, config.function_words, scores)
    weighed = None
    if grain == "sentence":
        weighed = _by_sentences(layout, candidates, units, hits if held else ())
    weighed = weighed or _ranked(layout, candidates, units, grain)
    loses_hits = held and _loses_hits(layout, weighed.ranked, room)
    return weighed._replace(held=units if held else None, loses_hits=loses_hits, worth=units.worth())


def weights_for(candidates: Sequence[Candidate], config: AssemblyConfig) -> Weights:
    """The weights of sentences for how the hits among `candidates` were found, without a margin.

    They are `FUSED` for more than `FEW_HITS` hits of which some say that a search for words found them, as those of our
    own do. Where the budget is only a cap, their order would stop it sooner: `stop_below` keeps its scale.
    """
    hits = _hits(candidates)
    fused = len(hits) > FEW_HITS and any("keyword_rank" in hit.chunk.metadata for hit in hits)
    return FUSED if fused and config.stop_below is None else WEIGHTS


def under_pressure(lengths: Sequence[int], room: float) -> Granularity:
    """The unit that `auto` keeps of candidates with such `lengths`; it and the `room` are in characters.

    The tighter the room, the smaller the unit.
    """
    if max(lengths) > CHUNK_SHARE * room or sum(lengths) > CHUNK_PRESSURE * room:
        return "sentence"
    return "passage" if sum(lengths) <= PASSAGE_PRESSURE * room else "chunk"


def _by_sentences(
    layout: Layout, candidates: Sequence[Candidate], units: Units, held: Sequence[Candidate]
) -> Weighed | None:
    """The best sentences, those of the hits that are `held` first; None if not even one fits."""
    packed = pack(layout, units, layout.chars_per_token(candidates[0]), units.best_of(held))
    if packed and layout.is_empty and (first := _too_long(units, packed.forms)):
        weighed = _ranked(layout, candidates, units, "sentence")
        return weighed._replace(
            ranked=[first, *(candidate for candidate in weighed.ranked if candidate.key != first.key)]
        )
    return Weighed(outcome(*packed, candidates, units)) if packed else None


def _too_long(units: Units, standing: Collection[int]) -> Candidate | None:
    """The best sentence of all, if a hit has it and it is too long to stand: it is cut before a lesser one stands."""
    edges = units.edges
    best = next((place for place in units.best_first if edges[place + 1] - edges[place] >= LEAST_CHARS), -1)
    if any(best in share.places and share.candidate.key in standing for share in units.shares):
        return None
    with_it = (candidate for candidate in reduced(units, {best}).values() if candidate.is_hit)
    return min(with_it, key=lambda candidate: candidate.rank, default=None)


def _ranked(layout: Layout, candidates: Sequence[Candidate], units: Units, grain: Granularity) -> Weighed:
    """The candidates that are worth their room by value, those of a passage together."""
    poor = units.poor()
    if grain == "passage":  # whole, for the best that it has
        passages = [frozenset(candidate.key for candidate in passage) for passage in passages_of(candidates)]
        poor = set().union(*(passage for passage in passages if passage <= poor))
    ranked = units.by_value(candidate for candidate in candidates if candidate.key not in poor)
    if grain == "passage":
        ranked = [candidate for passage in passages_of(ranked) for candidate in passage]
    stopped = {
        candidate.key: LeftOut(STOPPED, layout.text_tokens(candidate))
        for candidate in candidates
        if candidate.key in poor
    }
    return Weighed(None, ranked, stopped)


def _loses_hits(layout: Layout, ranked: Sequence[Candidate], room: float) -> bool:
    """True if those of `ranked` up to the last hit surely take more than the `room`, which is in characters."""
    last = max((number for number, candidate in enumerate(ranked, 1) if candidate.is_hit), default=0)
    return sum(layout.lengths(ranked[:last])) * SURELY > room


def _hits(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.is_hit]


def _all_fit(layout: Layout, hits: Sequence[Candidate], room: float) -> bool:
    """True if `hits` fit whole; a guess where they leave some of the `room`, which is in characters.

    Where it is wrong, hits keep a sentence each although not all of them fit. To count them would cost a tenth more.
    """
    return sum(layout.lengths(hits)) <= SURELY * room or (layout.may_fit(hits) and layout.fits(hits))
