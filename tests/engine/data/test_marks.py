"""Chunks whose metadata ask for something: `keep_whole` and `no_neighbors`."""

from __future__ import annotations

from typing import Any

import pytest

from builders import decision, hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble, presets

QUERY = "Who sits at the front desk on friday afternoon?"
ROSTER = "\n".join(f"Room {n}: person {n} from {n} to {n + 8}" for n in range(26))
TALK = [
    f"Who sits at the front desk on friday afternoon is asked often, and the front desk answers {n}." * 3
    for n in range(12)
]


def roster(rank: int = 1, **metadata: Any) -> list[Chunk]:
    """A roster of 26 lines among chunks that repeat the question's words."""
    chunks = [Chunk(f"t{n}", f"T{n}", text) for n, text in enumerate(TALK)]
    chunks.insert(rank, Chunk("roster", "R", ROSTER, metadata=metadata))
    return chunks


def stands_whole(context: Context) -> bool:
    return ROSTER in context.text and decision(context, "roster").outcome == "kept"


CONFIGS = {
    "default": AssemblyConfig(max_tokens=700),
    "by rank": AssemblyConfig(max_tokens=700, rank_by="rank"),
    "by chunks": AssemblyConfig(max_tokens=700, granularity="chunk"),
    "compressed": AssemblyConfig(max_tokens=700, compress="extractive"),
    "a cap": AssemblyConfig(max_tokens=700, min_relevance=0.5),
}


@pytest.mark.parametrize("rank", [0, 1, 11])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_chunk_that_has_to_stand_whole_does(config: AssemblyConfig, rank: int):
    scores = [0.9, *[0.4] * 12]
    context = assemble(hits_of(roster(rank, keep_whole=True), *scores), config, query=QUERY)
    assert stands_whole(context)
    assert len(context.citations) > 1
    assert context.token_count <= 700


def test_without_the_mark_it_does_not():
    context = assemble(hits_of(roster()), CONFIGS["default"], query=QUERY)
    assert "Room 25" not in context.text


@pytest.mark.parametrize(
    ("value", "whole"), [(True, True), (1, True), ("true", True), (False, False), (None, False), ("no", False)]
)
def test_what_the_mark_may_be(value: Any, whole: bool):
    context = assemble(hits_of(roster(keep_whole=value)), CONFIGS["default"], query=QUERY)
    assert stands_whole(context) is whole


def test_one_that_does_not_fit_at_all_is_shortened_as_any_other_and_a_note_says_so():
    note = "keep_whole: 'roster' does not fit whole, treated as any other"
    for query in (QUERY, "Room 7 person"):
        context = assemble(hits_of(roster(keep_whole=True)), AssemblyConfig(max_tokens=150), query=query)
        assert note in context.trace.notes
        assert context.text
        assert context.token_count <= 150
    assert note not in assemble(hits_of(roster(keep_whole=True)), CONFIGS["default"], query=QUERY).trace.notes


def test_beside_it_nothing_stands_twice():
    text = " ".join(f"Sentence number {n} says something of its own about topic {n}." for n in range(120))
    size, overlap = 800, 200
    chunks = [
        Chunk(f"c{n}", "D", text[at : at + size], index=n, metadata={"keep_whole": n == 3})
        for n, at in enumerate(range(0, len(text) - overlap, size - overlap))
    ]
    hits = hits_of([chunks[3], chunks[4], chunks[1]])
    for config in (AssemblyConfig(max_tokens=400), AssemblyConfig(max_tokens=400, granularity="chunk")):
        context = assemble(hits, config, query="What is topic 44?", store=MemoryStore(chunks))
        assert decision(context, "c3").outcome == "kept"
        said = [f"number {n} says" for n in range(120)]
        assert [context.text.count(each) for each in said if each in context.text].count(2) == 0


def test_as_a_neighbor_it_stands_whole_or_not_at_all():
    stored = [words_of("A", 0), Chunk("A1", "A", ROSTER, index=1, metadata={"keep_whole": True}), words_of("A", 2)]
    store = MemoryStore(stored)
    for most in (60, 120, 200, 300, 400, 500, 600):
        for query in (None, "Room 7 person"):
            config = AssemblyConfig(max_tokens=most, fill=True)
            context = assemble(hits_of(stored[:1]), config, query=query, store=store)
            assert decision(context, "A1").outcome in ("kept", "dropped")
            assert decision(context, "A0").outcome == "kept"
    assert ROSTER in context.text


def test_the_published_off_switch_knows_no_marks():
    context = assemble(hits_of(roster(rank=11, keep_whole=True)), AssemblyConfig(max_tokens=700, enabled=False))
    assert ROSTER not in context.text


def test_one_that_has_no_neighbors_brings_none_and_its_document_is_not_fetched():
    stored = [words_of("A", n, metadata={"no_neighbors": n == 1}) for n in range(3)]
    store = MemoryStore(stored)
    assert len(assemble(hits_of(stored[1:2]), store=store).trace.decisions) == 1
    assert store.round_trips == 0
    assert len(assemble(hits_of(stored[:1]), store=store).trace.decisions) == 2


def test_beside_others_it_is_still_a_neighbor_of_theirs_but_brings_none():
    stored = [words_of("A", n, metadata={"no_neighbors": n == 2}) for n in range(5)]
    context = assemble(hits_of([stored[2], stored[0]]), presets.FIVE_STAGE, store=MemoryStore(stored))
    assert {each.chunk_id for each in context.trace.decisions} == {"A0", "A1", "A2"}
