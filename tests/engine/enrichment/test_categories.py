"""The category of a chunk by labeled examples, and the factors of categories by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.enrichment import classify_by_examples
from ctxassembly.retrieval import Question

EXAMPLES = {"practical": ["We are open at night.", "The open door is on the left."], "appointments": ["Drink water."]}
ROUTE = Chunk("route#0", "route", "Route 12 is open.")
WATER = Chunk("water#0", "water", "Do not drink.")


class Letters:
    """Vectors by two words, and a count of the texts embedded."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float("open" in text), float("rink" in text), 0.1] for text in texts]


def test_a_chunk_has_the_category_of_its_nearest_examples():
    """Published: content is classified by metadata, a function, or a few labeled examples."""
    embed = Letters()
    category_of = classify_by_examples(EXAMPLES, embed)
    assert (category_of(ROUTE), category_of(WATER), category_of(ROUTE)) == ("practical", "appointments", "practical")
    assert embed.texts == [*EXAMPLES["practical"], *EXAMPLES["appointments"], ROUTE.text, WATER.text]


def test_metadata_and_vectors_come_first():
    embed = Letters()
    category_of = classify_by_examples(EXAMPLES, embed.embed_documents)
    asked = len(embed.texts)
    assert category_of(Chunk("a", "a", WATER.text, metadata={"category": "legal_admin"})) == "legal_admin"
    assert category_of(Chunk("a", "a", WATER.text, vector=(1.0, 0.0, 0.0))) == "practical"
    assert category_of(Chunk("a", "a", WATER.text, vector=(0.0, 0.0, 0.0))) is None
    assert len(embed.texts) == asked


@pytest.mark.parametrize(
    ("intent", "category", "factors"),
    [
        ("practical", "legal_admin", (("affinity:legal_admin", 0.8),)),
        ("practical", "practical", (("category", 1.2),)),
        ("practical", "general", ()),
        ("general", "legal_admin", ()),
        ("regulatory", "clinical_info", (("affinity:clinical_info", 0.8),)),
        ("other", "legal_admin", ()),
    ],
)
def test_the_default_factors_lower_other_kinds_of_content(intent: Any, category: str, factors: Any):
    """The published rule: six categories of content have a default affinity matrix, under the published names."""
    index = MemoryIndex([Chunk("a", "a", "Parking.", metadata={"category": category})])
    found = retrieve(Question("parking", intent=intent), RetrievalConfig(strategy="keyword"), index=index)
    assert found.chunks[0].factors == factors


NO_FACTORS = "affinity: it changes nothing, for by default it has no factors for the intent "


@pytest.mark.parametrize(
    ("intent", "category", "settings", "note"),
    [
        ("practical", "legal_admin", {}, None),
        ("practical", "care", {}, f"{NO_FACTORS}'practical' and the categories 'care'"),
        ("visits", "practical", {}, f"{NO_FACTORS}'visits' and the categories 'practical'"),
        (None, "care", {}, None),
        ("visits", "care", {"affinity": {"where": {"care": 0.5}}}, None),
        ("visits", "care", {"affinity": {}}, None),
    ],
    ids=str,
)
def test_the_default_affinity_says_once_that_it_does_nothing_with_other_labels(
    intent: Any, category: Any, settings: Any, note: str | None
):
    """The published rule: with other labels affinity says once that it does nothing."""
    index = MemoryIndex([Chunk(name, name, "Parking.", metadata={"category": category}) for name in "abc"])
    config = RetrievalConfig(strategy="keyword", **settings)
    found = retrieve(Question("parking", intent=intent), config, index=index)
    assert list(found.trace.notes) == ([note] if note else [])
