"""Units made of others: whole chunks and passages from sentences, and a unit divided in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


def merge(units: Units, begins: Bools) -> Units:
    """Return the units that begin where `begins` is true, each with the value of the best one in it."""
    first, number = np.flatnonzero(begins), np.cumsum(begins) - 1
    firsts = number[np.minimum(units.firsts, len(begins) - 1)]
    starts = units.starts[first]
    return Units(
        starts,
        units.ends[np.append(first[1:], len(begins)) - 1],
        starts if units.leads is units.starts else units.leads[first],
        units.continues[first],
        units.documents[first],
        firsts,
        np.where(units.lasts > units.firsts, number[units.lasts - 1] + 1, firsts),
        np.add.reduceat(units.costs, first),
        np.maximum.reduceat(units.values, first),
        np.maximum.reduceat(units.relevance, first),
        units.parts[first],
        units.barred[first],
    )


def divide(units: Units, number: int, offset: int) -> Units:
    """Return `units` of which the one at `number` is two, from its start to `offset` and from there on."""
    share = (offset - units.starts[number]) / (units.ends[number] - units.starts[number])
    numbers = np.insert(np.arange(len(units.starts)), number, number)
    twice = {
        name: row[numbers]
        for name, row in units._asdict().items()
        if name not in ("firsts", "lasts", "needs", "entries")
    }
    for name, row in (("needs", units.needs), ("entries", units.entries)):
        if row is not None:
            twice[name] = np.insert(row + (row > number), number + 1, number + 1)
    divided = units._replace(
        **twice, firsts=units.firsts + (units.firsts > number), lasts=units.lasts + (units.lasts > number)
    )
    divided.starts[number + 1] = divided.leads[number + 1] = divided.ends[number] = offset
    divided.continues[number + 1] = True
    divided.costs[number : number + 2] *= share, 1 - share
    return divided._replace(leads=divided.starts) if units.leads is units.starts else divided
