"""The limits are kept here: as many of the best units as fit, counted on the rendered text.

"The k best units, closed" is a family of growing masks, so a bisection over k by estimated costs finds the number; the
rendered text is counted exactly, and what it has corrects the estimate. A few tries come within two percent of the
limit. Then smaller units than the next best one get the rest of the room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.select.close import Close, first_units
from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.render.page import Load
    from ctxassembly.assembly.render.write import Rendered
    from ctxassembly.assembly.units import Bools, Floats, Ints

GAP_COST = 4
"""Tokens of a gap marker with its line breaks."""
ENOUGH, FIRST_AIM, AIM = 0.98, 0.98, 0.994
"""Shares of the limit: a context that has as much is good; what the first try aims at, and what the next ones do."""
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
"""Tokens of the smallest rest of room that is worth a try."""


class Fitted(NamedTuple):
    """What fits."""

    mask: Bools
    rendered: Rendered
    load: Load


class Costs(NamedTuple):
    """Estimated costs, but for one factor."""

    units: Units
    groups: Ints
    """The number of the group of each unit that has a header of its own: its document and part."""
    headers: Floats
    """The cost of a header of each group."""

    def of(self, mask: Bools) -> float:
        """Return the cost of a context of the units in `mask`, with headers and gap markers."""
        runs = mask.copy()
        runs[1:] &= ~(mask[:-1] & self.units.continues[1:] & (self.groups[1:] == self.groups[:-1]))
        is_used = np.bincount(self.groups[mask], minlength=len(self.headers)) > 0
        gaps = int(np.count_nonzero(runs)) - int(np.count_nonzero(is_used))
        return float(self.units.costs @ mask + self.headers @ is_used) + GAP_COST * gaps


def fit(
    costs: Costs,
    order: Ints,
    close: Close,
    write: Callable[[Bools], Fitted],
    share_per_cost: float,
    *,
    may_skip: bool = True,
) -> Fitted | None:
    """Return as many of the best units in `order` as fit; None if not even the first one does.

    `share_per_cost` is an estimate of the share of the limit that one unit of cost takes. With `may_skip`, smaller
    units get the room in which the next best one doesn't fit; without it, they stay free for the beginning of that one.
    """
    size, low, high = len(costs.units.starts), 0, len(order)
    aim, kept = FIRST_AIM / share_per_cost, None
    everything = first_units(order, high, close, size)
    if costs.of(everything) * share_per_cost <= MAY_FIT:
        found = write(everything)
        if found.load.share <= 1:
            return found
        high, share_per_cost = high - 1, found.load.share / costs.of(everything)
        aim = AIM / share_per_cost
    for attempt in range(TRIES):
        number = _most(costs, order, close, aim, (low, high), SLACK if attempt else FIRST_SLACK)
        if number == low:
            break
        found = write(first_units(order, number, close, size))
        share = found.load.share
        if share <= 1:
            kept, low = found, number
        else:
            high = number - 1
        if kept and (low == len(order) or ENOUGH <= share <= 1 or (attempt and not may_skip)):
            return kept
        if share:  # white space has tokens only between words
            share_per_cost = share / costs.of(found.mask)
        aim = AIM / share_per_cost
    if kept is None:
        return _first(costs, order, close, write)
    return _with_smaller(costs, kept, order[low:][:MAX_TAIL], close, write, share_per_cost) if may_skip else kept


def _with_smaller(
    costs: Costs, kept: Fitted, order: Ints, close: Close, write: Callable[[Bools], Fitted], share_per_cost: float
) -> Fitted:
    """Return `kept` with those of the next best units in `order` that are small enough for the rest of the room.

    What needs another unit that isn't read isn't among them: an item without its stem says little, or something wrong.
    """
    for used, grace in ((1.0, -GRACE), (HALF, -GRACE), (1.0, GRACE)):
        room = used * (1 - kept.load.share) / share_per_cost + grace
        alone = close.stand_alone(order, kept.mask)
        if kept.load.share < ENOUGH and (tail := _smaller(costs, kept.mask, alone, room)):
            mask = kept.mask.copy()
            mask[tail] = True
            found = write(mask)
            kept = found if found.load.share <= 1 else kept
    return kept


def _first(costs: Costs, order: Ints, close: Close, write: Callable[[Bools], Fitted]) -> Fitted | None:
    """Return the best unit, with what it needs or, if that doesn't fit, alone; None if it doesn't fit at all."""
    alone = np.zeros(len(costs.units.starts), bool)
    alone[order[:1]] = True
    fitting = (found for mask in (close(alone.copy()), alone) if (found := write(mask)).load.share <= 1)
    return next(fitting, None)


def _most(costs: Costs, order: Ints, close: Close, aim: float, between: tuple[int, int], slack: float) -> int:
    """Return the number of best units, above the first of `between`, that cost `aim` or less by a share of `slack`."""
    low, high = between
    size, before = len(costs.units.starts), np.cumsum(costs.units.costs[order[:high]])
    guess = int(np.searchsorted(before, aim * FIRST_AIM))
    while low < high:
        middle = min(max(guess, low + 1), high)
        rest = aim - costs.of(first_units(order, middle, close, size))
        if rest >= 0:
            low = middle
            if rest <= slack * aim:
                break
        else:
            high = middle - 1
        guess = int(np.searchsorted(before, before[middle - 1] + rest))
    return low


def _smaller(costs: Costs, mask: Bools, order: Ints, room: float) -> list[int]:
    """Return those of the next best units that fit into the `room`, each one that fits beside those before it."""
    is_used = np.bincount(costs.groups[mask], minlength=len(costs.headers)) > 0
    groups = costs.groups[order]
    extra = costs.units.costs[order] + np.where(is_used[groups], GAP_COST, costs.headers[groups])
    found: list[int] = []
    for number, cost in zip(order.tolist(), extra.tolist(), strict=True):
        if cost <= room and not mask[number]:
            found.append(number)
            room -= cost
            if room < MIN_COST - GRACE:
                break
    return found
