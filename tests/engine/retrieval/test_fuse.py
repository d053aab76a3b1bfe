"""Each defect of the field's fusions that `fuse` names has its row here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pieces import chunk, ids, keyed, named, scored

from ctxassembly import Hit, RetrievalConfig
from ctxassembly.data.retrieval import SINGLE_OCCURRENCE
from ctxassembly.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.retrieval.fusion import fuse, merge_channels, rank_channels, to_scored_chunks

CONVEX = RetrievalConfig()
RRF = RetrievalConfig(fusion="rrf", keyword_weight=0.5)


def fused(
    some: list[ScoredChunk], config: RetrievalConfig = CONVEX, weights: dict[str, float] | None = None, limit: int = 99
):
    return fuse(some, rank_channels(some, limit, config.min_similarity), config, weights or {})


def scores(some: list[ScoredChunk], config: RetrievalConfig = CONVEX, **more) -> dict[str, float]:
    return {one.chunk.id: round(one.score, 4) for one in fused(some, config, **more)}


# Rankings


def test_each_channel_ranks_its_own_best_and_ties_go_by_id():
    some = [scored("B", 0.5, 1.0), scored("A", 0.5, 0.0), scored("C", 0.9, 2.0), scored("D", -0.1, 1.0)]
    assert named(rank_channels(some, 3, None)) == {"vector": ["C", "A", "B"], "keyword": ["C", "B", "D"]}
    assert named(rank_channels(some, 1, None)) == {"vector": ["C"], "keyword": ["C"]}


def test_a_keyword_score_of_0_finds_nothing():
    """LlamaIndex's BM25Retriever gives k nodes of score 0 where nothing matches."""
    assert named(rank_channels([scored("A", None, 0.0)], 9, None)) == {"keyword": []}
    assert fused([scored("A", None, 0.0)]) == []


def test_the_floor_is_for_vectors_alone():
    some = [scored("A", 0.39, 1.0), scored("B", 0.40, 0.0), scored("C", 0.1, 0.0)]
    assert named(rank_channels(some, 9, 0.40)) == {"vector": ["B"], "keyword": ["A"]}
    assert set(ids(fused(some, RetrievalConfig(min_similarity=0.4)))) == {"A", "B"}


def test_what_did_not_search_ranks_nothing():
    assert named(rank_channels([scored("A", 0.5)], 9, None)) == {"vector": ["A"]}
    assert rank_channels([], 9, None) == {}
    assert fused([]) == []


# The convex sum


def test_each_score_is_divided_by_the_best_of_its_channel_and_weighted():
    some = [scored("A", 0.8, 1.0), scored("B", 0.4, 4.0), scored("C", 0.2, 2.0)]
    raw = {"A": 0.4 * 1 + 0.6 / 4, "B": 0.4 / 2 + 0.6, "C": 0.4 / 4 + 0.6 / 2}
    assert scores(some) == {id_: round(value / 0.8, 4) for id_, value in raw.items()}
    assert ids(fused(some)) == ["B", "A", "C"]


@pytest.mark.parametrize(("weight", "first"), [(0.0, "A"), (0.3, "A"), (0.7, "B"), (1.0, "B")])
def test_the_weight_is_heeded(weight: float, first: str):
    """By both ways: LlamaIndex' QueryFusionRetriever ignores weights in RRF."""
    some = [scored("A", 0.9, 1.0), scored("B", 0.3, 3.0)]
    for fusion in ("convex", "rrf"):
        assert ids(fused(some, RetrievalConfig(fusion=fusion, keyword_weight=weight)))[0] == first


def test_one_channel_alone_needs_no_weight():
    some = [scored("A", None, 1.0), scored("B", None, 2.0)]
    for fusion in ("convex", "rrf"):
        one = fused(some, RetrievalConfig(fusion=fusion, keyword_weight=0.0))
        assert (ids(one), one[0].score) == (["B", "A"], 1.0)


def test_a_channel_that_found_nothing_changes_no_score():
    some = [scored("A", 0.8, 0.0), scored("B", 0.4, 0.0)]
    assert scores(some) == {"A": 1.0, "B": 0.5}


def test_a_lone_keyword_hit_of_next_to_nothing_does_not_count_as_the_best_vector_hit():
    """langchain-postgres' weighted sum gives a lone keyword hit of 1e-9 a score of .5, as the best vector hit has."""
    weights = QueryVocabulary(1000, (TermStats("ferritin", 2), TermStats("the", 990))).weights
    only_the = weights["the"] * SINGLE_OCCURRENCE
    some = [scored("A", 0.9, 0.0), scored("B", 0.1, 1e-9), scored("C", 0.2, only_the)]
    after = scores(some, weights=weights)
    assert [*after] == ["A", "C", "B"]
    assert after["C"] < 0.3
    says_it_once = scored("D", 0.1, weights["ferritin"] * SINGLE_OCCURRENCE)
    assert next(iter(scores([*some, says_it_once], weights=weights))) == "D"


def test_a_hit_of_both_lists_is_raised():
    """In Haystack's DBSF a hit of both lists isn't raised, and a lone BM25 hit keeps its raw 11.7 above all."""
    some = [scored("A", 0.80, 9.0), scored("B", 0.82, 0.0), scored("C", 0.1, 11.7), scored("D", 0.3, 5.1)]
    for config in (CONVEX, RRF):
        after = fused(some, config)
        assert ids(after)[0] == "A"
        assert after[0].channels == ("vector", "keyword")
        assert max(one.score for one in after) == 1.0


def test_the_union_is_ranked_by_true_scores():
    """A chunk that only the words found has its true cosine in the sum: 0 would lose exact identifiers."""
    some = [scored("A", 0.90, 0.0), scored("B", 0.85, 1.0), scored("C", 0.10, 1.0)]
    after = fused(some, limit=1)
    assert ids(after) == ["B", "A"]  # C isn't among the best of either channel
    assert scores(some)["B"] > scores(some)["C"]


def test_a_missing_score_is_the_lowest_of_its_channel():
    """R2R counts a missing rank as the list's last: with 5 : 1 for vectors 9 of the best 10 came by words alone."""
    some = [scored("A", 0.8), scored("B", 0.4), scored("C", None, 9.0), scored("D", None, 3.0)]
    raw = {"A": 0.4, "B": 0.2, "C": 0.4 * 0.4 / 0.8 + 0.6, "D": 0.4 * 0.4 / 0.8 + 0.6 * 3 / 9}
    assert scores(some) == {id_: round(value / 0.8, 4) for id_, value in raw.items()}  # the words were all looked for
    full = RetrievalConfig(limit=2, candidates=2)
    raw |= {"A": 0.4 + 0.6 * 3 / 9, "B": 0.2 + 0.6 * 3 / 9}
    assert scores(some, full, limit=2) == {id_: round(value / 0.8, 4) for id_, value in raw.items()}


def test_cosines_below_0_keep_their_order():
    some = [scored("A", -0.5), scored("B", -0.1), scored("C", -0.9)]
    assert ids(fused(some)) == ["B", "A", "C"]
    assert fused(some)[0].score == 1.0


# RRF


def test_the_arithmetic_of_rrf():
    """k = 60: number 1 of one list alone is .0164 (1 / 61), number 28 of both .0227 (2 / 88), counted from 1.

    So a name that only the words find stands behind 28 lukewarm agreements.
    """
    both = [f"L{at:02}" for at in range(28)]
    after = {
        one.chunk.id: one
        for one in fuse([scored("X"), *map(scored, both)], keyed(vector=both, keyword=["X", *both]), RRF)
    }
    best = 1 / 61 + 1 / 62
    assert after["L00"].score == 1.0
    assert after["X"].score * best == pytest.approx(1 / 61)
    assert after["L27"].score * best == pytest.approx(1 / 88 + 1 / 89)
    assert (round(1 / 61, 4), round(2 / 88, 4)) == (0.0164, 0.0227)
    assert after["X"].score < after["L27"].score


def test_neither_a_small_k_nor_scores_lose_the_best_of_one_list():
    """The published rule: `rrf_k` can be set."""
    both = [f"L{at}" for at in range(6)]
    ranked = keyed(vector=both, keyword=["X", *both])
    some = [scored("X", 0.1, 9.0), *(scored(id_, 0.5 - at / 100, 2.0) for at, id_ in enumerate(both))]
    assert ids(fuse(some, ranked, RRF))[-1] == "X"
    assert ids(fuse(some, ranked, CONVEX))[0] == "X"
    assert ids(fuse(some, ranked, replace(RRF, rrf_k=0.1))).index("X") == 1


@pytest.mark.parametrize(("weight", "switches"), [(0.5, False), (0.59, False), (0.6, True), (0.9, True), (0.1, True)])
def test_weights_act_as_a_switch_from_a_ratio_on(weight: float, switches: bool):
    """Above (k + n) / (k + 1), 1.44 at 28 and 60, a list's own chunks all precede the other's."""
    vector, keyword = ([f"{name}{at}" for at in range(28)] for name in "VK")
    ranked = keyed(vector=vector, keyword=keyword)
    config = RetrievalConfig(fusion="rrf", keyword_weight=weight)
    some = [*(scored(id_, 0.5) for id_ in vector), *(scored(id_, None, 0.5) for id_ in keyword)]
    first = ids(fuse(some, ranked, config))[:28]
    assert (len({id_[0] for id_ in first}) == 1) is switches


# All fusions


@pytest.mark.parametrize("config", [CONVEX, RRF])
def test_ties_go_by_id_and_inputs_stay_as_they_are(config: RetrievalConfig):
    """QueryFusionRetriever overwrites its inputs' scores."""
    some = [scored(name, 0.5, 1.0) for name in "CAB"]
    before = list(some)
    if config is CONVEX:
        assert ids(fused(some, config)) == ["A", "B", "C"]
    assert ids(fused(some, config)) == ids(fused(some[::-1], config))
    assert some == before


def test_what_was_found_says_how():
    (one, other) = fused([scored("A", 0.8, 2.0, "tea"), scored("B", 0.4, 0.0)])
    assert (one.similarity, one.keyword_score, one.terms) == (0.8, 2.0, ("tea",))
    assert (one.ranks, one.channels, one.fused_score) == ({"vector": 0, "keyword": 0}, ("vector", "keyword"), 1.0)
    assert (other.ranks, other.channels) == ({"vector": 1}, ("vector",))


def test_lists_of_channels_are_merged_by_id():
    """EnsembleRetriever tells documents by their text: the same text of two sources is lost once."""
    some = merge_channels(
        [[scored("A", 0.5), scored("B", 0.4)], [scored("A", None, 2.0, "tea"), scored("C", None, 1.0)]]
    )
    assert [(one.chunk.id, one.similarity, one.keyword_score) for one in some] == [
        ("A", 0.5, 2.0), ("B", 0.4, None), ("C", None, 1.0),
    ]  # fmt: skip
    assert some[0].terms == ("tea",)
    twins = [ScoredChunk(chunk("A1", "same"), 0.5), ScoredChunk(chunk("B1", "same"), 0.5)]
    assert ids(merge_channels([twins])) == ["A1", "B1"]


def test_an_id_with_two_texts_is_two_chunks_of_two_documents():
    """Two retrievers over two collections, each with a chunk of the same id."""
    some = merge_channels(
        [[scored("A", 0.5)], [ScoredChunk(chunk("A", "Another text."), None, 2.0), scored("B", None, 1.0)]]
    )
    assert [(one.chunk.document_id, one.similarity, one.keyword_score) for one in some] == [
        ("A", 0.5, None), ("A (2)", None, 2.0), ("B", None, 1.0),
    ]  # fmt: skip
    assert some[1].chunk.lookup_id == "A"
    assert sorted(one.chunk.text for one in fused(some)) == ["Another text.", "Text of A.", "Text of B."]


def test_a_foreign_channel_may_give_no_scores():
    """QueryFusionRetriever raises a TypeError at a score of None."""
    hits = [Hit(chunk("A")), Hit(chunk("B"), 7.0), Hit(chunk("C"), float("nan"))]
    assert [one.keyword_score for one in to_scored_chunks("keyword", hits)] == [1.0, 1 / 2, 1 / 3]
    assert [one.similarity for one in to_scored_chunks("vector", [Hit(chunk("A"), 0.7), Hit(chunk("B"), 0.2)])] == [
        0.7,
        0.2,
    ]
