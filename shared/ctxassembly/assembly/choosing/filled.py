"""The outcome of filling: a layout with more in it, and what became of the candidates that aren't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxassembly.assembly.choosing.units import Units
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import FOR_BUDGET, STOPPED, Candidate, LeftOut, Reason


class Filled(NamedTuple):
    """A layout after filling; of the candidates offered, all that aren't left out stand in it."""

    layout: Layout
    left_out: dict[int, LeftOut]
    """By key."""
    shortened: dict[int, Candidate]
    """The forms of those that stand in part, by key."""


def for_budget(left_out: Mapping[int, LeftOut]) -> set[int]:
    """The keys of those that only lacked room; the others were let go for what they are."""
    return {key for key, why in left_out.items() if why.reason == FOR_BUDGET}


def outcome(layout: Layout, forms: Mapping[int, Candidate], candidates: Sequence[Candidate], units: Units) -> Filled:
    """The outcome for `candidates`, which have `units`, where only those with `forms` stand in `layout`."""
    left_out: dict[int, LeftOut] = {}
    shortened: dict[int, Candidate] = {}
    poor, chars_per_token = units.poor(), layout.chars_per_token(candidates[0])
    for candidate in candidates:
        form = forms.get(candidate.key)
        if form is None:
            reason: Reason = STOPPED if candidate.key in poor else FOR_BUDGET
            left_out[candidate.key] = LeftOut(reason, round(len(candidate.text) / chars_per_token))
        elif form.kept is not None:
            shortened[candidate.key] = form
    return Filled(layout, left_out, shortened)
