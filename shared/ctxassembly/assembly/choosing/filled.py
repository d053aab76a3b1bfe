"""The outcome of filling: a layout with more in it, and what became of the candidates that aren't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.reasons import FOR_BUDGET


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
