"""Which chunks mean nearly the same: cosine of their embeddings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any

from ctxassembly.types import Match

Vector = tuple[float, ...]


def unit(value: Any) -> Vector | None:
    """`value` scaled to length 1; None if it is no sequence of finite numbers, or has no direction."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        vector = tuple(map(float, value))
    except (TypeError, ValueError, OverflowError):
        return None
    length = math.hypot(*vector)
    if not 0 < length < math.inf:
        return None
    return tuple(number / length for number in vector)


class VectorIndex:
    """The vectors that are kept so far, by place, and which of them are close to another one.

    Vectors are of length 1. What has no vector is close to nothing, and so are vectors of different dimensions.
    """

    def __init__(self, vectors: Sequence[Vector | None], threshold: float) -> None:
        self._vectors = vectors
        self._threshold = threshold
        self._kept: dict[int, set[int]] = defaultdict(set)

    def add(self, at: int) -> None:
        """Keep the vector at place `at`."""
        self._kept[self._dimensions(at)].add(at)

    def discard(self, at: int) -> None:
        """Keep it no longer."""
        self._kept[self._dimensions(at)].discard(at)

    def find(self, at: int) -> list[Match]:
        """The kept ones whose cosine with the one at place `at` reaches the threshold, by place."""
        mine = self._vectors[at]
        if mine is None:
            return []
        return [Match(place) for place in sorted(self._close(mine, self._kept[len(mine)]))]

    def _close(self, mine: Vector, places: Iterable[int]) -> Iterable[int]:
        for place in places:
            # Rounded, since the cosine of a vector with itself may come out as 0.9999999999999998.
            if round(sum(map(mul, mine, self._vectors[place] or ())), 12) >= self._threshold:
                yield place

    def _dimensions(self, at: int) -> int:
        return len(self._vectors[at] or ())
