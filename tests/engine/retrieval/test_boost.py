from __future__ import annotations

from time import time
from typing import Any

import pytest
from pieces import chunk, found, ids

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.data.retrieval import RetrievedChunk
from ctxassembly.retrieval import Boost, Node, Question, Taxonomy
from ctxassembly.retrieval.fusion import apply_affinity, apply_boosts, category_in_metadata
from ctxassembly.text.dates import parse_date

CATEGORY = Boost("category", 1.2, {"category": "practical"})
TYPE = Boost("type", 1.1, {"entity.type": "department"})


def test_28_candidates_are_raised_by_20_and_10_percent_and_sorted_anew():
    before = [
        found(f"C{at:02}", 1 - at / 100, category="practical" if at % 3 == 0 else "general", entity={"type": kind})
        for at, kind in enumerate(["department", "doctor"] * 14)
    ]
    after = apply_boosts(before, (CATEGORY, TYPE))
    expected = {
        one.chunk.id: one.score * (1.2 if at % 3 == 0 else 1) * (1.1 if at % 2 == 0 else 1)
        for at, one in enumerate(before)
    }
    assert len(after) == 28
    assert {one.chunk.id: one.score for one in after} == pytest.approx(expected)
    assert ids(after) == sorted(expected, key=lambda id_: (-expected[id_], id_))
    assert ids(after)[:3] == ["C00", "C06", "C03"]
    assert after[0].factors == (("category", 1.2), ("type", 1.1))
    assert after[0].score == pytest.approx(1.32)
    assert ids(before) == [f"C{at:02}" for at in range(28)]


@pytest.mark.parametrize(
    ("where", "raised"),
    [
        ({"category": "practical"}, ["A", "C"]),
        ({"category": ["practical", "general"]}, ["A", "B", "C"]),
        ({"keywords": "mri"}, ["B"]),
        ({"keywords": ("ct", "mri")}, ["B"]),
        ({"category": "practical", "year": 2026}, ["A"]),
        ({"year": {"$gte": 2026}}, ["A", "B"]),
        ({"document_id": ["B", "X"]}, ["B"]),
        ({"id": "C"}, ["C"]),
        ({"nowhere": "practical"}, []),
        ({"nowhere": None}, []),
    ],
)
def test_a_boost_is_for_chunks_with_certain_metadata(where: dict[str, Any], raised: list[str]):
    before = [
        found("A", 0.5, category="practical", year=2026),
        found("B", 0.5, category="general", year=2027, keywords=["mri", "scan"]),
        found("C", 0.5, category="practical", year=2020),
    ]
    after = apply_boosts(before, (Boost("b", 2.0, where),))
    assert sorted(one.chunk.id for one in after if one.score == 1.0) == raised
    assert sorted(one.chunk.id for one in after if one.factors) == raised


def test_boosts_bring_nothing_in_and_drop_nothing():
    before = [found("A", 0.5), found("B", 0.4)]
    assert apply_boosts(before, ()) == before
    assert ids(apply_boosts(before, (CATEGORY,))) == ["A", "B"]


# What fires by itself

CARDIOLOGY = Node("card", "department", "Cardiology", ("heart clinic",))
BARBARA = Node("sb", "campus", "Sint-Barbara")
TAXONOMY = Taxonomy([CARDIOLOGY, BARBARA])
MARKED = [
    ("a", {}),
    ("b", {"campus": "Sint-Barbara"}),
    ("c", {"campus": ["Sint-Jan", "sb"]}),
    ("d", {"department": "heart clinic"}),
    ("e", {"entity_type": "campus"}),
    ("f", {"category": "practical"}),
    ("g", {"campus": "Sint-Jan", "entity_type": "doctor", "category": "clinical"}),
]


@pytest.mark.parametrize(
    ("query", "intent", "expected"),
    [
        ("parking at Sint-Barbara", None, {"b": ("campus", 1.2), "c": ("campus", 1.2), "e": ("entity_type", 1.1)}),
        ("parking of cardiology", None, {"d": ("department", 1.2)}),
        ("parking", "practical", {"f": ("category", 1.2)}),
        ("parking", None, {}),
    ],
)
def test_boosts_fire_by_themselves_from_what_was_understood_and_resolved(query: str, intent: Any, expected: Any):
    """Published: category 1.2 and type of entity 1.1, fired by what the question was understood and resolved to be."""
    index = MemoryIndex([Chunk(name, name, "Parking is free.", metadata=metadata) for name, metadata in MARKED])
    config = RetrievalConfig(strategy="keyword")
    found = retrieve(Question(query, intent=intent), config, index=index, taxonomy=TAXONOMY)
    assert {one.chunk.id: one.factors[0] for one in found.chunks if one.factors} == expected
    assert {one.chunk.id for one in found.chunks[: len(expected)]} == {*expected}
    assert ("boost" in [step.name for step in found.trace.steps]) is bool(expected)


DAY = 86_400.0


@pytest.mark.parametrize(
    ("date", "factor"),
    [
        ("2026-01-01", 1.2),
        ("2025-01-01", 1.1),
        ("2024-01-02", 1.05),
        ("2027-01-01", 1.2),  # not yet
        ("soon", 1),
        (None, 1),
    ],
)
def test_recency_decays_by_age(date: Any, factor: float):
    """Published: a recent chunk is raised, and the older it is, the less."""
    recent = Boost("recent", 1.2, half_life_days=365)
    now = parse_date("2026-01-01") or 0.0
    (after,) = apply_boosts([found("A", 0.5, updated_at=date)], (recent,), now)
    assert after.score == pytest.approx(0.5 * factor, abs=1e-3)
    assert [name for name, _ in after.factors] == (["recent"] if factor != 1 else [])


def test_recency_may_be_for_some_chunks_alone_and_read_another_key():
    recent = Boost("news", 1.5, {"category": "news"}, half_life_days=1, date_key="page.date")
    before = [found("A", 0.5, category="news", page={"date": 0}), found("B", 0.5, page={"date": 0})]
    assert [one.score for one in apply_boosts(before, (recent,), DAY)] == [0.625, 0.5]


def test_recency_counts_from_today():
    chunks = [
        Chunk(name, name, "Opening hours.", metadata={"updated_at": date})
        for name, date in (("a", 10**9), ("b", time()))
    ]
    config = RetrievalConfig(strategy="keyword", boosts=(Boost("recent", 1.2, half_life_days=90),))
    assert [one.chunk.id for one in retrieve("opening hours", config, index=MemoryIndex(chunks)).chunks] == ["b", "a"]


# Affinity


def test_affinity_multiplies_by_category_and_tells_what_it_lowered():
    before = [found("A", 1.0, category="clinical_info"), found("B", 0.6, category="practical"), found("C", 0.5)]
    after, lowered = apply_affinity(before, {"clinical_info": 0.3, "practical": 1.2}, category_in_metadata)
    assert [(one.chunk.id, round(one.score, 2)) for one in after] == [("B", 0.72), ("C", 0.5), ("A", 0.3)]
    assert ids(lowered) == ["A"]
    assert after[2].factors == (("affinity:clinical_info", 0.3),)
    assert after[1].factors == ()


def test_the_category_may_come_from_a_function():
    def category_of(one: Chunk) -> str | None:
        return "practical" if "opening hours" in one.text else None

    before = [found("A", 1.0), RetrievedChunk(chunk("B", "the opening hours"), 0.9, ("vector",))]
    after, _ = apply_affinity(before, {"practical": 2.0}, category_of)
    assert ids(after) == ["B", "A"]


def test_a_category_that_is_no_text_is_none():
    assert category_in_metadata(chunk("A", category=3)) is None
    assert category_in_metadata(chunk("A", category="practical")) == "practical"
