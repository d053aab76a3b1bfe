"""Factors of scores by metadata, by what the question was resolved to, by age, and by category."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pieces import ALONE, ids, retrieved, scored

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.retrieval import Boost, Node, Question, RetrievedChunk, Taxonomy

CATEGORY = Boost("category", 1.2, {"category": "practical"})
TYPE = Boost("type", 1.1, {"entity.type": "department"})


def boosted(some: list[Any], *boosts: Boost, **settings: Any) -> tuple[RetrievedChunk, ...]:
    return retrieved(some, boosts=boosts, **{**ALONE, **settings}).chunks


def test_28_candidates_are_raised_by_20_and_10_percent_and_sorted_anew():
    """Published: category 1.2 and type of entity 1.1."""
    before = [
        scored(f"C{at:02}", 1 - at / 100, category="practical" if at % 3 == 0 else "general", entity={"type": kind})
        for at, kind in enumerate(["department", "doctor"] * 14)
    ]
    after = boosted(before, CATEGORY, TYPE)
    expected = {
        one.chunk.id: (one.similarity or 0) * (1.2 if at % 3 == 0 else 1) * (1.1 if at % 2 == 0 else 1)
        for at, one in enumerate(before)
    }
    assert {one.chunk.id: one.score for one in after} == pytest.approx(expected)
    assert ids(after) == sorted(expected, key=lambda id_: (-expected[id_], id_))
    assert ids(after)[:3] == ["C00", "C06", "C03"]
    assert after[0].factors == (("category", 1.2), ("type", 1.1))


@pytest.mark.parametrize(
    ("where", "raised"),
    [
        ({"category": "practical"}, ["A", "C"]),
        ({"keywords": ("ct", "mri")}, ["B"]),
        ({"category": "practical", "year": 2026}, ["A"]),
        ({"year": {"$gte": 2026}}, ["A", "B"]),
        ({"document_id": ["B", "X"]}, ["B"]),
        ({"id": "C"}, ["C"]),
        ({"nowhere": "practical"}, []),
    ],
)
def test_a_boost_is_for_chunks_with_certain_metadata(where: dict[str, Any], raised: list[str]):
    before = [
        scored("A", 0.5, category="practical", year=2026),
        scored("B", 0.5, category="general", year=2027, keywords=["mri", "scan"]),
        scored("C", 0.5, category="practical", year=2020),
    ]
    after = boosted(before, Boost("b", 2.0, where))
    assert sorted(one.chunk.id for one in after if one.score == 2.0) == raised
    assert sorted(one.chunk.id for one in after if one.factors) == raised
    assert len(after) == 3


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


@pytest.mark.parametrize(
    ("days", "factor"), [(0, 1.2), (365, 1.1), (730, 1.05), (-365, 1.2), ("soon", 1), (None, 1)], ids=repr
)
def test_recency_decays_by_age(days: Any, factor: float):
    """Published: a recent chunk is raised, and the older it is, the less."""
    updated = (datetime.now(timezone.utc) - timedelta(days)).isoformat() if isinstance(days, int) else days
    (after,) = boosted([scored("A", 0.5, updated_at=updated)], Boost("recent", 1.2, half_life_days=365))
    assert after.score == pytest.approx(factor, abs=2e-3)
    assert [name for name, _ in after.factors] == (["recent"] if factor != 1 else [])


# Affinity


def test_affinity_multiplies_by_category_and_tells_what_it_lowered():
    before = [scored("A", 1.0, category="clinical_info"), scored("B", 0.6, category="practical"), scored("C", 0.5)]
    table = {"visit": {"clinical_info": 0.3, "practical": 1.2}}
    question = Question("the", intent="visit")
    found = retrieved(before, question, affinity=table, **ALONE).chunks
    assert [(one.chunk.id, round(one.score, 2)) for one in found] == [("B", 0.72), ("C", 0.5), ("A", 0.3)]
    assert [one.factors for one in found] == [(("affinity:practical", 1.2),), (), (("affinity:clinical_info", 0.3),)]
