"""Units made of others: whole chunks and passages from sentences, and a unit divided in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.score.score import Scores
from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


def merge(units: Units, scores: Scores, begins: Bools) -> tuple[Units, Scores]:
    """Return the units that begin where `begins` is true, each with the scores of the best one in it."""
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins)) - 1
    number = np.cumsum(begins) - 1
    has_units = units.lasts > units.firsts
    firsts = number[np.minimum(units.firsts, len(begins) - 1)]
    lasts = np.where(has_units, number[units.lasts - 1] + 1, firsts)
    starts = units.starts[first]
    merged = Units(
        starts,
        units.ends[last],
        starts if units.leads is units.starts else units.leads[first],
        units.continues[first],
        units.documents[first],
        firsts,
        lasts,
        np.add.reduceat(units.costs, first),
    )
    return merged, Scores(np.maximum.reduceat(scores.values, first), np.maximum.reduceat(scores.relevance, first))


def divide(units: Units, scores: Scores, number: int, offset: int) -> tuple[Units, Scores]:
    """Return `units` of which the one at `number` is two, from its start to `offset` and from there on."""
    share = (offset - units.starts[number]) / (units.ends[number] - units.starts[number])
    costs = np.insert(units.costs, number + 1, units.costs[number] * (1 - share))
    costs[number] *= share
    ends = np.insert(units.ends, number, offset)
    divided = Units(
        np.insert(units.starts, number + 1, offset),
        ends,
        np.insert(units.leads, number + 1, offset),
        np.insert(units.continues, number + 1, True),
        np.insert(units.documents, number + 1, units.documents[number]),
        units.firsts + (units.firsts > number),
        units.lasts + (units.lasts > number),
        costs,
    )
    if units.leads is units.starts:
        divided = divided._replace(leads=divided.starts)
    return divided, Scores(*(np.insert(row, number + 1, row[number]) for row in scores))
