"""Which chunks mean nearly the same: cosine of their embeddings.

In plain Python up to 150 vectors: 100 of 384 numbers take 40 ms. Importing numpy alone takes 100 ms, but then 500
vectors take 25 ms in place of 1.3 s. It only finds the pairs to look at: the result is the same with and without it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import mul
from typing import Any

from ctxassembly.types import Match

Vector = tuple[float, ...]

NUMPY_FROM = 150
"""Vectors from which on numpy is used if it is there."""
_ROWS = 256
"""Multiplied at a time: 10,000 vectors then take 20 MB beyond their own."""
_ROUNDING = 1e-9
"""What numpy's sums may be off by against Python's."""


def unit(value: Any) -> Vector | None:
    """`value` scaled to length 1; None if it is no sequence of finite numbers, or has no direction."""
    if isinstance(value, (str, bytes)):
        return None
    try:
        vector = tuple(map(float, value)) if len(value) else ()
    except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
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
        self._met = _pairs_by_numpy(vectors, threshold) if len(vectors) >= NUMPY_FROM else None

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
        kept = self._kept[len(mine)]
        met = kept if self._met is None else kept & self._met[at]
        return [Match(place) for place in sorted(self._close(mine, met))]

    def _close(self, mine: Vector, places: Iterable[int]) -> Iterable[int]:
        for place in places:
            # Rounded, since the cosine of a vector with itself may come out as 0.9999999999999998.
            if round(sum(map(mul, mine, self._vectors[place] or ())), 12) >= self._threshold:
                yield place

    def _dimensions(self, at: int) -> int:
        return len(self._vectors[at] or ())


def _pairs_by_numpy(vectors: Sequence[Vector | None], threshold: float) -> dict[int, set[int]] | None:
    """For each place the places whose vectors may be close to its own; None without numpy."""
    try:
        numpy: Any = import_module("numpy")
    except ImportError:
        return None
    met: dict[int, set[int]] = defaultdict(set)
    places_of: dict[int, list[int]] = defaultdict(list)
    for place, vector in enumerate(vectors):
        if vector is not None:
            places_of[len(vector)].append(place)
    for places in places_of.values():
        matrix = numpy.array([vectors[place] for place in places])
        for begin in range(0, len(places), _ROWS):
            close = matrix[begin : begin + _ROWS] @ matrix.T >= threshold - _ROUNDING
            for row, column in numpy.argwhere(close).tolist():
                met[places[begin + row]].add(places[column])
    return met
