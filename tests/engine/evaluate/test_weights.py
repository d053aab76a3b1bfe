from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, SearchError
from ctxassembly.evaluate.tuning import WeightTrial, weights_flow
from ctxassembly.retrieval import Question
from ctxassembly.runtime.retrieve import SearchServices

NAMES = ("alpha", "beta", "gamma")
CHUNKS = [Chunk(f"{name}#0", name, f"{name} is here, and is well.", 0) for name in NAMES]
INDEX = MemoryIndex(CHUNKS, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
ONE = RetrievalConfig(limit=1)


def misleading(text: str) -> Any:
    """The vector of another chunk than the words name."""
    return {"alpha": (0.1, 0.9, 0.0), "beta": (0.0, 0.1, 0.9), "gamma": (0.9, 0.0, 0.1)}[text.split(maxsplit=1)[0]]


def fitting(text: str) -> Any:
    return {"alpha": (0.9, 0.1, 0.0), "beta": (0.0, 0.9, 0.1), "gamma": (0.1, 0.0, 0.9)}[text.split(maxsplit=1)[0]]


BY_WORDS = {name: [f"{name}#0"] for name in NAMES}


def has_id(expected: str, chunk: Chunk) -> bool:
    return chunk.id == expected


def weigh(labeled: Any, config: RetrievalConfig, *, embed: Any, index: Any = INDEX) -> tuple[WeightTrial, ...]:
    labels = [(Question(query), [partial(has_id, id_) for id_ in ids]) for query, ids in labeled.items()]
    services = SearchServices.from_arguments(index, embed, None, ())
    return services.drive(weights_flow(labels, config, services.capabilities(None, None), lambda: 0.0), 10)


def test_where_vectors_mislead_words_weigh_more():
    trials = weigh(BY_WORDS, replace(ONE, keyword_weight=0.1), embed=misleading)
    assert trials[0].keyword_weight >= 0.5
    recall = {one.keyword_weight: one.recall for one in trials}
    assert (recall[0.0], recall[1.0]) == (0.0, 1.0)
    assert trials[0].recall == 1.0


def test_where_words_mislead_vectors_weigh_more():
    """A chunk that has all words of each question answers none."""
    noise = Chunk("noise", "noise", "alpha beta gamma")
    index = MemoryIndex([*CHUNKS, noise], [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, -1.0, -1.0)])
    labeled = {"alpha beta gamma": ["alpha#0"], "gamma beta alpha": ["gamma#0"]}
    trials = weigh(labeled, replace(ONE, keyword_weight=0.9), index=index, embed=fitting)
    assert trials[0].keyword_weight < 0.9
    recall = {one.keyword_weight: one.recall for one in trials}
    assert (recall[0.0], recall[1.0]) == (1.0, 0.0)


def test_of_equal_recall_the_better_place_counts():
    trials = weigh(BY_WORDS, RetrievalConfig(limit=3, keyword_weight=0.1), embed=misleading)
    assert {one.recall for one in trials} == {1.0}
    assert trials[0].keyword_weight > 0.1
    assert trials[0].reciprocal_rank == max(one.reciprocal_rank for one in trials)


@pytest.mark.parametrize("weight", [0.33, 0.6])
def test_ties_stay_at_the_present_weight(weight: float):
    trials = weigh(BY_WORDS, RetrievalConfig(limit=3, keyword_weight=weight), embed=fitting)
    assert trials[0].keyword_weight == weight


def test_recall_counts_each_piece_of_evidence_and_rank_the_first():
    labeled = {"alpha": ["alpha#0", "gamma#0"], "beta": ["gamma#0", "beta#0"]}
    trials = {one.keyword_weight: one for one in weigh(labeled, ONE, embed=misleading)}
    assert (trials[1.0].recall, trials[1.0].reciprocal_rank) == (0.5, 1.0)
    assert trials[0.0].recall == pytest.approx((0 + 0.5) / 2)


def test_a_channel_that_fails_is_an_error():
    def broken(_: str) -> Any:
        raise OSError("gone")

    with pytest.raises(SearchError, match="the vector channel failed: OSError: gone"):
        weigh(BY_WORDS, ONE, embed=broken)
