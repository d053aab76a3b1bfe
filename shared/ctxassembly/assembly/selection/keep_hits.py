"""Hits held: none of them is lost to a neighbour where all of them would fit whole.

A neighbour that repeats the words of the query would else take the place of a hit that answers in others. All of each
hit first is no cure, since much of the evidence is beside them: with 5, 8, 10 and 20 hits that finds .012 less on four
sets, where this finds as much (`tests/bench/README.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import Units
from ctxassembly.assembly.selection.knapsack import pack, reduced
from ctxassembly.assembly.selection.result import Filled, outcome
from ctxassembly.assembly.selection.shorten import last_fitting
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import Candidate

LINKED = 2.0
"""The value of continuing a sentence that is taken, where chunks might stand whole but for a hit that is lost."""


def hold(layout: Layout, candidates: Sequence[Candidate], units: Units, grain: Granularity) -> Filled:
    """Take at least the best sentence of each hit, where all hits fit whole.

    By sentences it takes the best of all besides. Else it takes the most valuable candidates whole, as many as fit
    beside the best sentence of each hit after them; the room that is left is for the best sentences of all others.
    """
    ranked, hits = units.by_value(candidates), [candidate for candidate in candidates if candidate.is_hit]
    chars_per_token = layout.chars_per_token(candidates[0])
    best = units.best_of(hits)
    short = {key: form for key, form in reduced(units, best).items() if form.is_hit}
    if grain == "sentence":
        packed = pack(layout, units, chars_per_token, best, linked=LINKED)
        if packed and short.keys() <= packed.forms.keys():
            filled = outcome(*packed, candidates, units)
            if not loses(filled, hits):
                return filled
    room = (layout.max_tokens - layout.token_count) * chars_per_token
    if most := _most_whole(layout, ranked, short, room):
        filled = _with_sentences(layout, candidates, units, *most)
        if not loses(filled, hits):
            return filled
    # Where markers take more than what they stand for, or others have the short form of a hit, the hits stand whole.
    return _with_sentences(layout, candidates, units, hits, {})


def loses(filled: Filled, hits: Sequence[Candidate]) -> bool:
    """True if nothing stands of one of `hits`: it is left out, or others have all of the part that is taken of it."""
    if any(hit.key in filled.left_out for hit in hits):
        return True
    parts = {hit.key for hit in hits if hit.key in filled.shortened}
    return bool(parts) and not parts <= filled.layout.written


def _most_whole(
    layout: Layout, ranked: Sequence[Candidate], short: Mapping[int, Candidate], room: float
) -> tuple[Sequence[Candidate], dict[int, Candidate]] | None:
    """The first of `ranked`, as many as fit whole beside the `short` forms of the others, and these by key.

    None if not even all the short forms fit. The `room` in characters tells about how many fit.
    """

    def after(number: int) -> dict[int, Candidate]:
        return {candidate.key: short[candidate.key] for candidate in ranked[number:] if candidate.key in short}

    def fits(number: int) -> bool:
        return layout.fits([*ranked[:number], *after(number).values()])

    upto = accumulate(layout.lengths(ranked))
    guess = sum(1 for length in upto if length <= room)
    number = last_fitting(range(1, len(ranked) + 1), fits, guess)
    return (ranked[:number], after(number)) if number or fits(0) else None


def _with_sentences(
    layout: Layout,
    candidates: Sequence[Candidate],
    units: Units,
    whole: Sequence[Candidate],
    rest: dict[int, Candidate],
) -> Filled:
    """Take `whole`, and beside it the best sentences of all others if these have all of `rest`, else `rest`."""
    chars_per_token = layout.chars_per_token(candidates[0])
    layout = layout.plus(whole)
    forms = {candidate.key: candidate for candidate in whole}
    taken = {place for share in units.shares if share.candidate.key in forms for place in share.places}
    others = (candidate for candidate in units.by_value(candidates) if candidate.key not in forms)
    best = units.best_of((candidate for candidate in others if candidate.is_hit), taken)
    packed = pack(layout, units, chars_per_token, best, taken - best, LINKED)
    if packed and rest.keys() <= packed.forms.keys():
        rest = {key: form for key, form in packed.forms.items() if key not in forms}
    return outcome(layout.plus(list(rest.values())), {**rest, **forms}, candidates, units)
