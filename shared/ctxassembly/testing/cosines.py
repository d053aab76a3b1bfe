"""Exact cosines of many vectors with one: by numpy where it is installed, else by plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from operator import mul
from typing import Any

from ctxassembly.errors import InputError


class Cosines:
    """Vectors that are compared with others. A vector of nothing but zeros is like none: its cosine is 0.

    >>> Cosines([[1.0, 0.0], [3.0, 4.0]]).with_([1.0, 0.0])
    [1.0, 0.6]
    """

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        """Take `vectors`, all of one length.

        Raises:
            InputError: they differ in length, or aren't made of numbers.
        """
        self._units = [_unit(vector) for vector in vectors]
        self.dimensions = len(self._units[0]) if self._units else 0
        for place, unit in enumerate(self._units):
            if len(unit) != self.dimensions:
                raise InputError(f"vectors differ: number 0 has {self.dimensions} numbers, number {place} {len(unit)}")

    def with_(self, vector: Sequence[float]) -> list[float]:
        """The cosine of each vector with `vector`, in their order.

        Raises:
            InputError: `vector` has another length.
        """
        unit = _unit(vector)
        if not self._units:
            return []
        if len(unit) != self.dimensions:
            raise InputError(f"the query's vector has {len(unit)} numbers, those of the index {self.dimensions}")
        if self._matrix is not None:
            return [float(cosine) for cosine in self._matrix @ unit]
        return [sum(map(mul, own, unit)) for own in self._units]

    @cached_property
    def _matrix(self) -> Any:
        """All vectors as one array; None without numpy."""
        try:
            import numpy as np
        except ImportError:
            return None
        return np.array(self._units).reshape(len(self._units), self.dimensions)


def _unit(vector: Sequence[float]) -> list[float]:
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"a vector must be a sequence of numbers: {error}") from error
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise InputError("a vector must be made of finite numbers")
    return [number / length for number in numbers] if length else numbers
