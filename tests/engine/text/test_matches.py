"""What the trace tells of the search: how the retriever found a hit, and what words of the query a chunk has."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from builders import decision, hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from ctxassembly.text.words import TermQuery
from ctxassembly.tracing import MAX_HIT_CHARS, MAX_SHOWN_HITS

QUERY = "Mag ik drinken voor de behandelingen?"


def chunk(name: str, index: int, text: str, **metadata: Any) -> Chunk:
    return Chunk(f"{name}{index}", name, text, index, metadata=metadata)


CHUNKS = [
    chunk("A", 0, "Voor de behandeling blijft u nuchter. Drink niets."),
    chunk("A", 1, "U mag tot twee uur ervoor water drinken.", search_method="bm25"),
    chunk("A", 2, "Parkeren kost twee euro."),
]


def searched(**options: Any) -> Context:
    hits = hits_of([CHUNKS[1], chunk("B", 0, "Niets daarvan. " * 60)])
    return assemble(hits, AssemblyConfig(**options), query=QUERY, store=MemoryStore(CHUNKS))


@pytest.mark.parametrize(
    ("rule", "query", "text", "expected"),
    [
        ("each once, in the order of the query", "one two one three", "Three, TWO, one.", ("one", "two", "three")),
        (
            "another form of a word of six letters",
            "parking costs",
            "Parked? It costs, parkings too.",
            ("parking", "costs"),
        ),
        ("of a long word all but the ending", "vergunningen", "Een vergunning.", ("vergunningen",)),
        ("without spaces by two characters", "駐車場", "駐車場は無料", ("駐車", "車場")),
        ("a word with digits only whole", "ISO27001 sensor33", "iso27002, Sensor33", ("sensor33",)),
        ("a name with capitals inside, too", "getUserName", "getUserMail getUserNames", ()),
    ],
)
def test_words_are_found_in_any_form(rule: str, query: str, text: str, expected: tuple[str, ...]):
    assert TermQuery(query).find_terms(text) == expected


@pytest.mark.parametrize("options", [{}, {"rank_by": "rank"}, {"max_tokens": 40}])
def test_a_decision_tells_the_words_of_the_query_that_its_chunk_has(options: dict[str, Any]):
    context = searched(**options)
    found = {each.chunk_id: each.matches for each in context.trace.decisions}
    assert found["A1"] == ("mag", "drinken")
    assert decision(context, "A1").is_in_context
    if decision(context, "A0").is_in_context:
        assert found["A0"] == ("voor", "de", "behandelingen")
    if "A2" in found and decision(context, "A2").is_in_context:
        assert found["A2"] == ()


def test_a_hit_that_does_not_stand_tells_them_as_long_as_its_text_is_kept():
    beyond = [chunk("C", n, f"Mag {n}. " * 40) for n in range(MAX_SHOWN_HITS + 2)]
    long = chunk("L", 0, "mag " * MAX_HIT_CHARS)
    context = assemble(hits_of([*CHUNKS[:1], long, *beyond]), AssemblyConfig(max_tokens=30), query=QUERY)
    dropped = {each.chunk_id: each.matches for each in context.trace.decisions if not each.is_in_context}
    assert dropped["C3"] == ("mag",)
    assert dropped["L0"] is None
    assert dropped[f"C{MAX_SHOWN_HITS + 1}"] is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [("bm25", "bm25"), (["vector", "bm25"], "vector, bm25"), ("a\nb", "a b"), (None, None), ("", None)],
)
def test_a_hit_tells_how_it_was_found_with_and_without_a_query(said: Any, expected: str | None):
    hits = hits_of([chunk("A", 0, "Text.", retrieval_method=said), chunk("B", 0, " ", retrieval_method=said)])
    for query in (None, "text"):
        assert [each.search_method for each in assemble(hits, query=query).trace.decisions] == [expected, expected]


def test_a_line_of_the_log_tells_the_method_and_not_the_words(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "ctxassembly")
    searched()
    told = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert told[0] == "'A1' of 'A', hit 1: kept, hit, found by 'bm25'"
    assert "drinken" not in caplog.text
