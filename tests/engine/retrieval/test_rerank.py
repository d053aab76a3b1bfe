from __future__ import annotations

import math

import pytest
from pieces import found, ids

from ctxassembly.retrieval.ranking import apply_reranking

HITS = [found(name, score) for name, score in (("A", 1.0), ("B", 0.7), ("C", 0.4))]


def test_the_order_and_the_scores_are_those_of_the_reranker():
    after, notes = apply_reranking(HITS, [(2, 0.9), (0, 0.5), (1, 0.1)])
    assert [(one.chunk.id, one.score, one.rerank_score) for one in after] == [
        ("C", 0.9, 0.9),
        ("A", 0.5, 0.5),
        ("B", 0.1, 0.1),
    ]
    assert notes == []


def test_its_own_cut_is_noticed_and_nothing_is_lost():
    """CrossEncoderReranker keeps 3 unless it is told otherwise."""
    after, notes = apply_reranking(HITS, [(2, 0.3)])
    assert ids(after) == ["C", "A", "B"]
    assert [one.score for one in after] == [0.3, 0.3, 0.3]
    assert [one.rerank_score for one in after] == [0.3, None, None]
    assert notes == ["rerank: 2 of 3 chunks were cut by the reranker, and come last"]


def test_lost_scores_are_noticed_and_the_order_counts():
    """LangChain's compressors discard them."""
    after, notes = apply_reranking(HITS, [(2, None), (0, None), (1, None)])
    assert [(one.chunk.id, one.score) for one in after] == [("C", 1.0), ("A", 0.7), ("B", 0.4)]
    assert notes == ["rerank: it gave no scores, or not for all: the order counts"]


def test_logits_go_through_a_sigmoid():
    """x .8 raises a negative logit; a factor has to lower whatever it multiplies."""
    after, _ = apply_reranking(HITS, [(0, 2.0), (1, 0.0), (2, -3.0)])
    assert [one.score for one in after] == pytest.approx([1 / (1 + math.exp(-2)), 0.5, 1 / (1 + math.exp(3))])
    assert all(one.score * 0.8 < one.score for one in after)


def test_the_sigmoid_saturates_nowhere_near():
    """In float32 logits of 17 and 20 are both 1.0."""
    after, _ = apply_reranking(HITS, [(0, 20.0), (1, 17.0), (2, -800.0)])
    assert 1.0 > after[0].score > after[1].score > after[2].score >= 0.0


def test_scores_within_0_and_1_stay_as_they_are():
    after, _ = apply_reranking(HITS, [(0, 1.0), (1, 0.0), (2, 0.0)])
    assert [one.score for one in after] == [1.0, 0.0, 0.0]


def test_odd_answers_are_taken_for_what_they_say():
    assert ids(apply_reranking(HITS, [(1, 0.9), (1, 0.1), (9, 1.0), (-1, 1.0)])[0]) == ["B", "A", "C"]
    after, notes = apply_reranking(HITS, [(0, float("nan")), (1, 0.4)])
    assert ids(after) == ["A", "B", "C"]
    assert notes[-1] == "rerank: it gave no scores, or not for all: the order counts"
    assert ids(apply_reranking(HITS, [])[0]) == ["A", "B", "C"]
    assert apply_reranking([], [])[0] == []
