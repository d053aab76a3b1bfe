"""Hits that a search for words found: their order has the words of the chunks, which then weigh less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryIndex, MemoryStore, RetrievalConfig, assemble, retrieve
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.weights import FUSED_WEIGHTS, WEIGHTS, Weights

QUERY = "Which deposit does a tenant pay?"
TEXTS = [
    "The sum is two months of rent. The tenant pays it in parts. It is kept apart.",
    "A deposit is a deposit. The tenant who pays a deposit pays a deposit. Deposit, tenant, pay.",
    "Cats sleep. Dogs bark. Birds sing.",
]
CHUNKS = [Chunk(f"c{number}", f"d{number}", f"{TEXTS[number % 3]} {number}.") for number in range(11)]


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> list[Weights]:
    """The weights by which sentences are valued, time after time."""
    seen: list[Weights] = []

    def spy(
        lines: Any,
        query: str,
        weights: Weights = WEIGHTS,
        *others: Any,
        **more: Any,
    ) -> Any:
        seen.append(weights)
        return score_sentences(lines, query, weights, *others, **more)

    monkeypatch.setattr("ctxassembly.assembly.scoring.features.score_sentences", spy)
    return seen


@pytest.mark.parametrize(
    ("strategy", "most", "weights"),
    [
        ("hybrid", 20, FUSED_WEIGHTS),
        ("hybrid", 5, FUSED_WEIGHTS),
        ("keyword", 20, FUSED_WEIGHTS),
        ("vector", 20, WEIGHTS),
        (None, 20, WEIGHTS),
    ],
)
def test_the_weights_are_those_of_how_hits_were_found(
    strategy: Any, most: int, weights: Weights, weighed: list[Weights]
):
    index = MemoryIndex(CHUNKS, [[1.0, number / 9] for number in range(len(CHUNKS))])
    hits: Any = [Hit(chunk) for chunk in CHUNKS]
    if strategy is not None:
        config = RetrievalConfig(strategy=strategy, limit=most)
        hits = retrieve(QUERY, config, index=index, embed=lambda _: [1.0, 0.0]).hits
    assemble(hits, AssemblyConfig(max_tokens=25), query=QUERY)
    assert weighed == [weights]


def test_a_minimum_relevance_changes_no_weights(weighed: list[Weights]):
    hits = [Hit(replace(chunk, metadata={"keyword_rank": rank})) for rank, chunk in enumerate(CHUNKS)]
    assemble(hits, AssemblyConfig(max_tokens=25, min_relevance=0.5), query=QUERY)
    assemble(hits, AssemblyConfig(max_tokens=25), query=QUERY)
    assert weighed == [FUSED_WEIGHTS, FUSED_WEIGHTS]


def test_what_a_scorer_is_asked_about_is_weighed_alike(weighed: list[Weights]):
    hits = [Hit(replace(chunk, metadata={"keyword_rank": rank})) for rank, chunk in enumerate(CHUNKS)]

    def scorer(query: str, sentences: list[str]) -> list[float]:
        return [float("tenant" in each) for each in sentences]

    assemble(hits, AssemblyConfig(max_tokens=25), query=QUERY, scorer=scorer)
    assemble(hits, AssemblyConfig(max_tokens=25, min_relevance=0.5), query=QUERY, scorer=scorer)
    assert weighed == [FUSED_WEIGHTS] * 4


def test_what_may_stand_beyond_the_window_is_weighed_alike(weighed: list[Weights]):
    hits = [Hit(Chunk(c.id, "d", c.text, 9 * n, metadata={"keyword_rank": n})) for n, c in enumerate(CHUNKS)]
    beside = [Chunk(f"n{n}", "d", f"Nothing is said here of {n}. " * 9, n) for n in range(100) if n % 9]
    store = MemoryStore([*(hit.chunk for hit in hits), *beside])
    fits = assemble(hits).token_count
    config = AssemblyConfig(max_tokens=fits + 30, window=0, candidate_window=2)
    assemble(hits, config, query=QUERY, store=store)
    assert weighed == [FUSED_WEIGHTS]


def test_a_good_place_outweighs_the_words_of_a_chunk():
    """One sentence of each answers alike. The last chunk has more of the words, the search preferred the first one."""
    first = "Rooms are let. A tenant pays a deposit of two months. Doors are shut. Cellars are dry. Stairs are swept."
    last = "A tenant pays a deposit of six weeks. A deposit is kept. A tenant is told. A deposit is given back."
    texts = [first, *(f"{TEXTS[2]} {number}." for number in range(10)), last]

    def read(**metadata: int) -> str:
        chunks = [Chunk(f"c{n}", f"d{n}", text, metadata=metadata) for n, text in enumerate(texts)]
        return assemble(list(map(Hit, chunks)), AssemblyConfig(max_tokens=18, format="minimal"), query=QUERY).text

    assert read() == read(page=1)
    assert "two months" not in read()
    assert "two months" in read(keyword_rank=0)
