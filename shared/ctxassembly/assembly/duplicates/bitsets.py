"""Sets of places as numbers, bit n for place n: the processor joins and counts dozens of places at a time.

Ten thousand places are 1,250 bytes. What is rare has so few places that a list of them is shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_

FEW = 16
"""Places of a key that are listed: as numbers, those of thousands of rare words would take hundreds of megabytes."""
FEW_OF = 512
"""Among more than eight thousand places, one of so many."""


class Postings:
    """For each key the places that have it: a list of few, a number for many."""

    def __init__(self, keys_of: Iterable[Iterable[int]], number: Mapping[int, int], places: int) -> None:
        """`keys_of` gives the keys of each of so many places, `number` how many places have each of these keys."""
        few = max(FEW, places // FEW_OF)
        self._lists: dict[int, list[int]] = {key: [] for key, times in number.items() if times <= few}
        flags = {key: bytearray(places // 8 + 1) for key, times in number.items() if times > few}
        for place, keys in enumerate(keys_of):
            byte, bit = place >> 3, 1 << (place & 7)
            for key in keys:
                if key in flags:
                    flags[key][byte] |= bit
                else:
                    self._lists[key].append(place)
        self._sets: dict[int, int] = {}
        while flags:
            key, mine = flags.popitem()
            self._sets[key] = int.from_bytes(mine, "little")

    def under(self, keys: Collection[int]) -> tuple[Counter[int], Sequence[int]]:
        """How many of those of `keys` that few have each place has, and of each of the others the places."""
        lists, sets = self._lists, self._sets
        few = Counter(chain.from_iterable([lists[key] for key in keys if key in lists]))
        return few, [sets[key] for key in keys if key in sets]


class Tally:
    """How often each place is among `sets`, all counted at once: digit by digit, as on paper, in twos."""

    def __init__(self, sets: Iterable[int], begun: Mapping[int, int]) -> None:
        """`begun` has the numbers of some places to begin with."""
        self._digits = [0] * max(begun.values(), default=0).bit_length()
        """The places whose number has a 1 for ones, for twos, for fours and so on."""
        for place, number in begun.items():
            for digit in range(number.bit_length()):
                self._digits[digit] |= (number >> digit & 1) << place
        for each in sets:
            carried, digit = each, 0
            while carried and digit < len(self._digits):
                before = self._digits[digit]
                self._digits[digit] = before ^ carried
                carried &= before
                digit += 1
            if carried:
                self._digits.append(carried)

    def at_least(self, least: int) -> int:
        """The places that are among so many; of 0 or less all that there could be."""
        if least <= 0:
            return -1
        if least >> len(self._digits):
            return 0
        more, same = 0, -1
        for digit in reversed(range(len(self._digits))):
            if least >> digit & 1:
                same &= self._digits[digit]
            else:
                more |= same & self._digits[digit]
                same &= ~self._digits[digit]
        return more | same


def joined(sets: Iterable[int]) -> int:
    """The places that are in any of `sets`."""
    return reduce(or_, sets, 0)


def listed(places: int) -> Iterator[int]:
    """Each of `places`, ascending."""
    while places:
        lowest = places & -places
        yield lowest.bit_length() - 1
        places ^= lowest
