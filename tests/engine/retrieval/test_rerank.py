"""A reranker's order, the evidence for an answer, and the places of what was rescued."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pieces import ALONE, COMMON, Found, ids, retrieved, scored

from ctxassembly import Retrieved
from ctxassembly.retrieval import QueryVocabulary, TermStats

HITS = [scored(name, score) for name, score in (("A", 1.0), ("B", 0.7), ("C", 0.4))]
CUT = "rerank: {} of 3 chunks were cut by the reranker, and come last"
UNSCORED = "rerank: it gave no scores, or not for all: the order counts"


def reranked(reply: list[Any]) -> Retrieved:
    return retrieved(HITS, given={"rerankers": (lambda query, chunks: reply,)}, **ALONE)


@pytest.mark.parametrize(
    ("reply", "order", "scores", "notes"),
    [
        ([(2, 0.9), (0, 0.5), (1, 0.1)], "CAB", [0.9, 0.5, 0.1], []),
        ([(0, 1.0), (1, 0.0), (2, 0.0)], "ABC", [1.0, 0.0, 0.0], []),
        # CrossEncoderReranker keeps 3 unless it is told otherwise: that is noticed, and nothing is lost.
        ([(2, 0.3)], "CAB", [0.3, 0.3, 0.3], [CUT.format(2)]),
        # LangChain's compressors discard scores: the order counts.
        ([(2, None), (0, None), (1, None)], "CAB", [1.0, 0.7, 0.4], [UNSCORED]),
        ([(0, float("nan")), (1, 0.4)], "ABC", [1.0, 0.7, 0.4], [CUT.format(1), UNSCORED]),
        # x .8 raises a negative logit, so logits go through a sigmoid.
        ([(0, 2.0), (1, 0.0), (2, -3.0)], "ABC", [1 / (1 + math.exp(-2)), 0.5, 1 / (1 + math.exp(3))], []),
        ([(1, 0.9), (1, 0.1), (9, 1.0), (-1, 1.0)], "BAC", [0.9, 0.9, 0.4], [CUT.format(2)]),
        ([], "ABC", [1.0, 0.7, 0.4], [CUT.format(3)]),
    ],
    ids=range(8),
)
def test_the_order_and_the_scores_are_those_of_the_reranker(reply: Any, order: str, scores: Any, notes: Any):
    found = reranked(reply)
    assert ids(found.chunks) == [*order]
    assert [one.score for one in found.chunks] == pytest.approx(scores)
    assert [note for note in found.trace.notes if note.startswith("rerank")] == notes


# Evidence

WORDS = QueryVocabulary(100, (TermStats("iron", 90), TermStats("ferritin", 2)))
SHARE = WORDS.weights["ferritin"] / sum(WORDS.weights.values())


@pytest.mark.parametrize(
    ("found", "vocabulary", "evidence"),
    [
        ([scored("A", 0.5, 1.0, "ferritin")], WORDS, 0.5 + SHARE),
        ([scored("B", 0.5, 0.0), scored("C", 0.1, 1.0, "ferritin")], WORDS, 0.1 + SHARE),  # of one chunk, not of two
        ([scored("A", 0.0, 1.0, "iron")], WORDS, 1 - SHARE),  # a common word says little
        ([scored("A", -0.4, 1.0, "iron", "ferritin")], WORDS, 1.0),
        ([scored("A", None, 1.0, "iron", "ferritin")], WORDS, 1.0),
        ([scored("A", 0.6)], QueryVocabulary(9, ()), 0.6),
        (
            [*(scored(f"A{at}", 0.5) for at in range(10)), scored("Z", 0.4, 0.001, "ferritin")],
            WORDS,
            0.5,
        ),  # the best 10
    ],
    ids=range(7),
)
def test_evidence_is_the_best_sum_of_similarity_and_share_of_the_words(found: Any, vocabulary: Any, evidence: float):
    assert SHARE > 0.9
    settings = {**ALONE, "keyword_weight": 0.0} if len(found) > 9 else ALONE
    index = Found(found, vocabulary)
    assert retrieved(index, min_evidence=evidence - 1e-6, **settings).chunks
    assert retrieved(index, min_evidence=evidence + 1e-6, **settings).chunks == ()


# Places of what was rescued

RARE = QueryVocabulary(1000, (*COMMON.terms, TermStats("tea", 1)))


@pytest.mark.parametrize(
    ("rescue", "limit", "order", "scores"),
    [
        ("first", 5, "XABC", [1.0, 1.0, 0.7, 0.4]),
        ("last", 5, "ABCX", [1.0, 0.7, 0.4, 0.4]),
        ("last", 3, "ABX", [1.0, 0.7, 0.7]),  # the least make room
        ("first", 3, "XAB", [1.0, 1.0, 0.7]),
        ("first", 1, "X", [1.0]),
    ],
)
def test_a_rescued_chunk_takes_the_first_or_the_last_place_and_scores_never_rise(
    rescue: Any, limit: int, order: str, scores: list[float]
):
    index = Found(HITS, RARE, [scored("X", None, 1.0, "tea")])
    found = retrieved(index, "the tea", rescue=rescue, limit=limit, adjacency=0).chunks
    assert ids(found) == [*order]
    assert [one.score for one in found] == pytest.approx(scores)
