"""Units taken by value, one after the other, within a room in tokens.

A gap of one unit between two that are taken is closed, since a marker would say less; so a unit costs what it adds with
the gaps that it closes, and what it saves in markers. Where little room is left, nearly all units are too much for it.
So what tells that is asked in the order of its price: the length, then what is written around, and then the count.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.choosing.costs import MARKER, Costs
from ctxassembly.assembly.choosing.units import Units

SCRAP_CHARS = 12
"""Length of the longest sentence that says no more than a marker does."""
LEAST = 2.0
"""Tokens of the shortest sentence that is sought: with less room the search is over."""


class Taken(NamedTuple):
    """The units that `greedy` takes."""

    places: set[int]
    tokens: float
    """The tokens that they take, by estimate."""
    all_had_room: bool
    """True if none was left out for lack of room."""


def greedy(
    units: Units,
    order: Sequence[int],
    room: float,
    costs: Costs,
    sooner: Mapping[int, float] = MappingProxyType({}),
) -> Taken:
    """Take units in `order`, best first, as long as they have `room`, which is in tokens, as `costs` are.

    Beside one that is taken a unit has the rank that `sooner` gives it, if any.
    """
    edges, documents = units.edges, units.documents
    left, longest = room, costs.longest(room)
    taken: set[int] = set()
    begun: set[str] = set()
    texts: set[str] = set()
    risen: list[tuple[float, int]] = []
    all_had_room = True
    for place in _in_order(order, risen):
        if left < LEAST:
            return Taken(taken, room - left, False)
        if place in taken:
            continue
        length = edges[place + 1] - edges[place]
        if length > longest:
            all_had_room = False
            continue
        linked, gaps, around = _joining(units, place, taken, costs, begun)
        if length > costs.longest(left - around):
            all_had_room = False
            continue
        text = units.sentence(place)
        if text in texts or (len(text) <= SCRAP_CHARS and not linked and _is_scrap(units, place)):
            continue
        new = (place, *gaps)
        cost = around + sum([costs.of(at) for at in new])
        if cost > left:
            all_had_room = False
            continue
        left -= cost
        longest = costs.longest(left)
        taken.update(new)
        begun.add(documents[place])
        texts.add(text)
        for beside in (min(new) - 1, max(new) + 1) if sooner else ():
            if beside in sooner and _linked(units, beside, taken):
                insort(risen, (-sooner[beside], beside))
    return Taken(taken, room - left, all_had_room)


def _in_order(order: Sequence[int], risen: list[tuple[float, int]]) -> Iterator[int]:
    """The places in `order`, and at their rank those that have `risen`, which are sorted from the last one on."""
    for rank, place in enumerate(order):
        while risen and -risen[-1][0] < rank:
            yield risen.pop()[1]
        yield place
    while risen:
        yield risen.pop()[1]


def _joining(
    units: Units, place: int, taken: Collection[int], costs: Costs, begun: Collection[str]
) -> tuple[bool, Sequence[int], float]:
    """How a unit joins those that are taken: whether it is linked, the gaps that it closes, and its tokens beside text.

    Alone it needs a marker more, beside one that is taken none; each gap that it closes saves one.
    """
    document = units.documents[place]
    if document not in begun:
        return False, (), MARKER + costs.header(document)
    linked, gaps = _linked(units, place, taken), _gaps(units, place, taken)
    return linked, gaps, MARKER * (1 - linked - len(gaps))


def _gaps(units: Units, place: int, taken: Collection[int]) -> list[int]:
    """The units, at most one on each side, that alone stand between the one at `place` and one that is taken."""
    continues = units.continues
    gaps: list[int] = []
    if place - 2 in taken and place - 1 not in taken and continues[place] and continues[place - 1]:
        gaps.append(place - 1)
    if place + 2 in taken and place + 1 not in taken and continues[place + 1] and continues[place + 2]:
        gaps.append(place + 1)
    return gaps


def _linked(units: Units, place: int, taken: Collection[int]) -> bool:
    """True if the unit at `place` continues one that is taken, or is continued by one."""
    continues = units.continues
    return (place - 1 in taken and continues[place]) or (place + 1 in taken and continues[place + 1])


def _is_scrap(units: Units, place: int) -> bool:
    """True if the short unit at `place` says less than a marker: it is no line among others of its length.

    It is none if the best hit says no more than that: "Paid." may be the answer.
    """
    if place in units.short_best_hit:
        return False
    beside = [place - 1] if units.continues[place] else []
    if place + 1 < len(units.continues) and units.continues[place + 1]:
        beside.append(place + 1)
    return bool(beside) and min(len(units.sentence(at)) for at in beside) > SCRAP_CHARS
