"""What is looked up by the rarest words: nothing that is near is missed (test_near.py), and little else is met."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from ctxassembly.assembly.dedup.near import MAX_PAIRWISE_TEXTS, NearIndex, PrefixFilter

FIXED = [f"fixed{n}" for n in range(140)]
MOST = 3
"""Texts that each may meet on average, itself among them, however many there are."""


def table_rows(draw: random.Random) -> str:
    return " ".join(f"{column}{draw.randrange(40)}" for column in "abcdefghij")


def rows_of_few_values(draw: random.Random) -> str:
    return " ".join(f"{column} {column}{draw.randrange(8)}" for column in "abcdefghijklmnop")


def csv_template(draw: random.Random) -> str:
    return f"name: n{draw.randrange(300)} city: c{draw.randrange(200)} {rows_of_few_values(draw)} {draw.random()}"


def long_template(draw: random.Random) -> str:
    parts = [" ".join([*FIXED[n : n + 11], f"own{draw.randrange(10**6)}"]) for n in range(0, 140, 11)]
    return " ".join(parts)


def long_template_of_few_values(draw: random.Random) -> str:
    return " ".join([" ".join([*FIXED[n : n + 5], f"value{n}x{draw.randrange(100)}"]) for n in range(0, 140, 5)])


def topics(draw: random.Random) -> str:
    topic = draw.randrange(20)
    return " ".join([f"topic{topic}x{draw.randrange(250)}" for _ in range(90)] + draw.choices(FIXED, k=60))


KINDS = [table_rows, rows_of_few_values, csv_template, long_template, long_template_of_few_values, topics]


@pytest.mark.parametrize("kind", KINDS)
def test_among_many_no_more_are_compared_than_among_few(kind: Callable[[random.Random], str]) -> None:
    """Pairs are counted, not time. Compared each with each, a text among 1,600 would meet 1,600."""
    for number in (400, 1_600):
        draw = random.Random(number)
        index = NearIndex([kind(draw) for _ in range(number)], 0.9)
        kept = index._kept
        assert number > MAX_PAIRWISE_TEXTS
        assert isinstance(kept, PrefixFilter)
        for place in range(number):
            kept.add(place)
        met = sum(1 for place in range(number) for _ in kept.possible_matches(place))
        assert met <= MOST * number


def test_a_threshold_next_to_0_is_one():
    index = NearIndex([f"word{n} common" for n in range(200)], 5e-324)
    index.add(0)
    assert [match.text_index for match in index.find(1)] == [0]
