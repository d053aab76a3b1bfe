from __future__ import annotations

from builders import words_of
from ctxassembly import ChunkRef, MemoryStore

A = [words_of("A", n) for n in range(5)]


def test_references_by_place_by_id_and_to_a_whole_document():
    store = MemoryStore([*A, words_of("B", 0)])
    assert store.fetch([ChunkRef("A", 2)]) == [A[2]]
    assert store.fetch([ChunkRef("A", chunk_id="A3")]) == [A[3]]
    assert sorted(chunk.id for chunk in store.fetch([ChunkRef("A")])) == [chunk.id for chunk in A]


def test_what_is_missing_is_left_out_and_nothing_comes_twice():
    store = MemoryStore(A)
    assert store.fetch([ChunkRef("A", 99), ChunkRef("Z", 0), ChunkRef("A", chunk_id="Z")]) == []
    assert store.fetch([ChunkRef("A", 2), ChunkRef("A", chunk_id="A2")]) == [A[2]]


async def test_each_call_is_one_round_trip():
    store = MemoryStore(A)
    assert store.round_trips == 0
    store.fetch([ChunkRef("A", 1), ChunkRef("A", 2)])
    assert await store.afetch([ChunkRef("A", 3)]) == [A[3]]
    assert store.round_trips == 2
    assert store.requests == [(ChunkRef("A", 1), ChunkRef("A", 2)), (ChunkRef("A", 3),)]
