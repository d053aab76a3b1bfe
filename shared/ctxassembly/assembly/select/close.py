"""The k best units -> the units that are read: gaps closed, and what they need to be understood.

Each rule takes a mask to a mask and only adds to it, so that the masks of more and more units grow: a larger budget
never loses a unit, and the budget can be kept by bisection.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints


class Close(NamedTuple):
    """What is read with chosen units. Barred units are never read."""

    linked: Bools
    """For each unit but the first and the last, whether it closes a gap between the two next to it."""
    barred: Bools
    needs: Ints
    """For each unit the number of another one that is read with it; its own if it needs none."""
    entries: Ints
    """For each unit the first one of its entry, of which all is read; its own if it is in none."""

    def __call__(self, mask: Bools) -> Bools:
        """Return which units are read if the ones in `mask` are chosen; `mask` is changed."""
        mask[1:-1] |= mask[:-2] & mask[2:] & self.linked
        is_read = np.zeros(len(mask), bool)
        is_read[self.entries[mask]] = True
        mask |= is_read[self.entries]
        mask[self.needs[mask]] = True
        mask &= ~self.barred
        return mask

    def stand_alone(self, numbers: Ints, mask: Bools) -> Ints:
        """Return those units of `numbers` that need nothing but what is in `mask`."""
        is_entry = np.bincount(self.entries, minlength=len(mask))[self.entries[numbers]] > 1
        needs = self.needs[numbers]
        found: Ints = numbers[~is_entry & ((needs == numbers) | mask[needs])]
        return found


def closing(
    units: Units, needs: Ints | None = None, entries: Ints | None = None, copies: Collection[int] = ()
) -> Close:
    """Return what is read with chosen `units`: no gap is closed by one of `copies`, whose text is read elsewhere."""
    linked = units.continues[1:-1] & units.continues[2:]
    linked[[number - 1 for number in copies if 0 < number <= len(linked)]] = False
    numbers = np.arange(len(units.starts))
    return Close(linked, units.barred, numbers if needs is None else needs, numbers if entries is None else entries)


def first_units(order: Ints, count: int, close: Close, size: int) -> Bools:
    """Return the mask of what is read with the `count` best of `size` units."""
    mask = np.zeros(size, bool)
    mask[order[:count]] = True
    return close(mask)
