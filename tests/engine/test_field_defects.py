"""Defects that others ship, each on an input that shows it: the output here is right.

Each docstring says where the defect is and what it does, found in haystack-ai 3.4.0, langchain-community 0.4.2,
llama-index-core 0.14.25, trimwise 0.7.0, astromesh-context 0.1.0, and Onyx and RAGFlow of August 2026.
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, hits_of, numbered, split, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble


def test_a_hit_that_is_another_ones_neighbor_keeps_its_score():
    """LlamaIndex PrevNextNodePostprocessor: overwrites hit scores with None where windows overlap."""
    chunks = [words_of("A", n) for n in range(6)]
    context = assemble(hits_of([chunks[2], chunks[3]], 0.9, 0.8), store=MemoryStore(chunks))
    assert {each.chunk_id: each.score for each in context.trace.decisions} == {
        "A1": 0.45,
        "A2": 0.9,
        "A3": 0.8,
        "A4": 0.4,
    }
    assert context.citations[0].score == 0.9


@pytest.mark.parametrize(
    ("by", "options", "reads"),
    [("index", {}, 1), ("links: one per step for all hits together", {"indexed": False, "links": "pn"}, 3)],
)
def test_neighbors_of_all_hits_are_read_together(by: str, options: dict[str, Any], reads: int):
    """LlamaIndex PrevNextNodePostprocessor: one store read per node per hop, 54 for these ten hits."""
    chunks = split("A", numbered("w", 320), size=25, offsets=False, **options)
    assert len(chunks) == 64
    store = MemoryStore(chunks)
    context = assemble(hits_of(chunks[::7]), AssemblyConfig(window=3), store=store)
    assert store.round_trips == context.trace.round_trips == reads
    assert context.trace.chunks == 10 + 54


@pytest.mark.parametrize("granularity", ["passage", "chunk"])
def test_a_higher_ranked_late_chunk_outlives_a_lower_ranked_early_one(granularity: Any):
    """Onyx, old merge: re-cuts by characters from the end: a top-ranked late chunk vanished, an early one stayed."""
    early, late = words_of("A", 0), words_of("A", 9)
    config = AssemblyConfig(
        max_tokens=len(late.text) + 7, encoding=len, format="minimal", granularity=granularity, window=0
    )
    assert assemble(hits_of([late, early], 0.9, 0.1), config).text == late.text


@pytest.mark.parametrize(
    ("rule", "granularity", "stands"),
    [
        ("its passage likewise", "passage", {"A": (0, 700)}),
        ("three hits and the six chunks next to them: 901", "chunk", dict.fromkeys("ABC", (200, 500))),
    ],
)
def test_the_budget_holds_after_expansion_and_merge(rule: str, granularity: Any, stands: dict[str, tuple[int, int]]):
    """Onyx, now: no token check after expansion and merge (onyx#14605: required 1,249,513, available 222,428)."""
    whole = {name: numbered(name, 140) for name in "ABC"}
    chunks = [chunk for name, text in whole.items() for chunk in split(name, text, size=100)]
    config = AssemblyConfig(max_tokens=1_000, encoding=len, format="minimal", granularity=granularity, window=3)
    context = assemble(hits_of(chunks[3::7]), config, store=MemoryStore(chunks))
    assert context.trace.chunks == 21
    assert context.text == "\n\n".join(whole[name][begin:end].strip() for name, (begin, end) in stands.items())
    assert context.token_count == len(context.text)


@pytest.mark.parametrize(
    ("where", "limit", "form"),
    [
        ("RAGFlow kb_prompt: budget 1,000 rendered 1,456 tokens", 1_000, "source"),
        ("RAGFlow kb_prompt: 500 rendered 825", 500, "source"),
        ("astromesh: budget 1,000 rendered 1,079", 1_000, "numbered"),
        ("context-forge: budget 1,000 rendered 1,058", 1_000, "xml"),
    ],
)
def test_what_is_written_around_the_text_is_in_the_budget(where: str, limit: int, form: Any):
    about = {"source": "annual-report-of-the-hospital-2024.pdf", "section": "Visitors and parking", "page": 12}
    chunks = [Chunk(f"{n}", f"{n}", f"Fact {n}: {numbered('w', 4)}", metadata=about) for n in range(100)]
    context, more = (
        assemble(hits_of(chunks), AssemblyConfig(max_tokens=most, format=form, granularity="chunk"))
        for most in (limit, 2 * limit)
    )
    assert context.token_count == count(context.text) <= limit
    stand = len(context.blocks)
    assert count(f"{context.text}\n\n{more.blocks[stand].text}") > limit
    # Who counts the texts alone takes more than these.
    assert sum(count(chunk.text) for chunk in chunks[:stand]) < limit * 3 // 4


def two_long_sources() -> tuple[dict[str, str], Context]:
    whole = {name: numbered(name, 400) for name in "ab"}
    chunks = [chunk for name, text in whole.items() for chunk in split(name, text, size=500, overlap=100)]
    return whole, assemble(hits_of(chunks))


def test_a_source_is_not_split_again():
    """LlamaIndex CitationQueryEngine: re-splits, at 512 tokens."""
    whole, context = two_long_sources()
    assert min(count(text) for text in whole.values()) > 512
    assert [passage.document_id for passage in context.passages] == ["a", "b"]
