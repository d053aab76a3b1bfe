"""Which chunks mean nearly the same: cosine of their embeddings.

In plain Python up to 150 vectors: 100 of 384 numbers take 40 ms. Importing numpy alone takes 100 ms, but then 10,000
vectors take half a second. It only finds the ones to look at: the result is the same with and without it.

Angles to pivots tell nothing of vectors of hundreds of dimensions, which are all about as far from anything. What does
is part of each: a rotation that keeps `k` coordinates and the length of the rest as one more can only bring two vectors
of length 1 closer (Cauchy and Schwarz), and for a high threshold a sixth of the coordinates proves nearly all pairs
too far apart.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib import import_module
from operator import mul
from typing import Any, Protocol

from ctxassembly.data.candidates import Match

Vector = Sequence[float]

NUMPY_FROM = 150
"""Vectors from which on numpy is used if it is there."""
_ROWS = 256
"""Multiplied at a time, and looked at to find out how many coordinates are enough."""
_REDUCED_FROM = 1_000
"""Vectors from which on fewer coordinates are worth finding: that takes 10 ms."""
_COORDINATES = (32, 64, 96, 128, 192, 256)
_FEW = 0.002
"""Share of pairs that may be looked at in vain: each takes as long as a hundred coordinates more of 500 pairs."""
_ROUNDING = 1e-6
"""What each dimension may add to the error of a product of 32-bit floats, several times what it does."""


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
    return array("d", [number / length for number in vector])  # a quarter of the memory of a tuple


class VectorIndex:
    """The vectors that are kept so far, by place, and which of them are close to another one.

    Vectors are of length 1. What has no vector is close to nothing, and so are vectors of different dimensions.
    """

    def __init__(self, vectors: Sequence[Vector | None], threshold: float) -> None:
        self._vectors = vectors
        self._threshold = threshold
        places_of: dict[int, list[int]] = defaultdict(list)
        for place, vector in enumerate(vectors):
            if vector is not None:
                places_of[len(vector)].append(place)
        numpy = _numpy() if len(vectors) >= NUMPY_FROM else None
        self._kept: dict[int, _Kept] = {
            dimensions: _Few() if numpy is None else _Many(numpy, vectors, places, threshold)
            for dimensions, places in places_of.items()
        }

    def add(self, at: int) -> None:
        """Keep the vector at place `at`."""
        if (mine := self._vectors[at]) is not None:
            self._kept[len(mine)].add(at)

    def discard(self, at: int) -> None:
        """Keep it no longer."""
        if (mine := self._vectors[at]) is not None:
            self._kept[len(mine)].discard(at)

    def find(self, at: int) -> list[Match]:
        """The kept ones whose cosine with the one at place `at` reaches the threshold, by place."""
        mine = self._vectors[at]
        return [] if mine is None else [Match(place) for place in self._close(mine, self._kept[len(mine)].met(at))]

    def _close(self, mine: Vector, places: Iterable[int]) -> Iterable[int]:
        for place in places:
            # Rounded, since the cosine of a vector with itself may come out as 0.9999999999999998.
            if round(sum(map(mul, mine, self._vectors[place] or ())), 12) >= self._threshold:
                yield place


class _Kept(Protocol):
    """Kept vectors of the same dimensions."""

    def add(self, at: int) -> None: ...

    def discard(self, at: int) -> None: ...

    def met(self, at: int) -> Iterable[int]:
        """Those that may be close to the one at place `at`, by place."""


class _Few:
    """They are all met."""

    def __init__(self) -> None:
        self._kept: set[int] = set()

    def add(self, at: int) -> None:
        self._kept.add(at)

    def discard(self, at: int) -> None:
        self._kept.discard(at)

    def met(self, _at: int) -> list[int]:
        return sorted(self._kept)


class _Many:
    """They are met if their products with the one sought, made by numpy, say so."""

    def __init__(self, numpy: Any, vectors: Sequence[Vector | None], places: Sequence[int], threshold: float) -> None:
        self._numpy = numpy
        self._places = places
        self._row = {place: row for row, place in enumerate(places)}
        self._vectors = numpy.array([vectors[place] for place in places], dtype="float32")
        self._least = threshold - _ROUNDING * self._vectors.shape[1]
        self._reduced = self._vectors if len(places) < _REDUCED_FROM else self._rotated()
        self._kept = numpy.zeros(len(places), dtype=bool)
        self._width = 0  # up to the last row that was ever kept
        self._begin = 0
        self._block = numpy.zeros((0, 0), dtype=bool)
        """For each row from `begin` on whether it may be close to each of those before it and with it in the block."""

    def add(self, at: int) -> None:
        row = self._row[at]
        self._kept[row] = True
        self._width = max(self._width, row + 1)

    def discard(self, at: int) -> None:
        self._kept[self._row[at]] = False

    def met(self, at: int) -> list[int]:
        row = self._row[at]
        line = self._line(row)
        (rows,) = (line & self._kept[: len(line)]).nonzero()
        if len(rows) and self._reduced is not self._vectors:
            rows = rows[self._vectors[rows] @ self._vectors[row] >= self._least]
        return [self._places[each] for each in rows.tolist()]

    def _line(self, row: int) -> Any:
        """For each row that may be kept whether this one may be close to it."""
        if row < self._begin:  # tried again
            return self._reduced[: self._width] @ self._reduced[row] >= self._least
        rows, width = self._block.shape
        if row >= self._begin + rows or self._width > width:
            mine = self._reduced[row : row + _ROWS]
            others = self._reduced[: max(self._width, row + len(mine))]
            self._begin, self._block = row, mine @ others.T >= self._least
        return self._block[row - self._begin]

    def _rotated(self) -> Any:
        """The vectors in as few coordinates as tell nearly all of them apart that aren't close."""
        numpy, vectors = self._numpy, self._vectors
        step = len(vectors) // _ROWS + 1
        # Vectors of the same kind have most of their length in the space of some of them.
        basis = numpy.linalg.qr(vectors[::step].T)[0]
        sample = vectors[step // 2 :: step]
        close = numpy.count_nonzero(sample @ sample.T >= self._least)
        for number in _COORDINATES:
            if number > basis.shape[1] or 2 * number > vectors.shape[1]:
                break
            few = _bounding(numpy, sample, basis[:, :number])
            if numpy.count_nonzero(few @ few.T >= self._least) - close <= _FEW * len(sample) ** 2:
                return _bounding(numpy, vectors, basis[:, :number])
        return vectors


def _bounding(numpy: Any, vectors: Any, basis: Any) -> Any:
    """The vectors in the coordinates of `basis` and the length of what these leave out as the last one.

    Their products are no less than those of the vectors themselves.
    """
    inside = vectors @ basis
    rest = numpy.sqrt(numpy.maximum(1 - (inside * inside).sum(axis=1, keepdims=True), 0))
    return numpy.hstack([inside, rest])


def _numpy() -> Any | None:
    try:
        return import_module("numpy")
    except ImportError:
        return None
