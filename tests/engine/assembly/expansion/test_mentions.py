"""The second hop: documents that the best hits mention by title join the candidates, as far as the caller may read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryIndex, MemoryStore, MetadataKeys, aassemble, assemble
from ctxassembly.data.trace import Decision

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
FIRST = "The Lighthouse Choir of the harbor has a founder: it was made by Marta Quist in the old city."
SECOND = "She came from Aarhus, where her mother had a shop for sails, and sang there as a child until she left."
CONFIG = AssemblyConfig(max_tokens=170, neighbors="unfiltered")


def chunk(document: str, text: str, title: str | None = None, index: int = 0, **metadata: Any) -> Chunk:
    return Chunk(f"{document}#{index}", document, text, index, metadata={"title": title or document, **metadata})


CHOIR, QUIST = chunk("choir", FIRST, "Lighthouse Choir"), chunk("quist", SECOND, "Marta Quist (singer)")
QUIST_LATER = chunk("quist", "Later she went to sea, and nobody knows where.", "Marta Quist", 1)
OTHERS = [
    chunk(f"other{number}", f"{name} choirs have a founder, and where the founder was born is known in the city.")
    for number, name in enumerate(("Northern", "Southern", "Western", "Eastern", "Middle", "Upper", "Lower", "Coastal"))
]
FOUND, STORED = [CHOIR, *OTHERS], [CHOIR, *OTHERS, QUIST, QUIST_LATER]


def assembled(
    store: Any,
    found: Sequence[Chunk] = FOUND,
    config: AssemblyConfig = CONFIG,
    query: str | None = QUESTION,
    **options: Any,
) -> Context:
    return assemble([Hit(one) for one in found], config, query=query, store=store, **options)


def added(context: Context) -> list[Decision]:
    """Return the decisions on chunks of documents that were not retrieved."""
    retrieved = {one.document_id for one in FOUND}
    return [one for one in context.trace.decisions if one.document_id not in retrieved]


def test_the_first_chunk_of_a_mentioned_document_joins_in_the_round_trip_of_the_neighbors() -> None:
    context = assembled(MemoryStore(STORED))
    assert SECOND in context.text
    assert [one.chunk_id for one in added(context)] == ["quist#0"]
    assert context.trace.round_trips == 1
    assert "quist" in {one.document_id for one in context.citations}


def renamed(one: Chunk) -> Chunk:
    return replace(one, metadata={"name": one.metadata["title"]})


@pytest.mark.parametrize("make_store", [MemoryIndex, MemoryStore])
def test_the_store_reads_titles_under_the_keys_of_the_config(make_store: Callable[..., MemoryStore]) -> None:
    keys = MetadataKeys(title="name")
    config = AssemblyConfig(max_tokens=170, neighbors="unfiltered", keys=keys)
    found, store = [renamed(one) for one in FOUND], make_store([renamed(one) for one in STORED])
    context = assembled(store, found, config)
    assert SECOND in context.text
    awaited = asyncio.run(aassemble([Hit(one) for one in found], config, query=QUESTION, store=store))
    assert awaited.text == context.text
    assert not added(assembled(store, found))


TENANTS = [
    *(chunk(one.document_id, one.text, one.metadata["title"], tenant="north") for one in FOUND),
    chunk("quist", "The secret of the south.", "Marta Quist", tenant="south"),
    chunk("quist north", SECOND, "Marta Quist", tenant="north"),
]


def test_the_document_of_another_tenant_never_comes() -> None:
    store = MemoryIndex(TENANTS).with_filter({"tenant": "north"})
    context = assembled(store, TENANTS[:-2], AssemblyConfig())
    assert [one.chunk_id for one in added(context)] == ["quist north#0"]
    assert "secret" not in context.text
    only_other = MemoryIndex(TENANTS[:-1]).with_filter({"tenant": "north"})
    assert not added(assembled(only_other, TENANTS[:-2], AssemblyConfig()))


@pytest.mark.parametrize("make_store", [MemoryIndex, MemoryStore])
def test_nothing_comes_where_the_filter_of_the_search_is_unknown(make_store: Callable[..., MemoryStore]) -> None:
    store = make_store(TENANTS)
    assert not added(assembled(store, TENANTS[:-2], AssemblyConfig()))
    assert not any(ref.named_in for refs in store.requests for ref in refs)


@pytest.mark.parametrize(
    ("config", "query"),
    [
        (CONFIG, None),
        (CONFIG, " "),
        (AssemblyConfig(neighbors="unfiltered", granularity="passage"), QUESTION),
        (AssemblyConfig(neighbors="unfiltered", rank_by="rank"), QUESTION),
        (AssemblyConfig(neighbors="unfiltered", window=0), QUESTION),
        (AssemblyConfig(enabled=False), QUESTION),
    ],
)
def test_titles_are_asked_for_only_where_chunks_compete_by_the_query(config: AssemblyConfig, query: str | None) -> None:
    store = MemoryStore(STORED)
    assert not added(assembled(store, config=config, query=query))
    assert not any(ref.named_in for refs in store.requests for ref in refs)


def test_only_the_five_best_hits_mention_and_at_most_eight_documents_join() -> None:
    assert not added(assembled(MemoryStore(STORED), [*OTHERS[:5], CHOIR]))
    names = [f"Marta Quist {letter * 3}" for letter in "abcdefghijkl"]
    naming = chunk("choir", f"The Lighthouse Choir was founded by {', '.join(names)}.", "Lighthouse Choir")
    named = [chunk(name, SECOND.replace("Aarhus", name), name) for name in names]
    context = assembled(MemoryStore([naming, *OTHERS, *reversed(named)]), [naming, *OTHERS])
    assert [one.document_id for one in added(context)] == names[:8]


def test_transform_fetched_sees_what_joins() -> None:
    seen: list[str] = []

    def mask(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        seen.extend(one.id for one in chunks)
        return [one for one in chunks if one.document_id != "quist"]

    assert not added(assembled(MemoryStore(STORED), transform_fetched=mask))
    assert "quist#0" in seen
