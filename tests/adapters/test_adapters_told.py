"""Neighbors pass the filter that was told, and agree with their hit where none was."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, FilterNotSeenWarning, MemoryStore
from ctxassembly.errors import ConfigError

TENANTS = ("ours", "ours", "theirs", "ours", "ours")
CHUNKS = [Chunk(f"A#{n}", "A", f"Rule {n} is here.", n, metadata={"tenant": who}) for n, who in enumerate(TENANTS)]
STORE = MemoryStore(CHUNKS)
WIDE = AssemblyConfig(window=3)


def of_tenant(door: Door, name: str) -> Any:
    if door.is_langchain:
        return lambda found: found.metadata["tenant"] == name
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=name)])


def indexes(door: Door, **settings: Any) -> list[int]:
    read = door.read([CHUNKS[1]], **{"store": STORE, "config": WIDE, **settings})
    return [chunk.index or 0 for chunk in CHUNKS if chunk.text in read.text]


@pytest.mark.parametrize("neighbors", [None, "filtered", "unfiltered"])
def test_a_told_filter_holds_whatever_neighbors_says(door: Door, neighbors: Any) -> None:
    own = {} if neighbors is None else {"neighbors": neighbors}
    assert indexes(door, filter=of_tenant(door, "ours"), **own) == [0, 1, 3, 4]


def test_whoever_needs_no_filter_says_so_in_one_word(door: Door) -> None:
    for own in ({"neighbors": "unfiltered"}, {"config": AssemblyConfig(window=3, neighbors="unfiltered")}):
        assert indexes(door, **own) == [0, 1, 2, 3, 4]
    with pytest.raises(ConfigError, match="neighbors must be"):
        door.make(neighbors="some")


def test_filtered_refuses_to_run_without_a_filter(door: Door) -> None:
    with pytest.raises(ConfigError, match="needs the filter of the search"):
        indexes(door, neighbors="filtered")


def test_where_nothing_was_told_a_neighbor_agrees_with_its_hit_and_one_warning_says_so(door: Door) -> None:
    made = door.make(store=STORE, config=WIDE)
    with pytest.warns(FilterNotSeenWarning, match=r"'tenant'.*filter=.*neighbors='unfiltered'") as seen:
        reads = [door.read_by(made, [door.hit(CHUNKS[1])]) for _ in "ab"]
    assert len(seen) == 1
    for read in reads:
        assert CHUNKS[0].text in read.text
        assert CHUNKS[2].text not in read.text


def test_nobody_is_warned_where_no_neighbor_was_kept_out(door: Door) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        door.read([CHUNKS[0]], store=MemoryStore(CHUNKS[:2]))
        door.read([CHUNKS[1]])
        door.read([CHUNKS[1]], store=STORE, config=AssemblyConfig(window=0))
