"""The parts of a context that are read one after the other: what answers the query best comes first.

Whoever stops early is served best by the best first. So a long context has the best sentences, then the best chunk,
then the next best chunks, then the rest, each with labels of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.select.close import Closing
from ctxassembly.assembly.units import PARTS, Units, best_in_chunks

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats, Ints

SENTENCE_TOKENS, CHUNK_TOKENS = 125, 1_000
"""About how many tokens the best sentences have, and the best chunks."""
MIN_BUDGET = 2_000
"""The budget from which on there are parts: each costs headers."""


def parts_of(units: Units, order: Ints, rules: Closing, tokens: Floats, max_tokens: int) -> Ints:
    """Return the part of each unit, from 0. `order` are those that may be read, best first; `tokens` of each unit."""
    size = len(units.starts)
    if max_tokens < MIN_BUDGET or tokens[order].sum() < CHUNK_TOKENS:
        return np.zeros(size, np.intp)
    part = np.full(size, PARTS - 1)
    offered = np.zeros(size, bool)
    offered[order] = True
    room = float(CHUNK_TOKENS)
    for place, number in enumerate(np.argsort(-best_in_chunks(units, units.values), kind="stable").tolist()):
        own = np.arange(units.firsts[number], units.lasts[number])
        own = own[(part[own] == PARTS - 1) & offered[own]]
        room -= float(tokens[own].sum())
        if room < 0:
            break
        part[own] = 1 if not place else 2
    count = int(np.searchsorted(np.cumsum(tokens[order]), SENTENCE_TOKENS, "right"))
    part[rules.best(order, count)] = 0
    if units.needs is None:
        return part
    # Rows are read below their head, and items below their stem.
    below = np.flatnonzero(units.needs < np.arange(size))
    np.minimum.at(part, units.needs[below], part[below])
    part[below] = part[units.needs[below]]
    return part
