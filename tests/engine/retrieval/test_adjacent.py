"""Chunks beside better ones: `adjacency`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pieces import ids

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.retrieval import RetrievedChunk, ScoredChunk
from ctxassembly.retrieval.fusion import fuse, lift_neighbors, rank_channels


def found(place: str, score: float, **more: object) -> RetrievedChunk:
    document, _, index = place.partition("#")
    chunk = Chunk(place, document, place, int(index) if index else None)
    return RetrievedChunk(replace(chunk, **more), score, ("vector",), fused_score=score)


def scores(some: list[RetrievedChunk], share: float = 0.5) -> dict[str, float]:
    return {one.chunk.id: one.score for one in lift_neighbors(some, share)}


def test_a_chunk_is_raised_towards_the_better_one_beside_it():
    some = [found("a#1", 1.0), found("a#2", 0.2), found("a#3", 0.6), found("a#5", 0.0), found("b#2", 0.1)]
    assert scores(some) == {"a#1": 1.0, "a#2": pytest.approx(0.6), "a#3": 0.6, "a#5": 0.0, "b#2": 0.1}
    assert scores(some, 0.25)["a#2"] == pytest.approx(0.4)
    assert scores(some, 1.0)["a#2"] == 1.0


def test_it_says_by_which():
    best, other, alone = lift_neighbors([found("a#1", 1.0), found("a#0", 0.2), found("b#0", 0.1)], 0.5)
    assert (other.raised_by, other.fused_score) == ("a#1", pytest.approx(0.6))
    assert (best.raised_by, alone.raised_by) == (None, None)


def test_no_score_falls_and_equals_stay():
    some = [found("a#1", 0.5), found("a#2", 0.5), found("a#3", -0.2)]
    assert scores(some) == {"a#1": 0.5, "a#2": 0.5, "a#3": pytest.approx(0.15)}


def test_chunks_that_name_each_other_need_no_index():
    assert scores([found("x", 1.0), found("y", 0.0, prev_id="x"), found("z", 0.0)]) == {"x": 1.0, "y": 0.5, "z": 0.0}


def test_of_two_chunks_with_one_index_neither_is_beside_a_third():
    """As where each page of a document was split on its own."""
    some = [found("a#1", 1.0), found("a#1", 0.9, id="twin"), found("a#2", 0.0)]
    assert scores(some) == {"a#1": 1.0, "twin": 0.9, "a#2": 0.0}


def test_only_fused_channels_are_raised_and_0_raises_none():
    some = [
        ScoredChunk(Chunk(f"a#{at}", "a", "x", at), similarity, 0.0) for at, similarity in enumerate((1.0, 0.5, 0.6))
    ]
    ranked = rank_channels(some, 9, None)
    best = {name: ids(fuse(some, ranked, config)) for name, config in {
        "hybrid": RetrievalConfig(adjacency=0.9), "off": RetrievalConfig(adjacency=0.0),
        "vector": RetrievalConfig(strategy="vector", adjacency=0.9), "published": RetrievalConfig.published(),
    }.items()}  # fmt: skip
    assert best.pop("hybrid") == ["a#0", "a#1", "a#2"]
    assert list(best.values()) == [["a#0", "a#2", "a#1"]] * 3


def test_the_rest_of_an_answer_comes_before_a_stranger():
    """The section goes on without the question's words, and its vector is a little further off than another's."""
    texts = {"iron": ("Ferritin tells of iron.", "It is taken in the morning."), "bone": ("A bone scan.", "Its cost.")}
    chunks = [Chunk(f"{name}#{at}", name, text, at) for name, two in texts.items() for at, text in enumerate(two)]
    vectors = [[1.0, 0.0], [0.6, 0.8], [0.7, 0.714], [0.0, 1.0]]

    def best(**settings: float) -> list[str]:
        config = RetrievalConfig(limit=2, **settings)
        retrieved = retrieve("ferritin", config, index=MemoryIndex(chunks, vectors), embed=lambda _: [1.0, 0.0])
        return [one.chunk.id for one in retrieved.chunks]

    assert best(adjacency=0.0) == ["iron#0", "bone#0"]
    assert best() == ["iron#0", "iron#1"]
