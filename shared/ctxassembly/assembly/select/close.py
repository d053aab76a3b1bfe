"""The k best units -> the units that are read: gaps closed, and what they need to be understood.

Each rule takes a mask to a mask and only adds to it, so that the masks of more and more units grow: a larger budget
never loses a unit, and the budget can be kept by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints

Close = Callable[["Bools"], "Bools"]
"""From the mask of chosen units to the mask of those that are read."""


def closing(units: Units, needs: Ints | None = None, copies: Collection[int] = ()) -> Close:
    """Return the rule by which a gap of one unit is closed, and the unit `needs` of each chosen one is read, too.

    `needs` has the number of a unit for each; its own if it needs none. Barred units are never read, and no gap is
    closed by one of `copies`, whose text is read elsewhere.
    """
    linked = units.continues[1:-1] & units.continues[2:]
    inside = [number - 1 for number in copies if 0 < number <= len(linked)]
    linked[inside] = False

    def close(mask: Bools) -> Bools:
        if needs is not None:
            mask[needs[mask]] = True
        mask[1:-1] |= mask[:-2] & mask[2:] & linked
        return mask & ~units.barred

    return close


def first_units(order: Ints, count: int, close: Close, size: int) -> Bools:
    """Return the mask of what is read with the `count` best of `size` units."""
    mask = np.zeros(size, bool)
    mask[order[:count]] = True
    return close(mask)
