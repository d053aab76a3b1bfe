"""How many of the best units may be read: those that are relevant enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.select.fit import Selection
from ctxassembly.assembly.units import Units, best_first
from ctxassembly.safe_repr import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxassembly.assembly.units import Floats, Ints

FIRST_DISTANCE = 2.0
"""How much farther from the best the first text may be: cheap text may be less relevant. The factor falls evenly to 1
where the context is full."""
NEXT_TOKENS = 1_000
"""A note says what as many more would add."""


def relevant(units: Units, order: Ints, tokens: Floats, limits: tuple[float, int], chosen: Sequence[int]) -> Ints:
    """Return the units in `order`, best first, that are relevant enough; at least one. `tokens` is by unit.

    `limits` are the least relevance and the most tokens. What is in the chunks `chosen` is relevant in any case.
    """
    minimum, max_tokens = limits
    # A chunk is as relevant as its best sentence, and its value depends on the others, too.
    ranked = order[np.argsort(-units.relevance[order], kind="stable")]
    before = np.cumsum(tokens[ranked]) - tokens[ranked]
    factors = FIRST_DISTANCE - (FIRST_DISTANCE - 1) * np.minimum(before / max_tokens, 1.0)
    below = np.flatnonzero(units.relevance[ranked] < 1 - (1 - minimum) * factors)
    is_kept = np.zeros(len(units.starts), bool)
    is_kept[ranked[: int(below[0]) if len(below) else len(order)]] = True
    is_kept[order[:1]] = True
    for number in chosen:
        is_kept[units.firsts[number] : units.lasts[number]] = True
    kept: Ints = order[is_kept[order]]
    return kept


def stopped_note(selection: Selection, tokens: int, chars_per_token: float) -> str:
    """Return what the next tokens would add to a context of `tokens` that the minimum relevance ended; else nothing."""
    units, is_left = selection.units, ~selection.fitted.mask & ~selection.units.barred
    is_left[[*selection.copies]] = False
    order = best_first(units)
    order = order[is_left[order]]
    if is_left[selection.offered].any() or not len(order):
        return ""
    sizes = (units.ends - units.starts)[order] / chars_per_token
    count = max(int(np.searchsorted(np.cumsum(sizes), NEXT_TOKENS, "right")), 1)
    added = f"{pluralize(count, 'sentence')} with a relevance of at most {max(units.relevance[order[0]], 0):.2f}"
    return f"min_relevance: stopped at {tokens:,} tokens; the next {NEXT_TOKENS:,} would add {added}"
