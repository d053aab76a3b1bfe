from __future__ import annotations

import random
import sys
from array import array
from typing import Any

import numpy as np
import pytest

from ctxassembly.semantic import NUMPY_FROM, Vector, VectorIndex, unit
from ctxassembly.types import Match


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("scaled to length 1", [3, 4], (0.6, 0.8)),
        ("a numpy array", np.array([3.0, 4.0], dtype="float32"), (0.6, 0.8)),
        ("an array", array("d", [3, 4]), (0.6, 0.8)),
        ("numbers too large to be squared", [3e200, 4e200], (0.6, 0.8)),
        ("no direction", [0.0, 0.0], None),
        ("nothing", [], None),
        ("not finite", [1.0, float("nan")], None),
        ("not finite", [1.0, float("inf")], None),
        ("too large for a float", [10**400], None),
        ("a string of numbers", "34", None),
        ("not numbers", ["a", None], None),
        ("no sequence", 7, None),
        ("two dimensions", [[1.0], [2.0]], None),
    ],
)
def test_unit(rule: str, value: Any, expected: Vector | None):
    found = unit(value)
    assert (found is None) == (expected is None)
    assert found is None or found == pytest.approx(expected)


def kept(vectors: list[Vector | None], threshold: float = 0.92) -> tuple[VectorIndex, list[list[int]]]:
    index = VectorIndex(vectors, threshold)
    for place in range(len(vectors)):
        index.add(place)
    return index, [[match.place for match in index.find(place)] for place in range(len(vectors))]


def test_close_means_at_the_threshold_or_above():
    vectors = [(1.0, 0.0), (0.92, (1 - 0.92**2) ** 0.5), (0.91, (1 - 0.91**2) ** 0.5)]
    assert kept(vectors)[1][0] == [0, 1]


def test_a_vector_is_close_to_itself_at_any_threshold():
    draw = random.Random(3)
    vectors = [unit([draw.gauss(0, 1) for _ in range(50)]) for _ in range(50)]
    assert kept(vectors, 1)[1] == [[place] for place in range(50)]


def test_none_and_other_dimensions_are_close_to_nothing_else():
    assert kept([(1.0,), None, (1.0, 0.0), None, (1.0,)])[1] == [[0, 4], [], [2], [], [0, 4]]


def test_what_is_discarded_is_not_found():
    index, _ = kept([(1.0,), (1.0,)])
    index.discard(0)
    assert index.find(1) == [Match(1)]


def test_with_and_without_numpy_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch):
    draw = random.Random(5)
    vectors: list[Vector | None] = [None, (1.0,)]
    while len(vectors) < NUMPY_FROM + 150:
        vectors.append(unit([draw.gauss(0, 1) for _ in range(4)]))
    index, with_numpy = kept(vectors)
    assert index._met is not None
    monkeypatch.setitem(sys.modules, "numpy", None)
    index, without = kept(vectors)
    assert index._met is None
    assert with_numpy == without
    assert sum(map(len, without)) > 2 * len(vectors)


def test_few_vectors_need_no_numpy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert kept([(1.0, 0.0)] * 20)[1][0] == list(range(20))
