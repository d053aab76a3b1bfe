from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import hits_of, numbered, split, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

TEXT = numbered("w", 90)
CHUNKS = split("A", TEXT, size=120, overlap=40, metadata={"source": "gids.pdf", "page": 3})


def test_a_citation_leads_back_to_its_source():
    context = assemble([Hit(CHUNKS[1], 0.9), Hit(CHUNKS[0], 0.8)])
    (citation,) = context.citations
    assert citation.label == "1"
    assert citation.document_id == "A"
    assert citation.chunk_ids == ("A0", "A1")
    assert citation.best_chunk_id == "A1"
    assert citation.score == 0.9
    assert citation.metadata == {"source": "gids.pdf", "page": 3}
    assert context.text[slice(*citation.span)] == TEXT[:200].rstrip()


WHERE = {"section": None, "sheet": None, "row": None, "start_line": None, "page": None, "pages": ()}


@pytest.mark.parametrize(
    ("rule", "metadata", "particulars"),
    [
        ("file and page", {"source": "gids.pdf", "page": "3"}, {"source": "gids.pdf", "page": 3, "pages": (3,)}),
        ("section", {"title": "Gids", "section": " Before\nthe visit "}, {"section": "Before the visit"}),
        ("row", {"source": "p.xlsx", "sheet": "Q1", "row_number": "42"}, {"sheet": "Q1", "row": 42}),
        ("row 0", {"row_number": 0}, {"row": 0}),
        ("start line", {"source": "a.py", "start_line": 17}, {"start_line": 17}),
        ("a page that is no number", {"page_label": "iv", "page": 3}, {"page": "iv", "pages": ("iv",)}),
        ("nothing", {}, {}),
    ],
)
def test_a_citation_names_the_place(rule: str, metadata: dict[str, Any], particulars: dict[str, Any]):
    (citation,) = assemble([Hit(Chunk("a", "A", "Text.", metadata=metadata))]).citations
    expected = {**WHERE, "source": metadata.get("source") or metadata.get("title") or "unknown", **particulars}
    assert {name: getattr(citation, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("language", "metadata", "reference"),
    [
        ("en", {"source": "report.pdf", "section": "Executive Summary", "page": 3}, "report.pdf § Executive Summary"),
        ("en", {"source": "figures.xlsx", "sheet": "Sheet1", "row_number": 42}, "figures.xlsx § Sheet1 Row 42"),
        ("nl", {"title": "Gids", "page": "iv"}, "Gids (pagina iv)"),
        ("nl", {}, "onbekend"),
    ],
)
def test_a_citation_has_a_reference_that_is_ready(language: str, metadata: dict[str, Any], reference: str):
    config = AssemblyConfig(language=language)
    (citation,) = assemble([Hit(Chunk("a", "A", "Text.", metadata=metadata))], config).citations
    assert citation.reference == reference


def test_the_place_is_the_best_chunks_and_the_pages_are_those_of_all():
    said = {0: {"page": 12, "section": "First"}, 1: {"page": 9, "row_number": 4}, 2: {"page": 9}, 3: {"page": "A-1"}}
    chunks = [words_of("A", n, metadata={"source": f"{n}.pdf", **said[n]}) for n in said]
    (citation,) = assemble(hits_of([chunks[1], chunks[0], chunks[3], chunks[2]])).citations
    assert (citation.source, citation.section, citation.row, citation.page) == ("1.pdf", None, 4, 9)
    assert citation.pages == (9, 12, "A-1")


@pytest.mark.parametrize(
    ("rule", "text", "snippet"),
    [
        ("cut at a word", "word, " * 100, ("word, " * 33)[:-1]),
        ("a word that ends in time is whole", "a" * 100 + " " + "b" * 99 + " more", "a" * 100 + " " + "b" * 99),
        ("and one letter more is too many", "a" * 100 + " " + "b" * 100, "a" * 100),
        ("a word that leaves less than half is cut", "See " + "日" * 300, "See " + "日" * 196),
        ("without outer white space", "\n  Text.  ", "Text."),
    ],
)
def test_snippets(rule: str, text: str, snippet: str):
    assert assemble([Hit(Chunk("a", "A", text))]).citations[0].snippet == snippet


def test_a_span_has_gap_markers_inside_but_no_header_and_no_summary():
    chunks = [replace(words_of("A", n), metadata={"page_summary": "A summary."}) for n in (0, 7)]
    context = assemble(hits_of(chunks), AssemblyConfig(cite="document"))
    cited = context.text[slice(*context.citations[0].span)]
    assert cited == f"{chunks[0].text}\n[...]\n{chunks[1].text}"


def test_without_offsets_a_source_knows_the_chunk_alone():
    context = assemble([Hit(replace(CHUNKS[0], start=None))])
    (source,) = context.provenance
    assert (source.start, source.end) == (None, None)
    assert CHUNKS[0].text[slice(*source.chunk_span)] == context.text[slice(*source.span)]


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_blocks_carry_their_citations(cite: str):
    chunks = [words_of("A", 0), words_of("A", 1), words_of("A", 7), words_of("B", 2)]
    context = assemble(hits_of(chunks), AssemblyConfig(cite=cite))
    assert len(context.blocks) == {"document": 2, "passage": 3, "chunk": 4}[cite]
    assert "\n\n".join(block.text for block in context.blocks) == context.text == str(context)
    for n, block in enumerate(context.blocks, start=1):
        assert block.text.startswith(f"[{n}] Source: unknown\n")
        assert block.span[0] < block.citation.span[0] < block.citation.span[1] == block.span[1]
