"""The index in memory: all that every index must do, and what the others are compared with."""

from __future__ import annotations

import math
from typing import Any

import pytest
from index_cases import IndexCase, index_cases

from ctxassembly import (
    Chunk,
    ChunkRef,
    ConfigError,
    Hit,
    InputError,
    MemoryIndex,
    MemoryStore,
)
from ctxassembly.retrieval import FindTerms, QueryVocabulary, SearchChunks, TermStats


def chunk(name: str, text: str = "", **metadata: Any) -> Chunk:
    return Chunk(name, name[0], text, int(name[1:]), metadata=metadata)


WATER = [
    chunk("A0", "Water, water and once more water.", tenant="ours"),
    chunk("A1", "Tea is made of water.", tenant="theirs"),
    chunk("A2", "Ferritin.", tenant="ours"),
]


def scores(index: MemoryIndex, query: str, condition: Any = None, limit: int = 10) -> dict[str, float]:
    words = index.find_terms(FindTerms(query, 32, 4))
    found = index.search(SearchChunks(limit, None, words, condition))
    return {one.chunk.id: one.keyword_score for one in found if one.keyword_score is not None}


@pytest.mark.parametrize("case", [*index_cases(MemoryIndex)], ids=lambda case: case.name)
def test_all_cases_of_an_index(case: IndexCase):
    case.check()


# Words


def test_a_keyword_score_is_the_rank_of_each_word_times_its_weight():
    """`ts_rank` of one word is .0608 * sum(1/j^2, j=1..tf)."""
    found = scores(MemoryIndex(WATER), "ferritin water")
    idf = QueryVocabulary(3, (TermStats("water", 2), TermStats("ferritin", 1))).weights
    once = 0.1 / (math.pi**2 / 6)
    assert found["A0"] == pytest.approx(idf["water"] * once * (1 + 1 / 4 + 1 / 9), rel=1e-5)
    assert found["A1"] == pytest.approx(idf["water"] * once, rel=1e-5)
    assert found["A2"] == pytest.approx(idf["ferritin"] * once, rel=1e-5)


@pytest.mark.parametrize("questions", ["What is iron?", ["What is iron?", "And copper?"]])
def test_title_and_questions_are_searched(questions: Any):
    index = MemoryIndex([chunk("A0", "text", title="The liver", questions=questions, author="Iron"), chunk("A1")])
    assert [*scores(index, "liver")] == [*scores(index, "iron")] == ["A0"]
    assert scores(index, "iron")["A0"] == scores(index, "liver")["A0"]  # the author isn't searched: one occurrence


def test_other_keys_are_searched_or_none():
    chunks = [chunk("A0", "text", title="liver", heading="iron", year=2024)]
    assert [*scores(MemoryIndex(chunks, title="heading", questions=None), "iron liver")] == ["A0"]
    assert not scores(MemoryIndex(chunks, title=None), "liver iron")
    assert [*scores(MemoryIndex(chunks, title="year"), "2024")] == ["A0"]


def test_a_key_may_be_a_dotted_path():
    chunks = [chunk("A0", "text", chunk_metadata={"canonical_questions": ["What is iron?"], "heading": "Liver"})]
    index = MemoryIndex(chunks, title="chunk_metadata.heading", questions="chunk_metadata.canonical_questions")
    assert [*scores(index, "iron")] == [*scores(index, "liver")] == ["A0"]


def test_words_can_be_made_by_a_stemmer():
    index = MemoryIndex([chunk("A0", "behandelt")], words=lambda text: [word[:7] for word in text.lower().split()])
    assert [*scores(index, "behandelen")] == ["A0"]


def test_a_long_text_counts_as_postgresql_counts_it():
    """At most 255 places of a word, and all beyond the 16,383rd as one."""
    many, most = (MemoryIndex([chunk("A0", "water " * times)]) for times in (20_000, 255))
    assert scores(many, "water") == scores(most, "water")
    late, once = (
        MemoryIndex([chunk("A0", "x " * before + "water " * times)]) for before, times in ((17_000, 9), (0, 1))
    )
    assert scores(late, "water") == scores(once, "water")


# Vectors


UP, RIGHT, BETWEEN = [0.0, 2.0], [1.0, 0.0], [3.0, 3.0]


def by_vector(index: MemoryIndex, vector: list[float], limit: int = 10) -> list[tuple[str, float | None]]:
    found = index.search(SearchChunks(limit, vector, None, None))
    assert all(one.keyword_score is None for one in found)
    return [(one.chunk.id, one.similarity and round(one.similarity, 3)) for one in found]


@pytest.mark.parametrize("vectors", [[UP, RIGHT, BETWEEN], {"A0": UP, "A1": RIGHT, "A2": BETWEEN}])
def test_vectors_by_place_or_by_id(vectors: Any):
    assert by_vector(MemoryIndex(WATER, vectors), [0.0, 1.0], 2) == [("A0", 1.0), ("A2", 0.707)]


def test_without_vectors_the_chunks_own_ones_are_taken():
    index = MemoryIndex([Chunk("A0", "A", "t", vector=UP), Chunk("A1", "A", "t")])
    assert by_vector(index, [1.0, 1.0]) == [("A0", 0.707)]


def test_a_vector_of_zeros_is_near_to_nothing():
    index = MemoryIndex(WATER, [[0.0, 0.0], RIGHT, UP])
    for asked, cosines in ((RIGHT, [0.0, 1.0, 0.0]), ([0.0, 0.0], [0.0, 0.0, 0.0])):
        found = index.search(SearchChunks(3, asked, None, None))
        assert [one.similarity for one in sorted(found, key=lambda one: one.chunk.id)] == cosines


@pytest.mark.parametrize(
    ("vectors", "asked", "message"),
    [
        ([UP], UP, "vectors must be one for each of 3 chunks"),
        ([UP, RIGHT, [1.0]], UP, "vectors must be sequences of equally many numbers"),
        ([UP, RIGHT, ["x", 1]], UP, "vectors must be sequences of equally many numbers"),
        ([UP, RIGHT, [math.nan, 1]], UP, "vectors must be of finite numbers"),
        ([UP, RIGHT, UP], [1.0], "the query's vector has 1 numbers, the vectors of the index have 2"),
        (None, UP, "the index has no vectors: give MemoryIndex vectors="),
    ],
)
def test_wrong_vectors_are_an_error(vectors: Any, asked: list[float], message: str):
    with pytest.raises(InputError, match=message):
        MemoryIndex(WATER, vectors).search(SearchChunks(5, asked, None, None))


@pytest.mark.parametrize("kind", [MemoryStore, MemoryIndex])
def test_what_is_no_chunk_is_an_error(kind: type[MemoryStore]):
    with pytest.raises(InputError, match=r"chunks must be a sequence of Chunk, got Hit\(.*\) at place 1"):
        kind([chunk("A0"), Hit(chunk("A1"))])  # type: ignore[list-item]


def test_an_id_twice_is_an_error():
    with pytest.raises(ConfigError, match="chunks must be chunks with an id each of its own, got 'A0'"):
        MemoryIndex([chunk("A1"), chunk("A0"), chunk("A0")])


# Filters


def test_neighbors_are_held_to_the_filter_of_under():
    index = MemoryIndex(WATER)
    every = [ChunkRef("A")]
    assert [one.id for one in index.fetch(every)] == ["A0", "A1", "A2"]
    assert [one.id for one in index.with_filter({"tenant": "ours"}).fetch(every)] == ["A0", "A2"]
    assert [
        one.id for one in index.with_filter({"tenant": "ours"}).with_filter(lambda each: each.index).fetch(every)
    ] == ["A2"]
    assert [one.id for one in index.with_filter(None).fetch(every)] == ["A0", "A1", "A2"]


def test_the_store_says_what_it_knows_of_the_filter():
    index = MemoryIndex(WATER)
    assert index.holds_filter is None
    assert index.with_filter(None).holds_filter is False
    assert index.with_filter({"tenant": "ours"}).holds_filter is True
    assert index.with_filter({"tenant": "ours"}).with_filter(None).holds_filter is True
    assert index.holds_filter is None


def test_ties_go_by_id_and_an_empty_index_finds_nothing():
    same = MemoryIndex([chunk(name, "water") for name in ("B0", "A1", "A0")], [UP, UP, UP])
    assert [*scores(same, "water", limit=2)] == ["A0", "A1"]
    assert by_vector(same, UP, 2) == [("A0", 1.0), ("A1", 1.0)]
    empty = MemoryIndex([])
    assert empty.find_terms(FindTerms("water", 32, 4)) == QueryVocabulary(0, (TermStats("water", 0),))
    assert empty.search(SearchChunks(5, UP, QueryVocabulary(0, (TermStats("water", 0),)), None)) == []


# Many chunks
