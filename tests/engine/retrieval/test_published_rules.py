"""Rules of the published retrieval, through the public door."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig, assemble, retrieve
from ctxassembly.retrieval import Node, Question, Relation, Taxonomy

FACT = "Dr. Abel works in Cardiology."
TAXONOMY = Taxonomy(
    [Node("card", "department", "Cardiology"), Node("abel", "doctor", "Abel")],
    [Relation("abel", "WORKS_IN", "card")],
    statements={"doctor": "Dr. {name} works in {department}."},
)
TEXTS = {"abel": "Abel is on duty.", "other": "Abel is on leave.", "far": "The hall is open."}
VECTORS = {"abel": [0.8, 0.6], "other": [0.6, 0.8], "far": [0.0, 1.0]}
INDEX = MemoryIndex([Chunk(id_, id_, text) for id_, text in TEXTS.items()], VECTORS)
QUERY: list[float] = [1.0, 0.0]


def ask(intent: str | None = None, *, index: Any = INDEX, embed: Any = lambda _: QUERY, **settings: Any) -> Any:
    asked = Question("Is Abel there?", intent=intent)
    given = {"index": index, "embed": embed, "taxonomy": TAXONOMY}
    return retrieve(asked, RetrievalConfig(**settings), **given)


@pytest.mark.parametrize(
    ("settings", "intent", "is_given"),
    [
        ({}, None, True),
        ({"supplement_similarity": 0.81}, None, True),
        ({"supplement_similarity": 0.8}, None, False),  # the best similarity, whatever is best after fusion
        ({"supplement_similarity": 0.5}, None, False),
        ({"supplement_similarity": 0.5, "supplement_intents": ("who",)}, "who", True),
        ({"supplement_similarity": 0.5, "supplement_intents": ("who",)}, "where", False),
        ({"supplement_similarity": 0.5, "limit": 1, "keyword_weight": 1}, None, False),
    ],
    ids=str,
)
def test_the_gate_for_facts_goes_by_the_best_vector_similarity_and_the_intent(
    settings: Any, intent: Any, is_given: bool
) -> None:
    """The rule: the gate decides by the best vector similarity and the intent. The best fused score is always 1."""
    found = ask(intent, **settings)
    assert found.chunks[0].score == 1.0
    assert found.statements == ((FACT,) if is_given else ())
    note = "supplement: suppressed, the best similarity 0.80 reaches supplement_similarity "
    assert [one.startswith(note) for one in found.trace.notes] == ([] if is_given else [True])


def test_the_gate_is_open_where_nothing_was_found_or_nothing_is_scored() -> None:
    """The rule: it opens where nothing was found or nothing is scored."""
    shut = {"supplement_similarity": -1.0}
    assert ask(**shut).statements == ()
    assert ask(strategy="graph", **shut).statements == (FACT,)
    nothing = ask(min_similarity=1.0, strategy="hybrid", index=MemoryIndex([]), embed=lambda _: QUERY, **shut)
    assert (nothing.chunks, nothing.statements) == ((), (FACT,))
    by_words = MemoryIndex([Chunk("abel", "abel", "Abel is on duty.")])
    unscored = ask(index=by_words, **shut)
    assert (len(unscored.chunks), unscored.statements) == (1, (FACT,))


EPILEPSY = Taxonomy(
    [
        Node("kneuro", "department", "Kinderneurologie"),
        Node("epi", "condition", "Epilepsie bij kinderen"),
        Node("hidden", "department", "Onderzoek", metadata={"tenant": "b"}),
    ],
    [Relation("kneuro", "HANDLES", "epi"), Relation("hidden", "HANDLES", "epi")],
)


@pytest.mark.parametrize(
    ("metadata", "factors"),
    [
        ({"department": "Kinderneurologie"}, [("department", 1.2)]),
        ({"condition": "Epilepsie bij kinderen"}, [("condition", 1.2)]),
        ({"entity_type": "department"}, [("entity_type", 1.1)]),
        ({"department": "Cardiologie"}, []),
        ({"department": "Onderzoek"}, []),
    ],
    ids=str,
)
def test_boosts_fire_for_what_a_resolution_leads_to(metadata: dict[str, str], factors: list[Any]) -> None:
    """The rule: boosts fire for what a resolution leads to, Kinderneurologie for "epilepsie bij kinderen"."""
    index = MemoryIndex([Chunk("a", "a", "Epilepsie.", metadata={**metadata, "tenant": "a"})])
    config = RetrievalConfig(strategy="keyword")
    asked = Question("Wie behandelt epilepsie bij kinderen?", filter={"tenant": "a"})
    [found] = retrieve(asked, config, index=index, taxonomy=EPILEPSY).chunks
    assert list(found.factors) == factors


def test_a_query_is_embedded_behind_its_prefix_and_searched_without_it() -> None:
    """The published setting: `query_prefix`."""
    embedded: list[str] = []

    def embed(text: str) -> list[float]:
        embedded.append(text)
        return QUERY

    found = retrieve("Abel", RetrievalConfig(query_prefix="query: "), index=INDEX, embed=embed)
    assert embedded == ["query: Abel"]
    assert (found.query, set(found.trace.terms)) == ("Abel", {"abel"})


def test_the_first_of_both_lists_has_the_published_score() -> None:
    """The published rule: 1/(60 + rank from 0 + 1)."""
    config = RetrievalConfig(fusion="rrf", keyword_weight=0.5, adjacency=0, rescue="off")
    found = retrieve("Abel duty", config, index=INDEX, embed=lambda _: QUERY)
    scores = {one.chunk.id: one.score for one in found.chunks}
    best = 1 / 61 + 1 / 61
    assert scores == pytest.approx({"abel": 1.0, "other": (1 / 62 + 1 / 62) / best, "far": 1 / 63 / best})


def test_the_threshold_of_a_supplement_reads_the_similarity_of_hits_that_retrieval_found() -> None:
    """The rule: the fused score, whose best is always 1, doesn't decide."""
    hits = ask().hits
    for threshold, is_given in ((0.81, True), (0.8, False)):
        context = assemble(hits, AssemblyConfig(supplement_threshold=threshold), supplement="The hall seats 90.")
        assert ("The hall seats 90." in context.text) is is_given
