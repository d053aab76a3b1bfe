"""Which neighbors may be read where nobody knows how the caller filters; keys are in test_varying.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from builders import hits_of, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, MetadataKeys, aassemble, assemble
from ctxassembly.errors import ConfigError, InputError, StoreError

CONFIG = AssemblyConfig(window=2)


def document(metadata: Mapping[int, Mapping[str, Any]], default: Mapping[str, Any], chunks: int = 5) -> list[Chunk]:
    return [words_of("A", n, metadata=metadata.get(n, default)) for n in range(chunks)]


def read(chunks: list[Chunk], *hits: int, config: AssemblyConfig = CONFIG, **more: Any) -> Context:
    return assemble(hits_of([chunks[n] for n in hits]), config, store=MemoryStore(chunks), **more)


SECRET = document({n: {"acl": "secret", "page": n} for n in (1, 3)}, {"acl": "open", "page": 2})


def test_a_neighbor_agrees_with_its_hit_on_every_key_that_does_not_vary_within_a_document():
    context = read(SECRET, 2, config=AssemblyConfig(window=2, cite="document"))
    assert standing(context) == ["A0", "A2", "A4"]
    assert context.text.count("[...]") == 2
    assert "store: 2 left out, not their hit's by their metadata: 'acl'" in context.trace.notes
    assert context.trace.unscoped == ("acl",)


def test_nothing_of_what_was_left_out_is_told():
    context = read(document({1: {"tenant": "b", "author": "Mallory"}}, {"tenant": "a"}), 2)
    assert "A1" not in repr(context)
    assert "Mallory" not in repr(context)
    assert context.trace.unscoped == ("author", "tenant")


@pytest.mark.parametrize(
    ("hit", "neighbor", "agree"),
    [
        ({"a": None}, {}, True),
        ({"acl": ["x", "y"]}, {"acl": ("y", "x", "x")}, True),
        ({"acl": ["x", "y"]}, {"acl": ["x"]}, False),
        ({"acl": [["x"], {"y": 1}]}, {"acl": [{"y": 1}, ["x"]]}, True),
        ({"m": {"tenant": "a", "page": 1}}, {"m": {"tenant": "a", "page": 2}}, True),
        ({"m": {"tenant": "a"}}, {"m": {"tenant": "b"}}, False),
        ({}, {"tenant": "a"}, False),
        ({"tenant": "a"}, {"tenant": ""}, False),
        ({"index": 1}, {"index": 2}, True),
        ({"index": "tenant-a"}, {"index": "tenant-b"}, False),
        ({7: "a"}, {7: "b"}, False),
    ],
)
def test_agreement(hit: dict[Any, Any], neighbor: dict[Any, Any], agree: bool):
    context = read(document({1: neighbor}, hit, chunks=2), 0)
    assert standing(context) == (["A0", "A1"] if agree else ["A0"])


def test_a_neighbor_is_compared_with_its_hit_and_not_with_the_chunk_between():
    assert standing(read(SECRET, 0)) == ["A0", "A2"]
    mixed = document({1: {"acl": "b"}, 5: {"acl": "b"}}, {"acl": "a"}, chunks=6)  # nor with a hit elsewhere
    assert standing(read(mixed, 0, 5, config=AssemblyConfig(window=1))) == ["A0", "A5"]
    linked = split("A", "".join(f"part {n} of the text. " for n in range(10, 60)), size=200, indexed=False, links="pn")
    linked = [
        Chunk(c.id, "A", c.text, prev_id=c.prev_id, next_id=c.next_id, metadata={"acl": n % 2})
        for n, c in enumerate(linked)
    ]
    context = assemble(hits_of(linked[:1]), CONFIG, store=MemoryStore(linked))
    assert standing(context) == ["A0", "A2"]
    assert linked[1].text not in context.text


def test_the_documents_own_id_may_be_missing_on_one_side():
    assert standing(read(document({1: {"document_id": "A"}}, {}, chunks=2), 0)) == ["A0", "A1"]
    assert standing(read(document({1: {"document_id": "B"}}, {}, chunks=2), 0)) == ["A0"]
    config = AssemblyConfig(window=2, keys=MetadataKeys(document_id="dossier"))
    assert standing(read(document({1: {"dossier": "A"}}, {}, chunks=2), 0, config=config)) == ["A0", "A1"]


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("updated_at", "2024-01-01", "2025-01-01"),
        ("version", 1, 2),
        ("file_hash", "5f0c", "93ab"),
        ("content_hash", "5f0c", "93ab"),
    ],
)
def test_the_text_of_last_year_is_no_neighbor_of_this_years(key: str, one: Any, other: Any):
    chunks = document({1: {key: one}}, {key: other}, chunks=3)
    assert standing(read(chunks, 0)) == ["A0", "A2"]
    assert read(chunks, 0).trace.unscoped == (key,)


def test_hits_of_two_tenants_bring_neighbors_of_their_own():
    mine = document({}, {"tenant": "a"})
    theirs = [Chunk(f"B{n}", "A", f"theirs {n}", index=n, metadata={"tenant": "b"}) for n in range(5)]
    context = assemble(hits_of([mine[0], theirs[4]]), AssemblyConfig(window=1), store=MemoryStore(mine + theirs))
    assert set(standing(context)) == {"A0", "B4"}  # which of the two documents goes on where is unknown
    assert "two texts have index" in context.trace.notes[0]


def test_what_may_not_be_read_leaves_a_gap_where_offsets_alone_tell_the_order():
    text = "".join(f"sentence {n:03}. " for n in range(60))
    chunks = [
        Chunk(c.id, "A", c.text, start=c.start, metadata={"acl": n % 2})
        for n, c in enumerate(split("A", text, size=140, indexed=False))
    ]
    context = assemble(hits_of(chunks[:1]), CONFIG, store=MemoryStore(chunks))
    assert standing(context) == ["A0", "A2"]
    assert chunks[1].text.strip() not in context.text
    assert len(context.passages) == 2


class Told(MemoryStore):
    """A store that says how the search of its hits filters."""

    def __init__(self, chunks: Sequence[Chunk], holds_filter: bool | None) -> None:
        super().__init__(chunks)
        self.holds_filter = holds_filter


@pytest.mark.parametrize("holds_filter", [True, False])
def test_a_store_whose_filter_is_known_needs_no_agreement(holds_filter: bool):
    context = assemble(hits_of([SECRET[2]]), CONFIG, store=Told(SECRET, holds_filter))
    assert standing(context) == [f"A{n}" for n in range(5)]
    assert context.trace.unscoped is None


def test_unfiltered_needs_no_agreement():
    context = read(SECRET, 2, config=AssemblyConfig(window=2, neighbors="unfiltered"))
    assert standing(context) == [f"A{n}" for n in range(5)]
    assert context.trace.unscoped is None


@pytest.mark.parametrize("holds_filter", [False, None])
def test_filtered_refuses_a_store_that_does_not_hold_the_filter(holds_filter: bool | None):
    config = AssemblyConfig(neighbors="filtered")
    message = "neighbors='filtered' needs the filter of the search: pass filter=, or a store with that filter"
    with pytest.raises(ConfigError, match=message):
        assemble(hits_of(SECRET), config, store=Told(SECRET, holds_filter))


def masked(chunks: Any) -> list[Chunk]:
    return [Chunk(c.id, c.document_id, c.text.replace("A", "<name>"), index=c.index) for c in chunks if c.index != 3]


async def amasked(chunks: Any) -> list[Chunk]:
    return masked(chunks)


async def test_a_hook_over_fetched_chunks_masks_and_drops_them():
    chunks = document({}, {})
    context = read(chunks, 2, transform_fetched=masked)
    assert standing(context) == ["A0", "A1", "A2", "A4"]
    assert context.text.count("A ") == chunks[2].text.count("A ")
    for hook in (masked, amasked):
        awaited = await aassemble(hits_of([chunks[2]]), CONFIG, store=MemoryStore(chunks), transform_fetched=hook)
        assert awaited.text == context.text


async def test_a_hook_that_fails_lets_no_neighbor_through():
    def broken(chunks: Any) -> Any:
        raise RuntimeError("model gone")

    context = read(document({}, {}), 2, transform_fetched=broken)
    assert standing(context) == ["A2"]
    assert "store: no neighbors (RuntimeError: model gone), the hits are kept without them" in context.trace.notes
    with pytest.raises(StoreError, match="model gone"):
        read(document({}, {}), 2, transform_fetched=broken, config=AssemblyConfig(on_store_error="raise"))
    with pytest.raises(InputError, match="transform_fetched must be a function from chunks to chunks, got int"):
        read(document({}, {}), 2, transform_fetched=7)
    with pytest.raises(InputError, match="transform_fetched can only be awaited"):
        read(document({}, {}), 2, transform_fetched=amasked)
    with pytest.raises(InputError, match="transform_fetched must be a function"):
        await aassemble(hits_of(SECRET), store=MemoryStore(SECRET), transform_fetched="mask")
