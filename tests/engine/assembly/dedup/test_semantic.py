from __future__ import annotations

import random
from array import array
from typing import Any

import numpy as np
import pytest

from ctxassembly.assembly.dedup.semantic import Vector, VectorIndex, unit_vector
from ctxassembly.data.candidates import Match


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
    found = unit_vector(value)
    assert (found is None) == (expected is None)
    assert found is None or tuple(found) == pytest.approx(expected)


def kept(vectors: list[Vector | None], threshold: float = 0.92) -> tuple[VectorIndex, list[list[int]]]:
    index = VectorIndex([""] * len(vectors), vectors, threshold)
    for place in range(len(vectors)):
        index.add(place)
    return index, [[match.text_index for match in index.find(place)] for place in range(len(vectors))]


def test_close_means_at_the_threshold_or_above():
    vectors = [(1.0, 0.0), (0.92, (1 - 0.92**2) ** 0.5), (0.91, (1 - 0.91**2) ** 0.5)]
    assert kept(vectors)[1][0] == [0, 1]


def test_a_vector_is_close_to_itself_at_any_threshold():
    draw = random.Random(3)
    vectors = [unit_vector([draw.gauss(0, 1) for _ in range(50)]) for _ in range(50)]
    assert kept(vectors, 1)[1] == [[place] for place in range(50)]


def test_none_and_other_dimensions_are_close_to_nothing_else():
    assert kept([(1.0,), None, (1.0, 0.0), None, (1.0,)])[1] == [[0, 4], [], [2], [], [0, 4]]


def test_what_is_discarded_is_not_found():
    index, _ = kept([(1.0,), (1.0,)])
    index.discard(0)
    assert index.find(1) == [Match(1)]


KINDS = ["all different", "around topics", "copies", "all copies of one"]


def drawn(kind: str, number: int, dimensions: int = 384) -> list[Vector | None]:
    draw = np.random.default_rng(number)
    spread = draw.normal(size=(number, dimensions))
    if kind == "around topics":
        spread += draw.normal(size=(50, dimensions))[draw.integers(50, size=number)] + 0.7
    elif kind == "copies":  # on both sides of the threshold
        originals = draw.normal(size=(number // 5, dimensions))
        spread = originals[draw.integers(len(originals), size=number)] + 0.28 * spread
    elif kind == "all copies of one":
        spread = 1 + 0.2 * spread
    return [unit_vector(vector) for vector in spread.tolist()]


@pytest.mark.parametrize("threshold", [0.5, 0.92, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_missed_in_whatever_order_they_come(kind: str, threshold: float):
    """Whatever stands while they come in their order, some are tried again later, and at last all are sought."""
    vectors = drawn(kind, 360)
    matrix = np.array(vectors)
    cosines = (matrix @ matrix.T).round(12)
    index, draw, standing = VectorIndex([""] * len(vectors), vectors, threshold), random.Random(7), set[int]()
    for place in [*range(330), *range(0, 360, 4)]:
        for at in (place, draw.randrange(place + 1)):
            expected = [each for each in sorted(standing) if cosines[at, each] >= threshold]
            assert [match.text_index for match in index.find(at)] == expected
        if place not in standing and not expected:
            index.add(place)
            standing.add(place)
        elif place in standing and draw.random() < 0.1:
            index.discard(place)
            standing.remove(place)
