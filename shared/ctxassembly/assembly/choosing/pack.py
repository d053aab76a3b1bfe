"""Sentences packed into the budget: the best ones for the query, in contiguous passages.

The sentences of all candidates compete, wherever they stand. `greedy` takes them by value within a room in tokens; it
closes a gap of one sentence, and may let a sentence that continues what is taken come sooner. The result is candidates
of which only these sentences are kept, which are joined, cited and traced like any other.

How it converges. A sentence is counted when it is about to be taken; what is written around it is a guess. So the whole
is rendered and counted once in the end, and where that is over the budget, or leaves much of it, another try has less
or more room, in proportion. A guess that was too much or too little bounds all later ones, and where the proportion
leads out of the bounds the next try is half-way between them, until no sentence is short enough to make a difference.
Only a try that fits is kept, so the budget holds whatever the guesses are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ctxassembly.assembly.choosing.costs import Costs
from ctxassembly.assembly.choosing.greedy import LEAST, greedy
from ctxassembly.assembly.choosing.reduced import reduced
from ctxassembly.assembly.choosing.units import Units
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate

TRIES = 6
"""Times that the whole is counted at most; the second or third try mostly hits."""
AIM = 0.995
CLOSE_ENOUGH = 0.98
"""Parts of the budget: where a try aims, so that it is not just over, and where another would gain next to nothing."""


class Packed(NamedTuple):
    """The candidates that have any of the packed units, reduced to these."""

    layout: Layout
    """They stand in it."""
    forms: dict[int, Candidate]
    """By key."""


def pack(
    layout: Layout,
    units: Units,
    chars_per_token: float,
    first: Collection[int] = frozenset(),
    without: Collection[int] = frozenset(),
    linked: float = 0.0,
) -> Packed | None:
    """Pack the best units that fit, those at `first` before all others and none `without`; None if not even one fits.

    `chars_per_token` is a guess to begin with. A unit is worth `linked` more beside one that is taken.
    """
    best: Packed | None = None
    order = units.best_first[: int((units.values >= units.least).sum())]
    if first or without:
        others = [place for place in order if place not in first and place not in without]
        order = [*(place for place in units.best_first if place in first), *others]
    sooner = _ranks(order, units, len(first), linked) if linked else {}
    costs = Costs(layout, units, chars_per_token)
    tokens = layout.max_tokens - layout.token_count
    room = min(float(tokens), layout.max_characters / chars_per_token)
    low, high = 0.0, math.inf
    for _ in range(TRIES):
        chosen = greedy(units, order, room, costs, sooner)
        forms = reduced(units, chosen.places, first)
        if not forms:
            break
        candidates = list(forms.values())
        costs.keep(candidates)
        added = layout.weigh(candidates) - layout.token_count
        if layout.fits(candidates):
            best = Packed(layout.plus(candidates), forms)
            if added >= tokens * CLOSE_ENOUGH or chosen.all_had_room:
                break
            low = room
        else:
            high = chosen.tokens  # with any room from there on it takes the same
        # In proportion; where that was tried already, or characters are the limit, half-way between the bounds.
        room *= AIM * tokens / max(added, 1)
        if not low < room < high:
            room = (low + high) / 2
        if high - low < LEAST:
            break
    return best


def _ranks(order: Sequence[int], units: Units, first: int, linked: float) -> dict[int, float]:
    """The rank in `order` of each unit if it were worth `linked` more, but never before the `first` ones."""
    others = order[first:]
    ascending = -units.values[others]
    ranks = ascending.searchsorted(ascending - linked) + (first - 0.5)
    return dict(zip(others, ranks.tolist(), strict=True))
