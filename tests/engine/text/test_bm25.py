from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ctxassembly.text.query_terms import Bm25

FOUND = [["rare", "common"], ["common"], ["common"], []]


def counts(words: Sequence[str], texts: Sequence[Sequence[str]]) -> Any:
    rows = [[text.count(word) for text in texts] for word in words]
    return np.array(rows, dtype=np.int64).reshape(len(words), len(texts))


def bm25_of(
    texts: Sequence[Sequence[str]], factors: Mapping[str, float] | None = None, within: Mapping[str, str] | None = None
) -> Bm25:
    words = sorted({word for text in texts for word in text})
    return Bm25(words, counts(words, texts), factors, within)


def scores(bm25: Bm25, *texts: tuple[Sequence[str], int]) -> list[float]:
    found, lengths = [text for text, _ in texts], np.array([length for _, length in texts])
    return bm25.scores(counts([*bm25.weights], found), lengths).tolist()


def test_a_word_weighs_by_how_few_texts_have_it():
    bm25 = bm25_of(FOUND)
    assert bm25.weights["rare"] == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert bm25.weights["common"] == pytest.approx(math.log(1 + 1.5 / 3.5))
    assert bm25.weights_of(np.array([1, 0])).tolist() == [bm25.weights["rare"], bm25.weights["common"]]
    assert Bm25(["unknown"], counts(["unknown"], FOUND)).weights == {"unknown": 0}


def test_the_score_is_the_published_formula():
    """idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length)), k1 = 1.2 and b = 0.75"""
    first, second = scores(bm25_of(FOUND), (["rare", "rare"], 30), ([], 10))
    assert first == pytest.approx(math.log(1 + 3.5 / 1.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 1.5)))
    assert second == 0


def test_a_word_within_another_weighs_what_it_is_rarer():
    texts = [["long", "stem"], ["stem"], ["stem"], []]
    bm25, alone = bm25_of(texts, within={"long": "stem", "unknown": "stem"}), bm25_of(texts)
    assert bm25.weights["stem"] == alone.weights["stem"]
    assert bm25.weights["long"] == pytest.approx(alone.weights["long"] - alone.weights["stem"])
