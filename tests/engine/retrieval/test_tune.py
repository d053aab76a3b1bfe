from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import Chunk, ConfigError, InputError, MemoryIndex, RetrievalConfig, SearchError, tune
from ctxassembly.retrieval import Question

NAMES = ("alpha", "beta", "gamma")
CHUNKS = [Chunk(f"{name}#0", name, f"{name} stands here, and stands well.", 0) for name in NAMES]
INDEX = MemoryIndex(CHUNKS, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
ONE = RetrievalConfig(limit=1)


def misleading(text: str) -> Any:
    """The vector of another chunk than the words name."""
    return {"alpha": (0.1, 0.9, 0.0), "beta": (0.0, 0.1, 0.9), "gamma": (0.9, 0.0, 0.1)}[text.split(maxsplit=1)[0]]


def fitting(text: str) -> Any:
    return {"alpha": (0.9, 0.1, 0.0), "beta": (0.0, 0.9, 0.1), "gamma": (0.1, 0.0, 0.9)}[text.split(maxsplit=1)[0]]


BY_WORDS = {name: f"{name}#0" for name in NAMES}
BY_VECTORS = {f"{name} {other}": f"{name}#0" for name, other in zip(NAMES, NAMES[1:] + NAMES[:1], strict=True)}


def test_where_vectors_mislead_words_weigh_more():
    tuned = tune(BY_WORDS, replace(ONE, keyword_weight=0.1), index=INDEX, embed=misleading)
    assert tuned.config.keyword_weight >= 0.5
    recall = {one.keyword_weight: one.recall for one in tuned.trials}
    assert (recall[0.0], recall[1.0]) == (0.0, 1.0)
    assert recall[tuned.config.keyword_weight] == 1.0


def test_where_words_mislead_vectors_weigh_more():
    """A chunk that has all words of each question answers none."""
    noise = Chunk("noise", "noise", "alpha beta gamma")
    index = MemoryIndex([*CHUNKS, noise], [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (-1.0, -1.0, -1.0)])
    labeled = {"alpha beta gamma": "alpha#0", "gamma beta alpha": "gamma#0"}
    tuned = tune(labeled, replace(ONE, keyword_weight=0.9), index=index, embed=fitting)
    assert tuned.config.keyword_weight < 0.9
    assert [one.recall for one in (tuned.trials[0], tuned.trials[-1])] == [1.0, 0.0]


def test_of_equal_recall_the_better_place_counts():
    tuned = tune(BY_WORDS, RetrievalConfig(limit=3, keyword_weight=0.1), index=INDEX, embed=misleading)
    assert {one.recall for one in tuned.trials} == {1.0}
    assert tuned.config.keyword_weight > 0.1
    best = max(one.reciprocal_rank for one in tuned.trials)
    assert best in {one.reciprocal_rank for one in tuned.trials if one.keyword_weight == tuned.config.keyword_weight}


def test_ties_stay_at_the_weight_that_there_was():
    for weight in (0.33, 0.6):
        tuned = tune(BY_WORDS, RetrievalConfig(limit=3, keyword_weight=weight), index=INDEX, embed=fitting)
        assert tuned.config == RetrievalConfig(limit=3, keyword_weight=weight)


def test_recall_counts_each_expected_chunk_and_rank_the_first():
    labeled = {Question("alpha"): ["alpha#0", "stands well."], Question("beta"): ("gamma#0", "beta#0")}
    tuned = tune(labeled, replace(ONE, keyword_weight=1.0), index=INDEX, embed=misleading)
    by_words = tuned.trials[-1]
    assert (tuned.questions, by_words.keyword_weight, by_words.recall) == (2, 1.0, 0.75)
    by_vectors = tuned.trials[0]
    assert by_vectors.recall == pytest.approx((0.5 + 0.5) / 2)  # the other text, and gamma
    assert by_words.reciprocal_rank == 1.0


def test_nothing_else_is_changed():
    config = RetrievalConfig(limit=1, candidates=3, rescue="off", fusion="rrf")
    before = repr(config)
    tuned = tune(BY_WORDS, config, index=INDEX, embed=misleading)
    assert replace(tuned.config, keyword_weight=config.keyword_weight) == config
    assert repr(config) == before
    assert tuned.config.keyword_weight > 0.5


def test_it_prints_a_table():
    lines = str(tune(BY_WORDS, replace(ONE, keyword_weight=0.1), index=INDEX, embed=misleading)).splitlines()
    assert lines[0] == "3 questions"
    assert lines[1].split() == ["keyword_weight", "recall@1", "reciprocal", "rank"]
    assert len(lines) == 2 + 21
    assert sum(line.endswith("*") for line in lines) == 1


@pytest.mark.parametrize(
    ("labeled", "message"),
    [
        ({}, "labeled_questions must map at least one question"),
        ({"alpha": []}, "labeled_questions must name the chunks of each question"),
        ({"alpha": [""]}, "labeled_questions must name the chunks of each question"),
        (["alpha"], "labeled_questions must map at least one question"),
    ],
)
def test_wrong_labels_are_an_error(labeled: Any, message: str):
    with pytest.raises(InputError, match=message):
        tune(labeled, ONE, index=INDEX, embed=fitting)


def test_without_both_channels_there_is_no_weight():
    with pytest.raises(ConfigError, match="strategy must be 'hybrid' to have a weight, got 'vector'"):
        tune(BY_WORDS, RetrievalConfig(strategy="vector"), index=INDEX, embed=fitting)

    def broken(_: str) -> Any:
        raise OSError("gone")

    with pytest.raises(SearchError, match="the vector channel failed: OSError: gone"):
        tune(BY_WORDS, ONE, index=INDEX, embed=broken)
