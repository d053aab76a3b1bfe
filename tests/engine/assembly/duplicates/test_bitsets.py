from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxassembly.assembly.dedup.near import MAX_LISTED, HitCounts, InvertedIndex, iter_positions, union


@given(st.lists(st.sets(st.integers(0, 200)), max_size=40), st.dictionaries(st.integers(0, 200), st.integers(1, 20)))
def test_a_tally_counts_each_place_by_itself(sets: list[set[int]], begun: dict[int, int]):
    tally = HitCounts([union(1 << place for place in each) for each in sets], begun)
    number = Counter(begun)
    for each in sets:
        number.update(each)
    for least in range(1, 64):
        assert list(iter_positions(tally.at_least(least))) == sorted(place for place, n in number.items() if n >= least)


@pytest.mark.parametrize("least", [0, -3])
def test_every_place_is_among_none_at_least(least: int):
    assert HitCounts([0b101], {}).at_least(least) & 0b1111 == 0b1111


def test_keys_of_few_places_are_listed_and_those_of_many_are_numbers():
    places = 3 * MAX_LISTED
    keys_of = [[1, 2] if place < MAX_LISTED else [2] for place in range(places)]
    few, sets = InvertedIndex(keys_of, {1: MAX_LISTED, 2: places}, places).lookup([1, 2, 3])
    assert few == dict.fromkeys(range(MAX_LISTED), 1)
    assert sets == [2**places - 1]


def test_what_few_places_have_is_counted_for_each():
    few, sets = InvertedIndex([[1, 2], [2]], {1: 1, 2: 2}, 2).lookup([1, 2])
    assert (few, sets) == ({0: 2, 1: 1}, [])
