"""Semantic duplicates through the whole assembly: where the vectors come from, and what happens without them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from builders import decision, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, aassemble, assemble
from ctxassembly.errors import ConfigError

SEMANTIC = AssemblyConfig(dedup="semantic")
WATER = Chunk("water", "A", "You may drink water until 2 hours before.")
DRINK = Chunk("drink", "B", "Drinking is allowed up to 2 hours ahead of it.")
PARK = Chunk("park", "C", "The car park is open day and night.")
MEANING = {WATER.text: (1.0, 0.1), DRINK.text: (1.0, 0.15), PARK.text: (0.0, 1.0)}


class Embedder:
    """Knows what three texts mean; every other one means something of its own."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[tuple[float, ...]]:
        self.batches.append(texts)
        return [MEANING.get(text, (-1.0, float(len(self.batches[0])) + n)) for n, text in enumerate(texts)]


class Documents:
    def __init__(self) -> None:
        self.inner = Embedder()
        self.threads: list[threading.Thread] = []

    def embed_documents(self, texts: list[str]) -> list[tuple[float, ...]]:
        self.threads.append(threading.current_thread())
        return self.inner(texts)


class AsyncDocuments:
    async def aembed_documents(self, texts: list[str]) -> list[tuple[float, ...]]:
        await asyncio.sleep(0)
        return Embedder()(texts)


async def embed(texts: list[str]) -> list[tuple[float, ...]]:
    return await AsyncDocuments().aembed_documents(texts)


def with_vectors(*chunks: Chunk) -> list[Chunk]:
    return [replace(chunk, vector=MEANING[chunk.text]) for chunk in chunks]


def semantic(chunks: Sequence[Chunk], **options: object) -> Context:
    return assemble(hits_of(chunks), replace(SEMANTIC, **options), embeddings=Embedder())


def test_the_higher_ranked_survives_and_names_the_other():
    context = semantic([WATER, PARK, DRINK])
    assert standing(context) == ["water", "park"]
    assert decision(context, "water").replaced == ("drink",)
    dropped = decision(context, "drink")
    assert (dropped.outcome, dropped.reason, dropped.because_of) == ("duplicate", "semantic duplicate", "water")
    assert standing(semantic([DRINK, WATER])) == ["drink"]


def test_the_threshold_decides():
    assert standing(semantic([WATER, DRINK], semantic_threshold=1)) == ["water", "drink"]
    far = replace(DRINK, vector=MEANING[PARK.text])
    assert standing(semantic([WATER, far], semantic_threshold=0.1)) == ["water", "drink"]
    assert standing(semantic([WATER, far], semantic_threshold=0.05)) == ["water"]


@pytest.mark.parametrize("cosine", [0.8, 0.98, 1])
def test_three_hours_are_not_dropped_for_two_hours(cosine: float):
    """Three hours isn't dropped for two hours at a cosine of .80: numbers that differ forbid a semantic copy."""
    two = Chunk("two", "A", "You may drink water until 2 hours before.", vector=(1.0, 0.0))
    three = Chunk("three", "B", "Drinking water is fine up to 3 hours ahead.", vector=(cosine, (1 - cosine**2) ** 0.5))
    same = Chunk("same", "C", "Drinking water is fine up to 2 hours ahead.", vector=(0.8, 0.6))
    context = assemble(hits_of([two, three, same]), replace(SEMANTIC, semantic_threshold=0.8))
    assert standing(context) == ["two", "three"]
    assert decision(context, "same").because_of == "two"


def test_exact_and_near_come_first_and_each_says_so():
    near = Chunk("near", "D", "You may drink water until 2 hours before")
    embedder = Embedder()
    context = assemble(hits_of([WATER, replace(WATER, id="copy"), near, DRINK]), SEMANTIC, embeddings=embedder)
    reasons = {each.chunk_id: each.reason for each in context.trace.decisions}
    assert reasons == {"water": "hit", "copy": "duplicate", "near": "near duplicate", "drink": "semantic duplicate"}
    assert decision(context, "water").replaced == ("copy", "near", "drink")
    assert embedder.batches == [[WATER.text, DRINK.text]]


def test_only_what_has_no_vector_is_embedded_neighbors_too_in_one_batch():
    a = [words_of("A", n) for n in range(3)]
    hit = replace(a[1], vector=(0.0, -1.0))
    store = MemoryStore([*a, WATER])
    embedder = Embedder()
    context = assemble(hits_of([hit, WATER]), SEMANTIC, store=store, embeddings=embedder)
    assert embedder.batches == [[WATER.text, a[0].text, a[2].text]]
    assert context.trace.round_trips == 1


def test_adjacent_chunks_stay_however_close_they_are():
    chunks = [replace(chunk, document_id="A", index=n) for n, chunk in enumerate((WATER, DRINK))]
    assert standing(semantic(chunks)) == ["water", "drink"]
    assert standing(semantic([chunks[0], replace(chunks[1], index=2)])) == ["water"]


def test_neither_vectors_nor_embeddings_is_an_error_before_anything_is_fetched():
    store = MemoryStore([WATER])
    with pytest.raises(ConfigError) as caught:
        assemble(hits_of([WATER, DRINK]), SEMANTIC, store=store)
    assert str(caught.value) == (
        "dedup='semantic' needs embeddings or hits with vectors: pass embeddings=, or write dedup='near'"
    )
    assert store.round_trips == 0


def test_chunks_without_a_vector_are_noted():
    context = assemble(hits_of([*with_vectors(WATER), DRINK]), SEMANTIC)
    assert standing(context) == ["water", "drink"]
    assert context.trace.notes == ("embeddings: 1 of 2 chunks without a vector aren't compared by meaning",)


class Broken:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("refused")


def test_vectors_of_different_dimensions_are_noted():
    context = assemble(hits_of([replace(WATER, vector=[1.0, 0.0]), replace(DRINK, vector=[1.0, 0.0, 0.0])]), SEMANTIC)
    assert standing(context) == ["water", "drink"]
    assert context.trace.notes == ("embeddings: vectors of 2 and 3 dimensions aren't compared",)


async def test_embeddings_that_fail_leave_the_near_dedup_and_a_note():
    near = Chunk("near", "D", "You may drink water until 2 hours before")
    hits = hits_of([WATER, DRINK, near])
    for context in (
        assemble(hits, SEMANTIC, embeddings=Broken()),
        await aassemble(hits, SEMANTIC, embeddings=Broken()),
    ):
        assert standing(context) == ["water", "drink"]
        assert context.trace.notes == (
            "embeddings: no vectors (ConnectionError: refused)",
            "embeddings: 2 of 2 chunks without a vector aren't compared by meaning",
        )


async def test_every_kind_of_embeddings_gives_the_same():
    hits = hits_of([WATER, PARK, DRINK])
    expected = assemble(hits, SEMANTIC, embeddings=Embedder())
    assert assemble(hits, SEMANTIC, embeddings=Documents()) == expected
    for embeddings in (Embedder(), Documents(), AsyncDocuments(), embed):
        assert await aassemble(hits, SEMANTIC, embeddings=embeddings) == expected
