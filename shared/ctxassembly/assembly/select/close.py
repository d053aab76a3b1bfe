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


class Closing(NamedTuple):
    """What is read with chosen units. Masks are changed in place and returned."""

    units: Units
    linked: Bools
    """For each unit but the first and the last, whether a gap of it alone is closed."""
    unread: Bools
    """Which units are never read: barred ones, and copies of others."""
    leads_on: Bools
    """For each unit but the last two, whether it and the next one need the one after them, as a heading above one."""

    def best(self, order: Ints, count: int) -> Bools:
        """Return the mask of what is read with the first `count` units of `order`."""
        mask = np.zeros(len(self.unread), bool)
        mask[order[:count]] = True
        return self.close(mask)

    def with_needed(self, mask: Bools) -> Bools:
        """Return `mask` with the rest of the entries of its units, and what they need."""
        entries, needs = self.units.entries, self.units.needs
        if entries is not None:
            is_read = np.zeros(len(mask), bool)
            is_read[entries[mask]] = True
            mask |= is_read[entries]
        if needs is not None:
            mask[needs[mask]] = True
            mask[2:] |= mask[:-2] & self.leads_on
        return mask & ~self.unread

    def close(self, mask: Bools) -> Bools:
        """Return `mask` with gaps of one unit closed, and what its units need."""
        mask[1:-1] |= mask[:-2] & mask[2:] & self.linked
        return self.with_needed(mask)

    def stand_alone(self, numbers: Ints, mask: Bools) -> Ints:
        """Return those units of `numbers` that need nothing but what is in `mask`."""
        needs, entries = self.units.needs, self.units.entries
        if needs is not None:
            numbers = numbers[(needs[numbers] == numbers) | mask[needs[numbers]]]
        if entries is not None:
            numbers = numbers[np.bincount(entries, minlength=len(mask))[entries[numbers]] == 1]
        return numbers


def closing(units: Units, copies: Collection[int] = ()) -> Closing:
    """Return what is read with chosen `units`: what they need, and gaps of one. `copies` are read elsewhere."""
    unread = units.barred.copy()
    unread[[*copies]] = True
    leads = np.zeros(max(len(unread) - 1, 0), bool)
    if units.needs is not None:
        leads = units.needs[:-1] == np.arange(1, len(unread))
    return Closing(units, units.continues[1:-1] & units.continues[2:], unread, leads[:-1] & leads[1:])
