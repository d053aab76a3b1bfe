"""Sets of texts as numbers: bit n stands for the text at position n.

The processor joins and counts dozens of members with each instruction, and Python's integers have any length: a set
among ten thousand texts takes 1,250 bytes, whatever it holds. A rare word is in so few of them that a list is shorter,
so `Postings` keeps lists for these. `Tally` counts in how many of the sets looked up each text is, for all texts at
once: one number for each binary digit of the counts, so 200 sets take eight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_

FEW = 16
"""The most texts of a key that are listed: as numbers, those of thousands of rare words would take hundreds of MB."""
FEW_OF = 512
"""Among more than eight thousand texts, one of so many is listed."""


class Postings:
    """The texts that have each key: a list of few, a number for many.

    >>> postings = Postings([[7], [7, 8]], {7: 2, 8: 1}, 2)
    >>> postings.under([7, 8])
    (Counter({1: 2, 0: 1}), [])
    """

    def __init__(self, keys_of: Iterable[Iterable[int]], texts_with: Mapping[int, int], texts: int) -> None:
        """`keys_of` gives the keys of each of so many `texts`; `texts_with` is the number of texts with each key."""
        few = max(FEW, texts // FEW_OF)
        self._lists: dict[int, list[int]] = {key: [] for key, times in texts_with.items() if times <= few}
        flags = {key: bytearray(texts // 8 + 1) for key, times in texts_with.items() if times > few}
        for at, keys in enumerate(keys_of):
            byte, bit = at >> 3, 1 << (at & 7)
            for key in keys:
                if key in flags:
                    flags[key][byte] |= bit
                else:
                    self._lists[key].append(at)
        self._sets: dict[int, int] = {}
        while flags:  # one by one, so that not all are there twice
            key, mine = flags.popitem()
            self._sets[key] = int.from_bytes(mine, "little")

    def under(self, keys: Collection[int]) -> tuple[Counter[int], Sequence[int]]:
        """The number of listed `keys` that each text has, and for each of the other keys the set of its texts."""
        lists, sets = self._lists, self._sets
        few = Counter(chain.from_iterable([lists[key] for key in keys if key in lists]))
        return few, [sets[key] for key in keys if key in sets]


class Tally:
    """The number of `sets` that each text is in, all counted at once: digit by digit, as on paper, in twos.

    >>> tally = Tally([0b011, 0b010], {2: 1})
    >>> bin(tally.at_least(1)), bin(tally.at_least(2))
    ('0b111', '0b10')
    """

    def __init__(self, sets: Iterable[int], begun: Mapping[int, int]) -> None:
        """`begun` has the counts of some texts to begin with."""
        self._digits = [0] * max(begun.values(), default=0).bit_length()
        """The texts whose count has a 1 for ones, for twos, for fours and so on."""
        for at, number in begun.items():
            for digit in range(number.bit_length()):
                self._digits[digit] |= (number >> digit & 1) << at
        for texts in sets:
            # Adding 1 to each member: a text whose digit was 1 already carries over to the next digit.
            carried, digit = texts, 0
            while carried and digit < len(self._digits):
                before = self._digits[digit]
                self._digits[digit] = before ^ carried
                carried &= before
                digit += 1
            if carried:
                self._digits.append(carried)

    def at_least(self, least: int) -> int:
        """The texts whose count is `least` or more; of 0 or less all that there could be."""
        if least <= 0:
            return -1
        if least >> len(self._digits):
            return 0
        # From the highest digit down: a count is more at the first digit where it has a 1 and `least` a 0.
        more, same = 0, -1
        for digit in reversed(range(len(self._digits))):
            if least >> digit & 1:
                same &= self._digits[digit]
            else:
                more |= same & self._digits[digit]
                same &= ~self._digits[digit]
        return more | same


def joined(sets: Iterable[int]) -> int:
    """The texts that are in any of `sets`."""
    return reduce(or_, sets, 0)


def listed(texts: int) -> Iterator[int]:
    """The positions in the set `texts`, ascending.

    >>> list(listed(0b101))
    [0, 2]
    """
    while texts:
        lowest = texts & -texts
        yield lowest.bit_length() - 1
        texts ^= lowest
