"""A hit that begins inside a table: the chunk with the table's header is fetched in the round trip of the neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from builders import count, decision, numbered
from ctxassembly import AssemblyConfig, Chunk, ChunkRef, Context, Hit, MemoryStore, assemble
from ctxassembly.assembly.expansion.far_heads import MAX_CHUNKS
from ctxassembly.config.assembly import Granularity

HEAD = "| ward | hours |\n|---|---|"
QUERY = "When is ward 120 open?"
CONFIG = AssemblyConfig(max_tokens=600, format="minimal")


class Recorder(MemoryStore):
    """A store that keeps what it was asked for."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        super().__init__(chunks)
        self.asked: list[list[int | None]] = []

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        self.asked.append([ref.index for ref in refs])
        return super().fetch(refs)


def table(chunks: int = 15, **metadata: object) -> list[Chunk]:
    """A document of which a table of ten rows a chunk begins in the first one."""
    texts = ["\n".join(f"| ward {10 * at + n} | from {n} on |" for n in range(10)) for at in range(chunks)]
    texts[0] = f"{numbered('x', 99)}.\n\n{HEAD}\n{texts[0]}"
    return [Chunk(f"T{at}", "T", text, index=at, metadata=metadata) for at, text in enumerate(texts)]


def context_of(
    chunks: Sequence[Chunk], hit: int = 12, config: AssemblyConfig = CONFIG, query: str | None = QUERY
) -> Context:
    return assemble([Hit(chunks[hit], 0.8)], config, query=query, store=MemoryStore(chunks))


@pytest.mark.parametrize("query", [QUERY, None])
@pytest.mark.parametrize("granularity", ["auto", "chunk", "passage"])
def test_the_header_of_a_table_that_began_long_before_is_there_alone(granularity: Granularity, query: str | None):
    chunks = table()
    context = context_of(chunks, config=replace(CONFIG, granularity=granularity), query=query)
    assert context.text.startswith(f"{HEAD}\n[...]\n| ward 1")
    assert "| ward 120 |" in context.text
    assert "x001" not in context.text
    assert "| ward 9 |" not in context.text
    assert count(context.text) == context.token_count
    assert decision(context, "T0").outcome == "cut"
    assert context.trace.round_trips == 1
    assert {each.chunk_id for each in context.trace.decisions} <= {"T0", *(f"T{at}" for at in range(9, 15))}


@pytest.mark.parametrize(("hit", "first"), [(12, 0), (20, 20 - MAX_CHUNKS)])
def test_chunks_before_the_hit_are_asked_for_in_the_same_round_trip(hit: int, first: int):
    chunks = table(24)
    store = Recorder(chunks)
    assemble([Hit(chunks[hit])], CONFIG, query=QUERY, store=store)
    (asked,) = store.asked
    assert sorted(at for at in asked if at is not None) == [*range(first, hit), *range(hit, hit + 4)]


def test_a_table_that_began_too_long_before_has_no_header():
    context = context_of(table(30), 20)
    assert HEAD not in context.text
    assert context.text.startswith("| ward ")


@pytest.mark.parametrize("text", ["The wards are closed.", HEAD, f"{HEAD}\n| ward 1 | 8 |"])
def test_another_hit_asks_for_no_more(text: str):
    chunks = table()
    store = Recorder(chunks)
    assemble([Hit(replace(chunks[12], text=text))], CONFIG, query=QUERY, store=store)
    (asked,) = store.asked
    assert min(at for at in asked if at is not None) == 9


def test_a_table_with_other_columns_is_another_one():
    chunks = table()
    chunks[5] = replace(chunks[5], text="| a | b | c |")
    assert HEAD not in context_of(chunks).text


def test_a_header_that_may_not_be_read_is_not():
    chunks = [replace(chunk, metadata={"tenant": "a"}) for chunk in table()]
    assert HEAD in context_of(chunks).text
    chunks[0] = replace(chunks[0], metadata={"tenant": "b"})
    assert HEAD not in context_of(chunks).text


def test_a_chunk_between_that_may_not_be_read_ends_the_search():
    chunks = [replace(chunk, metadata={"tenant": "a"}) for chunk in table()]
    chunks[4] = replace(chunks[4], metadata={"tenant": "b"})
    assert HEAD not in context_of(chunks).text
