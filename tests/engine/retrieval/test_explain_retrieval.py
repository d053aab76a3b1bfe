from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, explain
from ctxassembly.retrieval import Node, Question, Relation, Taxonomy

TEXTS = [
    "Ferritine wordt 's ochtends bepaald.",
    "Ferritine en ijzer horen bij elkaar.",
    "IJzer staat in de tabel.",
    "Parkeren kan in de garage.",
    "Eén chunk over vitamine B12.",
]
CHUNKS = [
    Chunk(f"lab#{at}", "lab", text, at, metadata={"tenant": "noord" if at else "zuid", "category": f"c{at}"})
    for at, text in enumerate(TEXTS)
]
VECTORS = [(1.0, 0.0), (0.9, 0.1), (0.5, 0.5), (0.0, 1.0), (-1.0, 0.2)]
INDEX = MemoryIndex(CHUNKS, VECTORS)


def ask(expect: str, query: Any = "Wanneer wordt ferritine bepaald?", **settings: Any) -> Any:
    condition = settings.pop("filter", None)
    given = {"index": INDEX, "embed": lambda _: (1.0, 0.0), **settings.pop("given", {})}
    return explain(query, expect, RetrievalConfig(**{"rescue": "off", **settings}), filter=condition, **given)


def test_a_hit_is_told_with_its_place_and_what_found_it():
    one = ask("lab#0")
    assert (one.chunk_id, one.lost_at, one.rank, one.displaced_by) == ("lab#0", None, 0, ())
    assert one.reason == "hit 1 of 5, by vector and keyword"
    assert one.ranks == {"search": 0, "fuse": 0, "limit": 0}


@pytest.mark.parametrize("expect", ["Parkeren kan", "PARKEREN  kan\nin de garage", "lab#3"])
def test_by_id_or_by_a_part_of_the_text(expect: str):
    assert ask(expect).chunk_id == "lab#3"


@pytest.mark.parametrize(
    ("expect", "settings", "lost_at", "reason"),
    [
        ("lab#2", {"limit": 2}, "limit", "place 3 after fuse, where 2 are kept"),
        ("lab#3", {"limit": 1, "candidates": 2}, "search", "place 4 by vector, of 2 candidates"),
        ("lab#3", {"min_similarity": 0.4}, "fuse", "its similarity is below 0.4, and its words don't bring it"),
        ("lab#0", {"filter": {"tenant": "noord"}}, "filter", "the filter excludes it"),
        ("lab#0", {"strategy": "keyword", "query": "garage"}, "index", "no chunk was found with this id or text"),
        ("Ferritine wordt", {"strategy": "keyword", "query": "garage"}, "search", "not among the best 1,000 of any"),
        ("heelkunde", {}, "index", "no chunk was found with this id or text, 1,000 a channel"),
        ("lab#0", {"min_evidence": 2.0}, "evidence", "evidence: 1."),
        (
            "lab#0",
            {"limit": 1, "affinity": {"find": {"c0": 0.1}}, "query": Question("ferritine", intent="find")},
            "limit",
            "affinity:c0 x 0.1",
        ),
    ],
)
def test_the_step_at_which_a_chunk_was_lost(expect: str, settings: dict[str, Any], lost_at: str, reason: str):
    one = ask(expect, **settings)
    assert one.lost_at == lost_at
    assert reason in one.reason
    assert one.rank is None


def test_what_made_room_for_others():
    nodes = [Node("ab", "team", "Laboratorium", ("ferritine",)), Node("p", "person", "analist P")]
    taxonomy = Taxonomy(nodes, [Relation("p", "WORKS_IN", "ab")], type_words={"person": ("wanneer",)})
    one = ask("lab#1", limit=2, given={"taxonomy": taxonomy})
    assert (one.lost_at, one.reason, one.displaced_by) == (
        "entities",
        "it made room for entities",
        ("taxonomy:p", "lab#0"),
    )
    rescued = ask("lab#0", "ferritine en vitamine", limit=1, rescue="first", keyword_weight=0.0)
    assert (rescued.lost_at, rescued.reason) == ("rescue", "it made room for rescue")
