"""The outcome of filling: a layout with more in it, and what became of the candidates that aren't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import Units
from ctxassembly.assembly.selection.supplement import Supplemented
from ctxassembly.data.candidates import FOR_BUDGET, STOPPED, Candidate, Header, LeftOut, Reason


@dataclass(frozen=True)
class Chosen:
    """The candidates that stand, and those that don't."""

    layout: Layout
    level: Header
    """The level of the headers: how much is written around the text."""
    beside: Supplemented
    usable: tuple[Candidate, ...]
    """All that there was to choose from, in its present form."""
    taken: tuple[Candidate, ...]
    """Those of them that stand, as they do."""
    left_out: dict[int, LeftOut]
    """Those that don't, by key."""
    elsewhere: Mapping[int, Candidate]
    """For those of `taken` that lost sentences because better-ranked passages have them, by key: who has the most."""
    worth: Mapping[int, float]
    """What each is worth for the query, by key; none where the query had nothing to choose."""

    @property
    def token_count(self) -> int:
        """Tokens of the context, headers, separators and supplement included."""
        return self.layout.token_count if self.level is Header.FULL else self.layout.weigh((), self.level)


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
