"""Two collections that both have a `handbook.pdf#0`: a chunk of one is no neighbor of a chunk of the other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest

from adapter_doors import Door
from ctxassembly import Chunk, ChunkRef, MemoryIndex, MemoryStore, NothingToJoinWarning


def handbook(whose: str) -> list[Chunk]:
    texts = [f"At {whose} rule number {at} of {whose} is kept by guard {at}." for at in range(5)]
    return [Chunk(f"handbook.pdf#{at}", "handbook.pdf", text, at) for at, text in enumerate(texts)]


NORTH, SOUTH = handbook("north"), handbook("south")


class Fetching:
    """A store of a user's own."""

    def __init__(self, held: Sequence[Chunk]) -> None:
        self.fetch = MemoryStore(held).fetch


class Awaiting:
    """The same, for awaited calls alone."""

    def __init__(self, held: Sequence[Chunk]) -> None:
        self._held = MemoryStore(held)

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        return self._held.fetch(refs)


@pytest.mark.parametrize("kind", [MemoryStore, MemoryIndex, Fetching, Awaiting])
def test_a_store_of_another_collection_gives_no_neighbors_and_one_warning_says_so(door: Door, kind: Any) -> None:
    if kind is Awaiting and not door.is_async:
        pytest.skip("it has no fetch")
    made = door.make(store=kind(NORTH), neighbors="unfiltered")
    with pytest.warns(NothingToJoinWarning, match="The store doesn't contain 1 of 1 retrieved chunk") as seen:
        reads = [door.read_by(made, [door.hit(SOUTH[2])]) for _ in "ab"]
    assert len(seen) == 1
    for read in reads:
        assert [chunk.text in read.text for chunk in (*NORTH, *SOUTH)] == [at == 7 for at in range(10)]


def test_only_the_hits_that_a_store_has_get_neighbors_and_nothing_is_joined_across(door: Door) -> None:
    with pytest.warns(NothingToJoinWarning, match="doesn't contain 1 of 2 retrieved chunks"):
        read = door.read([SOUTH[1], NORTH[2]], store=MemoryStore(NORTH), neighbors="unfiltered")
    assert [chunk.text in read.text for chunk in (*NORTH, *SOUTH)] == [at in (1, 2, 3, 6) for at in range(10)]
    passages = [part for block in read.blocks for part in block.text.split("[...]")]
    assert len(passages) == 2
    assert not any("north" in part and "south" in part for part in passages)


def test_nobody_is_warned_of_the_store_that_was_searched(door: Door) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = door.read([NORTH[2]], store=MemoryStore(NORTH), neighbors="unfiltered")
    assert [chunk.text in read.text for chunk in NORTH] == [False, True, True, True, False]


def test_two_hits_with_one_id_are_of_two_documents(door: Door) -> None:
    read = door.read([NORTH[0], SOUTH[0]])
    assert [citation["document_id"] for citation in read.citations] == ["handbook.pdf", "handbook.pdf (2)"]
    assert [citation["chunk_ids"] for citation in read.citations] == [["handbook.pdf#0"]] * 2
