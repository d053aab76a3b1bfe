"""Each defect of the field's fusions that `retrieval/fusion.py` names has its row here."""

from __future__ import annotations

from typing import Any

import pytest
from pieces import ALONE, Found, chunk, ids, retrieved, scored, scores

from ctxassembly import Chunk, Hit, RetrievalConfig, retrieve
from ctxassembly.retrieval import QueryVocabulary, RetrievedChunk, ScoredChunk, TermStats

RRF: dict[str, Any] = {"fusion": "rrf", "keyword_weight": 0.5}


def fused(some: list[ScoredChunk], **settings: Any) -> tuple[RetrievedChunk, ...]:
    return retrieved(some, **{**ALONE, **settings}).chunks


def test_each_channel_ranks_its_own_best_and_ties_go_by_id():
    some = [scored("B", 0.5, 1.0), scored("A", 0.5, 0.0), scored("C", 0.9, 2.0), scored("D", -0.1, 1.0)]
    ranks = {one.chunk.id: dict(one.ranks) for one in fused(some)}
    assert ranks == {
        "C": {"vector": 0, "keyword": 0},
        "A": {"vector": 1},  # a keyword score of 0 finds nothing
        "B": {"vector": 2, "keyword": 1},
        "D": {"vector": 3, "keyword": 2},
    }
    assert ids(fused(some, limit=1, candidates=1)) == ["C"]
    assert fused([]) == fused([scored("A", None, 0.0)]) == ()


def test_each_score_is_divided_by_the_best_of_its_channel_and_weighted():
    some = [scored("A", 0.8, 1.0), scored("B", 0.4, 4.0), scored("C", 0.2, 2.0)]
    raw = {"B": 0.4 / 2 + 0.6, "A": 0.4 * 1 + 0.6 / 4, "C": 0.4 / 4 + 0.6 / 2}
    assert list(scores(fused(some)).items()) == [(id_, round(value / 0.8, 4)) for id_, value in raw.items()]


def test_below_0_the_best_cosine_is_still_the_best():
    assert scores(fused([scored("B", -0.4, 0.0), scored("A", -0.1, 0.0)])) == {"A": 1.0, "B": 0.7}


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize(("weight", "first"), [(0.0, "A"), (0.3, "A"), (0.7, "B"), (1.0, "B")])
def test_the_weight_is_heeded(fusion: Any, weight: float, first: str):
    """LlamaIndex' QueryFusionRetriever ignores weights in RRF."""
    some = [scored("A", 0.9, 1.0), scored("B", 0.3, 3.0)]
    assert ids(fused(some, fusion=fusion, keyword_weight=weight))[0] == first


def test_a_lone_keyword_hit_of_next_to_nothing_does_not_count_as_the_best_vector_hit():
    """langchain-postgres' weighted sum gives a lone keyword hit of 1e-9 a score of .5, as the best vector hit has."""
    words = QueryVocabulary(1000, (TermStats("ferritin", 2), TermStats("the", 990)))
    once = {word: weight * 0.0608 for word, weight in words.weights.items()}  # as an index counts one occurrence
    some = [scored("A", 0.9, 0.0), scored("B", 0.1, 1e-9), scored("C", 0.2, once["the"])]
    after = scores(retrieved(Found(some, words), **ALONE).chunks)
    assert [*after] == ["A", "C", "B"]
    assert after["C"] < 0.3
    says_it_once = scored("D", 0.1, once["ferritin"])
    assert ids(retrieved(Found([*some, says_it_once], words), **ALONE).chunks)[0] == "D"


def test_a_missing_score_is_the_lowest_of_its_channel():
    """R2R counts a missing rank as the list's last: with 5 : 1 for vectors 9 of the best 10 came by words alone."""
    some = [scored("A", 0.8), scored("B", 0.4), scored("C", None, 9.0), scored("D", None, 3.0)]
    raw = {"A": 0.4, "B": 0.2, "C": 0.4 * 0.4 / 0.8 + 0.6, "D": 0.4 * 0.4 / 0.8 + 0.6 * 3 / 9}
    assert scores(fused(some)) == {id_: round(value / 0.8, 4) for id_, value in raw.items()}  # all words looked for
    raw |= {"A": 0.4 + 0.6 * 3 / 9, "B": 0.2 + 0.6 * 3 / 9}
    full = scores(fused(some, limit=2, candidates=2))
    assert full == {id_: round(raw[id_] / 0.8, 4) for id_ in full}


def agreeing(count: int) -> list[ScoredChunk]:
    """A chunk that is first by its words alone, and `count` of which both channels think the same."""
    both = [scored(f"L{at:02}", 0.5 - at / 1000, 2.0 - at / 100) for at in range(count)]
    return [scored("X", None, 9.0), *both]


def test_neither_a_small_k_nor_scores_lose_the_best_of_one_list():
    """The published rule: `rrf_k` can be set."""
    some = agreeing(6)
    assert ids(fused(some, **RRF))[-1] == "X"
    assert ids(fused(some))[0] == "X"
    assert ids(fused(some, **RRF, rrf_k=0.1)).index("X") == 1


def by_channels(vector: list[Hit], keyword: list[Hit]) -> tuple[RetrievedChunk, ...]:
    channels: Any = {"vector": lambda *_: vector, "keyword": lambda *_: keyword}
    return retrieve("the", RetrievalConfig(**ALONE), channels=channels).chunks


def test_lists_of_channels_are_merged_by_id():
    """EnsembleRetriever tells documents by their text: the same text of two sources is lost once."""
    merged = by_channels([Hit(chunk("A"), 0.5), Hit(chunk("B"), 0.4)], [Hit(chunk("A"), 2.0), Hit(chunk("C"), 1.0)])
    assert {one.chunk.id: one.channels for one in merged} == {
        "A": ("vector", "keyword"),
        "B": ("vector",),
        "C": ("keyword",),
    }
    assert len(by_channels([Hit(chunk("A1", "same"), 0.5)], [Hit(chunk("B1", "same"), 0.5)])) == 2


def test_an_id_with_two_texts_is_two_chunks_of_two_documents():
    """Two retrievers over two collections, each with a chunk of the same id."""
    found = by_channels([Hit(chunk("A"), 0.5)], [Hit(chunk("A", "Another text."), 2.0), Hit(chunk("B"), 1.0)])
    texts = {one.chunk.document_id: one.chunk.text for one in found if one.chunk.id == "A"}
    assert (sorted(texts), sorted(texts.values())) == (["A", "A (2)"], ["Another text.", "Text of A."])
    assert {one.chunk.lookup_id for one in found if one.chunk.document_id == "A (2)"} == {"A"}


# Chunks beside better ones


def placed(place: str, similarity: float, id_: str = "", **more: Any) -> ScoredChunk:
    document, _, index = place.partition("#")
    return ScoredChunk(Chunk(id_ or place, document, place, int(index) if index else None, **more), similarity, 0.0)


@pytest.mark.parametrize(
    ("some", "share", "expected"),
    [
        ([placed("a#1", 1.0), placed("a#2", 0.2), placed("a#3", 0.6), placed("b#2", 0.1)], 0.5, {"a#2": 0.6}),
        ([placed("a#1", 1.0), placed("a#2", 0.2), placed("a#3", 0.6), placed("b#2", 0.1)], 0.25, {"a#2": 0.4}),
        ([placed("a#1", 1.0), placed("a#2", 1.0), placed("a#4", 0.2)], 0.5, {}),
        ([placed("x", 1.0), placed("y", 0.2, prev_id="x"), placed("z", 0.2)], 0.5, {"y": 0.6}),  # they need no index
        # Of two chunks with one index neither is beside a third, as where each page was split on its own.
        ([placed("a#1", 1.0), placed("a#1", 0.9, "twin"), placed("a#2", 0.2)], 0.5, {}),
    ],
    ids=range(5),
)
def test_a_chunk_is_raised_toward_the_better_one_beside_it(some: Any, share: float, expected: dict[str, float]):
    found = fused(some, adjacency=share)
    before = {one.chunk.id: one.similarity for one in some}
    assert scores(found) == {id_: expected.get(id_, score) for id_, score in before.items()}
    assert {one.chunk.id for one in found if one.raised_by} == {*expected}


@pytest.mark.parametrize("config", [RetrievalConfig(strategy="vector", adjacency=0.9), RetrievalConfig.published()])
def test_a_single_channel_and_the_published_settings_raise_none(config: RetrievalConfig):
    index: Any = Found([placed("a#0", 1.0), placed("a#1", 0.5), placed("a#2", 0.6)])
    assert ids(retrieve("the", config, index=index, embed=lambda _: [1.0]).chunks) == ["a#0", "a#2", "a#1"]
