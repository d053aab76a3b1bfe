"""Semantic duplicates: chunks that mean nearly the same, by the cosine of their embeddings.

Up to 150 vectors are compared in plain Python: 100 of 384 numbers take 40 ms, and importing numpy alone takes 100 ms.
Beyond, numpy finds the pairs to look at (10,000 vectors in half a second), and the same exact test decides: the result
is the same with and without it.

From 1,000 vectors on the products are made in fewer coordinates. Vectors are rotated so that the first `k` coordinates
have most of their length; the length of the rest is kept as one more coordinate. By Cauchy and Schwarz such a product
is never below that of the whole vectors, so a pair below the threshold is surely too far apart. For a high threshold a
sixth of the coordinates rules out nearly all pairs. Distances to pivots, the usual index, rule out nothing here: in
hundreds of dimensions all vectors are about as far from any point.
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

MIN_NUMPY_VECTORS = 150
"""Vectors from which on numpy is used if it is there."""
_BLOCK_ROWS = 256
"""Rows multiplied at a time, and rows sampled to find out how many coordinates are enough."""
_MIN_REDUCED_VECTORS = 1_000
"""Vectors from which on fewer coordinates are worth finding: that takes 10 ms."""
_COORDINATES = (32, 64, 96, 128, 192, 256)
"""The numbers of coordinates that are tried, fewest first."""
_MAX_FALSE_SHARE = 0.002
"""Share of pairs that may be looked at in vain: one such pair costs as much as 100 more coordinates of 500 pairs."""
_ROUNDING = 1e-6
"""The error that each dimension may add to a product of 32-bit floats; it adds several times less."""


def unit_vector(value: Any) -> Vector | None:
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
    """The vectors kept so far, by their position in the list of all, and the ones close to another vector.

    Vectors are of length 1. A text without a vector is close to nothing, and so are vectors of different dimensions.

    >>> index = VectorIndex([unit_vector([1, 0]), unit_vector([1, 0.1]), unit_vector([0, 1]), None], 0.9)
    >>> index.add(0)
    >>> [index.find(at) for at in (1, 2, 3)]
    [[Match(text_index=0, is_part=False)], [], []]
    """

    def __init__(self, vectors: Sequence[Vector | None], threshold: float) -> None:
        self._vectors = vectors
        self._threshold = threshold
        positions_of: dict[int, list[int]] = defaultdict(list)
        for at, vector in enumerate(vectors):
            if vector is not None:
                positions_of[len(vector)].append(at)
        numpy = _import_numpy() if len(vectors) >= MIN_NUMPY_VECTORS else None
        self._kept: dict[int, _KeptVectors] = {
            dimensions: _Pairwise() if numpy is None else _Blocked(numpy, vectors, positions, threshold)
            for dimensions, positions in positions_of.items()
        }

    def add(self, position: int) -> None:
        """Keep the vector at position `position`."""
        if (mine := self._vectors[position]) is not None:
            self._kept[len(mine)].add(position)

    def discard(self, position: int) -> None:
        """Keep the vector at position `position` no longer."""
        if (mine := self._vectors[position]) is not None:
            self._kept[len(mine)].discard(position)

    def find(self, position: int) -> list[Match]:
        """The kept ones whose cosine with the one at position `position` reaches the threshold, by position."""
        mine = self._vectors[position]
        return (
            []
            if mine is None
            else [Match(other) for other in self._filter_close(mine, self._kept[len(mine)].possible_matches(position))]
        )

    def _filter_close(self, mine: Vector, others: Iterable[int]) -> Iterable[int]:
        for other in others:
            # Rounded, since the cosine of a vector with itself may come out as 0.9999999999999998.
            if round(sum(map(mul, mine, self._vectors[other] or ())), 12) >= self._threshold:
                yield other


class _KeptVectors(Protocol):
    """Kept vectors of the same dimensions."""

    def add(self, at: int) -> None: ...

    def discard(self, at: int) -> None: ...

    def possible_matches(self, at: int) -> Iterable[int]:
        """The kept ones that may be close to the one at position `position`, by position."""


class _Pairwise:
    """Kept vectors that are all met."""

    def __init__(self) -> None:
        self._kept: set[int] = set()

    def add(self, at: int) -> None:
        self._kept.add(at)

    def discard(self, at: int) -> None:
        self._kept.discard(at)

    def possible_matches(self, _at: int) -> list[int]:
        return sorted(self._kept)


class _Blocked:
    """Kept vectors that are met if their product with the one sought, made by numpy, reaches the threshold."""

    def __init__(
        self, numpy: Any, vectors: Sequence[Vector | None], positions: Sequence[int], threshold: float
    ) -> None:
        self._numpy = numpy
        self._positions = positions
        self._row = {at: row for row, at in enumerate(positions)}
        self._vectors = numpy.array([vectors[at] for at in positions], dtype="float32")
        self._min_product = threshold - _ROUNDING * self._vectors.shape[1]
        self._reduced = self._vectors if len(positions) < _MIN_REDUCED_VECTORS else self._reduce_dimensions()
        self._kept = numpy.zeros(len(positions), dtype=bool)
        self._width = 0  # up to the last row that was ever kept
        self._block_start = 0
        self._block = numpy.zeros((0, 0), dtype=bool)
        """Rows from `_block_start` on, against all rows that may be kept: True where the two may be close."""

    def add(self, at: int) -> None:
        row = self._row[at]
        self._kept[row] = True
        self._width = max(self._width, row + 1)

    def discard(self, at: int) -> None:
        self._kept[self._row[at]] = False

    def possible_matches(self, at: int) -> list[int]:
        row = self._row[at]
        is_close = self._close_rows(row)
        (rows,) = (is_close & self._kept[: len(is_close)]).nonzero()
        # Fewer coordinates let some through; all of them, still in 32 bits, leave hardly any for the exact test.
        if len(rows) and self._reduced is not self._vectors:
            rows = rows[self._vectors[rows] @ self._vectors[row] >= self._min_product]
        return [self._positions[other] for other in rows.tolist()]

    def _close_rows(self, row: int) -> Any:
        """One flag for each row that may be kept: True if `row` may be close to it."""
        if row < self._block_start:  # tried again, after a newer one displaced the one it was dropped for
            return self._reduced[: self._width] @ self._reduced[row] >= self._min_product
        rows, width = self._block.shape
        if row >= self._block_start + rows or self._width > width:
            mine = self._reduced[row : row + _BLOCK_ROWS]
            others = self._reduced[: max(self._width, row + len(mine))]
            self._block_start, self._block = row, mine @ others.T >= self._min_product
        return self._block[row - self._block_start]

    def _reduce_dimensions(self) -> Any:
        """The vectors in the fewest coordinates that tell nearly all of them apart that aren't close."""
        numpy, vectors = self._numpy, self._vectors
        step = len(vectors) // _BLOCK_ROWS + 1
        # Embeddings of one corpus have most of their length in the space that some of them span.
        basis = numpy.linalg.qr(vectors[::step].T)[0]
        sample = vectors[step // 2 :: step]
        close = numpy.count_nonzero(sample @ sample.T >= self._min_product)
        for number in _COORDINATES:
            if number > basis.shape[1] or 2 * number > vectors.shape[1]:
                break
            few = _upper_bound_vectors(numpy, sample, basis[:, :number])
            if numpy.count_nonzero(few @ few.T >= self._min_product) - close <= _MAX_FALSE_SHARE * len(sample) ** 2:
                return _upper_bound_vectors(numpy, vectors, basis[:, :number])
        return vectors


def _upper_bound_vectors(numpy: Any, vectors: Any, basis: Any) -> Any:
    """The vectors in the coordinates of `basis`, with the length of the rest as the last coordinate.

    Their products are never less than those of the vectors themselves.
    """
    inside = vectors @ basis
    rest = numpy.sqrt(numpy.maximum(1 - (inside * inside).sum(axis=1, keepdims=True), 0))
    return numpy.hstack([inside, rest])


def _import_numpy() -> Any | None:
    try:
        return import_module("numpy")
    except ImportError:
        return None
