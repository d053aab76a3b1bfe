from __future__ import annotations

from typing import Any

import pytest
from pieces import chunk, found, ids

from ctxassembly import Chunk
from ctxassembly.data.retrieval import RetrievedChunk
from ctxassembly.retrieval import Boost
from ctxassembly.retrieval.fusion import apply_affinity, apply_boosts, category_in_metadata

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
