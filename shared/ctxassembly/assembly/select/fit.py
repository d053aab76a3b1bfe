"""The limits are kept here: as many of the best units as fit, counted on the rendered text.

"The k best units, closed" is a family of growing masks, so a bisection over k by estimated costs finds the number; the
rendered text is counted exactly, and what it has corrects the estimate. A few tries come within two percent of the
limit. Then smaller units than the next best one get the rest of the room, in the end each one that fits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.select.close import Closing
from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxassembly.assembly.render.page import Load
    from ctxassembly.assembly.render.write import Rendered
    from ctxassembly.assembly.units import Bools, Floats, Ints

ENOUGH, FIRST_AIM, AIM = 0.98, 0.98, 0.994
"""Shares of the limit: a context that has as much is good; what the first try aims at, and what the next ones do."""
FULL = 0.998
"""The share from which on the rest of the room is filled by one unit after the other."""
TRIES = 4
MAY_FIT = 1.05
"""The estimated share of the limit up to which everything is tried first."""
SLACK, FIRST_SLACK = 0.004, 0.01
"""Shares of the limit by which a try may be below its aim."""
MAX_TAIL = 60
"""Units behind the last one that fits that may get the rest of the room."""
GRACE = 3
"""Tokens by which an estimate of the last units may be wrong; the last try may take as many too much."""
HALF = 0.5
"""Of the room, what is tried where the estimates of units that fill it were too low, as of rows of numbers."""
MIN_COST = 5
"""Tokens of the smallest rest of room that is worth a try by estimates."""
LEAST, LEAST_AROUND = 0.6, 0.8
"""Of the estimated cost, what a text has at least, and what is around it. What may fit by that is counted and tried."""


class Fitted(NamedTuple):
    """What fits."""

    mask: Bools
    rendered: Rendered
    load: Load


class Selection(NamedTuple):
    """What is read, and what it was chosen from."""

    fitted: Fitted
    units: Units
    offered: Ints
    """The units that were relevant enough, best first."""
    copies: Mapping[int, int]
    """For units that say the same as a better one, the better one."""
    note: str = ""
    """A note on a context for which the limit is too small."""


class Costs(NamedTuple):
    """Estimated costs, but for one factor."""

    units: Units
    groups: Ints
    """The number of the group of each unit that has a header of its own: its document and part."""
    headers: Floats
    """The cost of a header of each group."""
    gap: float
    """The cost of a gap marker."""
    places: Ints
    """A number for each unit: those with the same one have the same label."""
    reach: int
    """How far apart numbers may be for the same label."""

    def of(self, mask: Bools) -> float:
        """Return the cost of a context of the units in `mask`, with headers and gap markers."""
        runs = mask.copy()
        runs[1:] &= ~(mask[:-1] & self.units.continues[1:] & (self.groups[1:] == self.groups[:-1]))
        is_used = np.bincount(self.groups[mask], minlength=len(self.headers)) > 0
        gaps = int(np.count_nonzero(runs)) - int(np.count_nonzero(is_used))
        return float(self.units.costs @ mask + self.headers @ is_used) + self.gap * gaps

    def around(self, mask: Bools, order: Ints) -> Floats:
        """Return the cost of what is around each unit of `order` beside those in `mask`: nothing, a gap, a header."""
        goes_on = self.units.continues[1:] & (self.groups[1:] == self.groups[:-1])
        is_next = np.append(False, mask[:-1] & goes_on) | np.append(mask[1:] & goes_on, False)
        has_label = np.zeros(self.places.max() + 3, bool)
        for step in range(-self.reach, self.reach + 1):
            has_label[self.places[mask] + step + 1] = True
        headers = np.where(has_label[self.places[order] + 1], self.gap, self.headers[self.groups[order]])
        return np.where(is_next[order], 0.0, headers)


class Filling(NamedTuple):
    """What the limits are filled with, and how."""

    costs: Costs
    rules: Closing
    write: Callable[[Bools], Fitted]
    """Writes a mask, whether it fits or not."""
    may_skip: bool
    """True if smaller units get the room in which the next best one doesn't fit; else its beginning does."""
    share_of: Callable[[int], float] | None
    """The share of the limit that the text of a unit takes at least. With it each unit that fits is read."""


def fit(filling: Filling, order: Ints, share_per_cost: float) -> Fitted | None:
    """Return as many of the best units in `order` as fit; None if not even the first one does.

    `share_per_cost` is an estimate of the share of the limit that one unit of cost takes.
    """
    kept, low, share_per_cost = _with_best(filling, order, share_per_cost)
    if kept is None:
        kept = _first(filling, order)
    if kept is None or low == len(order) or not filling.may_skip:
        return kept
    kept = _with_smaller(filling, kept, order[low:][:MAX_TAIL], share_per_cost)
    return kept if filling.share_of is None else _with_all(filling, kept, order, share_per_cost)


def _with_best(filling: Filling, order: Ints, share_per_cost: float) -> tuple[Fitted | None, int, float]:
    """Return the best units that fit, their number, and the share of the limit that one unit of cost takes."""
    costs, low, high = filling.costs, 0, len(order)
    aim, kept = FIRST_AIM / share_per_cost, None
    everything = filling.rules.best(order, high)
    if costs.of(everything) * share_per_cost <= MAY_FIT:
        found = filling.write(everything)
        if found.load.share <= 1:
            return found, high, share_per_cost
        high, share_per_cost = high - 1, found.load.share / costs.of(everything)
        aim = AIM / share_per_cost
    for attempt in range(TRIES):
        number = _most(filling, order, aim, (low, high), SLACK if attempt else FIRST_SLACK)
        if number == low:
            break
        found = filling.write(filling.rules.best(order, number))
        share = found.load.share
        if share <= 1:
            kept, low = found, number
        else:
            high = number - 1
        if share:  # white space has tokens only between words
            share_per_cost = share / costs.of(found.mask)
        if kept and (ENOUGH <= share <= 1 or (attempt and not filling.may_skip)):
            break
        aim = AIM / share_per_cost
    return kept, low, share_per_cost


def _with_smaller(filling: Filling, kept: Fitted, order: Ints, share_per_cost: float) -> Fitted:
    """Return `kept` with the next best units in `order` that are small enough for the rest of the room.

    What needs another unit that isn't read isn't among them: it would take more than it seems to.
    """
    enough = ENOUGH if filling.share_of is None else FULL
    for used, grace in ((1.0, -GRACE), (HALF, -GRACE), (1.0, GRACE)):
        room = used * (1 - kept.load.share) / share_per_cost + grace
        alone = filling.rules.stand_alone(order, kept.mask)
        if kept.load.share < enough and (tail := _smaller(filling.costs, kept.mask, alone, room)):
            mask = kept.mask.copy()
            mask[tail] = True
            found = filling.write(mask)
            kept = found if found.load.share <= 1 else kept
    return kept


def _with_all(filling: Filling, kept: Fitted, order: Ints, share_per_cost: float) -> Fitted:
    """Return `kept` with each of the units in `order`, best first, that fits beside it with what it needs.

    Room only shrinks, so what doesn't fit when it is tried doesn't fit in the end.
    """
    costs, left = filling.costs, order[~kept.mask[order]]
    while len(left):
        room = (1 - kept.load.share) / share_per_cost
        around = LEAST_AROUND * costs.around(kept.mask, left)
        places = np.flatnonzero(LEAST * costs.units.costs[left] + around <= room)
        added = None
        for place, cost in zip(places.tolist(), around[places].tolist(), strict=True):
            if added := _with_unit(filling, kept, int(left[place]), (cost, share_per_cost)):
                kept, left = added, left[place + 1 :]
                break
        if added is None:
            break
    return kept


def _with_unit(filling: Filling, kept: Fitted, number: int, around: tuple[float, float]) -> Fitted | None:
    """Return `kept` with the unit at `number` and what it needs; None if that doesn't fit.

    `around` are the cost that a header or a gap has at least, and the share of the limit that one unit of cost takes.
    """
    (cost, share_per_cost), room = around, 1 - kept.load.share
    share_of, least = filling.share_of or (lambda _: 0.0), cost * share_per_cost
    if kept.mask[number] or share_of(number) + least > room:
        return None
    mask = kept.mask.copy()
    mask[number] = True
    needed = filling.rules.with_needed(mask.copy())
    closed = filling.rules.close(mask)
    for one in (closed, needed) if (closed != needed).any() else (closed,):
        added = np.flatnonzero(one & ~kept.mask).tolist()
        if sum(map(share_of, added)) + least <= room and (found := filling.write(one)).load.share <= 1:
            return found
    return None


def _first(filling: Filling, order: Ints) -> Fitted | None:
    """Return the best unit, with what it needs or, if that doesn't fit, alone; None if it doesn't fit at all.

    It is never alone if its beginning may be read, with what it needs.
    """
    rules: list[Callable[[Bools], Bools]] = [filling.rules.close, filling.rules.with_needed]
    if filling.may_skip:
        rules.append(lambda mask: mask)
    for rule in rules:
        mask = np.zeros(len(filling.costs.units.starts), bool)
        mask[order[:1]] = True
        found = filling.write(rule(mask))
        if found.load.share <= 1:
            return found
    return None


def _most(filling: Filling, order: Ints, aim: float, between: tuple[int, int], slack: float) -> int:
    """Return the number of best units, above the first of `between`, that cost `aim` or less by a share of `slack`."""
    (low, high), costs = between, filling.costs
    before = np.cumsum(costs.units.costs[order[:high]])
    guess = int(np.searchsorted(before, aim * FIRST_AIM))
    while low < high:
        middle = min(max(guess, low + 1), high)
        rest = aim - costs.of(filling.rules.best(order, middle))
        if rest >= 0:
            low = middle
            if rest <= slack * aim:
                break
        else:
            high = middle - 1
        guess = int(np.searchsorted(before, before[middle - 1] + rest))
    return low


def _smaller(costs: Costs, mask: Bools, order: Ints, room: float) -> list[int]:
    """Return the next best units that fit into the `room`, each one that fits beside those before it."""
    found: list[int] = []
    added = costs.units.costs[order] + costs.around(mask, order)
    for number, cost in zip(order.tolist(), added.tolist(), strict=True):
        if cost <= room and not mask[number]:
            found.append(number)
            room -= cost
            if room < MIN_COST - GRACE:
                break
    return found
