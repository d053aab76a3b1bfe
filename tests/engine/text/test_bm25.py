from __future__ import annotations

import math

import pytest

from ctxassembly.text.bm25 import Bm25

FOUND = [["rare", "common"], ["common"], ["common"], []]


def test_a_word_weighs_by_how_few_texts_have_it():
    bm25 = Bm25(FOUND)
    assert bm25.weight(["rare"]) == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert bm25.weight(["common"]) == pytest.approx(math.log(1 + 1.5 / 3.5))
    assert bm25.weight(["rare", "common", "unknown"]) == bm25.weight(["rare"]) + bm25.weight(["common"])


def test_the_score_is_the_published_formula():
    """idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)), k1 = 1.2 and b = 0.75"""
    first, second = Bm25(FOUND).scores([(["rare", "rare"], 30), ([], 10)])
    assert first == pytest.approx(math.log(1 + 3.5 / 1.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)))
    assert second == 0


def test_a_word_within_another_weighs_what_it_is_rarer():
    bm25 = Bm25([["long", "stem"], ["stem"], ["stem"], []], within={"long": "stem", "unknown": "stem"})
    alone = Bm25([["long", "stem"], ["stem"], ["stem"], []])
    assert bm25.weight(["stem"]) == alone.weight(["stem"])
    assert bm25.weight(["long", "stem"]) == pytest.approx(alone.weight(["long"]))


def test_factors_multiply_what_a_word_weighs_alone():
    """A stem that other words have, too, keeps its weight, and the long word within adds half of what it added."""
    found, within = [["long", "stem"], ["stem"], ["stem"], []], {"long": "stem"}
    plain = Bm25(found, within=within)
    bm25 = Bm25(found, {"long": 0.5, "unknown": 0.5}, within)
    assert bm25.weight(["stem"]) == plain.weight(["stem"])
    assert bm25.weight(["long"]) == plain.weight(["long"]) / 2 > 0
    assert bm25.best == max(bm25.weight(["stem"]), bm25.weight(["long"]))


def test_of_two_that_say_the_same_the_shorter_one_is_better():
    short, long = Bm25(FOUND).scores([(["rare"], 10), (["rare"], 40)])
    assert short > long


def test_nothing_scores_nothing():
    assert Bm25([]).scores([]) == []
    assert Bm25([[]]).scores([([], 0)]) == [0]
