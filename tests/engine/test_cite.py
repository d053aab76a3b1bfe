from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import hits_of, numbered, split, words_of
from ctxassembly import AssemblyConfig, Chunk, Heading, Hit, MetadataKeys, assemble
from ctxassembly.formats import FORMATS, WORDINGS
from strategies import framed, metadata

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


def test_the_place_is_the_best_chunks_and_the_pages_are_those_of_all():
    said = {0: {"page": 12, "section": "First"}, 1: {"page": 9, "row_number": 4}, 2: {"page": 9}, 3: {"page": "x"}}
    chunks = [words_of("A", n, metadata={"source": f"{n}.pdf", **said[n]}) for n in said]
    (citation,) = assemble(hits_of([chunks[1], chunks[0], chunks[3], chunks[2]])).citations
    assert (citation.source, citation.section, citation.row, citation.page) == ("1.pdf", None, 4, 9)
    assert citation.pages == (9, 12, "x")


def test_the_place_is_read_under_the_configured_keys_and_named_in_the_configured_language():
    keys = MetadataKeys(row_number="cell.row", start_line="from", page="folio")
    known = Chunk("a", "A", "Text.", metadata={"cell": {"row": 4}, "from": 7, "folio": 2, "row_number": 9, "page": 9})
    (citation,) = assemble([Hit(known)], AssemblyConfig(keys=keys, language="nl")).citations
    assert (citation.source, citation.row, citation.start_line, citation.pages) == ("onbekend", 4, 7, (2,))


@settings(deadline=None)  # the first example loads the encoding
@given(st.lists(metadata(), min_size=1, max_size=4), st.sampled_from(["numbered", "source", framed]))
def test_a_header_says_what_its_citation_says(found: list[dict[str, Any]], form: Any):
    chunks = [words_of("A", n, metadata=said) for n, said in enumerate(found)]
    context = assemble(hits_of(chunks), AssemblyConfig(format=form, cite="document"))
    (cited,) = context.citations
    place = (cited.section or "", cited.sheet or "", "" if cited.row is None else str(cited.row))
    heading = Heading(1, cited.source, cited.pages, *place, cited.score, cited.metadata)
    header = form(heading) if callable(form) else FORMATS[form](heading, WORDINGS["en"])
    assert context.text.startswith(header[0].strip() + "\n")
    assert cited.page is None or cited.page in cited.pages


@pytest.mark.parametrize("form", ["minimal", "grouped", "xml"])
def test_a_citation_names_the_place_whatever_the_header_has_room_for(form: str):
    long = Chunk("a", "A", numbered("w", 90), metadata={"source": "a & b.pdf", "page": 3, "section": "S"})
    for limit in (8_000, 12):
        (citation,) = assemble([Hit(long)], AssemblyConfig(format=form, max_tokens=limit)).citations
        assert (citation.source, citation.section, citation.page) == ("a & b.pdf", "S", 3)


def test_the_metadata_of_a_citation_is_a_copy():
    context = assemble([Hit(CHUNKS[0])])
    assert context.citations[0].metadata is not CHUNKS[0].metadata


@pytest.mark.parametrize(
    ("rule", "text", "snippet"),
    [
        ("snippet 200 characters", numbered("w", 90), numbered("w", 40)),
        ("cut at a word", "word, " * 100, ("word, " * 33)[:-1]),
        ("a word that ends in time is whole", "a" * 100 + " " + "b" * 99 + " more", "a" * 100 + " " + "b" * 99),
        ("and one letter more is too many", "a" * 100 + " " + "b" * 100, "a" * 100),
        ("a word that leaves less than half is cut", "See " + "日" * 300, "See " + "日" * 196),
        ("the whole text if it is shorter", "Short.", "Short."),
        ("without outer white space", "\n  Text.  ", "Text."),
    ],
)
def test_snippets(rule: str, text: str, snippet: str):
    assert assemble([Hit(Chunk("a", "A", text))]).citations[0].snippet == snippet


def test_a_span_has_gap_markers_inside_but_no_header_and_no_summary():
    chunks = [replace(words_of("A", n), metadata={"page_summary": "A summary."}) for n in (0, 7)]
    context = assemble(hits_of(chunks))
    cited = context.text[slice(*context.citations[0].span)]
    assert cited == f"{chunks[0].text}\n[...]\n{chunks[1].text}"


def test_a_character_that_two_chunks_share_belongs_to_the_earlier():
    context = assemble(hits_of(CHUNKS[:2]), AssemblyConfig(format="minimal"))
    assert [(source.chunk_id, source.start, source.end) for source in context.provenance] == [
        ("A0", 0, 120),
        ("A1", 120, 200 - (len(TEXT[:200]) - len(TEXT[:200].rstrip()))),
    ]
    for source in context.provenance:
        assert context.text[slice(*source.span)] == TEXT[source.start : source.end]


def test_without_offsets_a_source_knows_the_chunk_alone():
    context = assemble([Hit(replace(CHUNKS[0], start=None))])
    (source,) = context.provenance
    assert (source.start, source.end) == (None, None)
    assert CHUNKS[0].text[slice(*source.chunk_span)] == context.text[slice(*source.span)]


def test_the_newline_between_adjacent_chunks_has_no_provenance():
    chunks = [words_of("A", 0), words_of("A", 1)]
    context = assemble(hits_of(chunks), AssemblyConfig(format="minimal"))
    first, second = context.provenance
    assert context.text[first.span[1] : second.span[0]] == "\n"


@pytest.mark.parametrize("form", ["numbered", "xml", "minimal"])
def test_a_block_of_escaped_characters_alone_is_still_cited(form: str):
    context = assemble([Hit(Chunk("a", "A", "\ud800"))], AssemblyConfig(format=form))
    (citation,) = context.citations
    assert citation.chunk_ids == ("a",)
    assert "\ufffd" in context.text[slice(*citation.span)]


def test_passages_say_where_they_stand():
    context = assemble(hits_of([words_of("A", 0), words_of("A", 1), words_of("A", 7)]))
    assert [passage.chunk_ids for passage in context.passages] == [("A0", "A1"), ("A7",)]
    for passage in context.passages:
        assert context.text[slice(*passage.span)] == passage.text


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_blocks_carry_their_citations(cite: str):
    chunks = [words_of("A", 0), words_of("A", 1), words_of("A", 7), words_of("B", 2)]
    context = assemble(hits_of(chunks), AssemblyConfig(cite=cite))
    assert len(context.blocks) == {"document": 2, "passage": 3, "chunk": 4}[cite]
    assert "\n\n".join(block.text for block in context.blocks) == context.text == str(context)
    for n, block in enumerate(context.blocks, start=1):
        assert block.text.startswith(f"[{n}] Source: unknown\n")
        assert block.span[0] < block.citation.span[0] < block.citation.span[1] == block.span[1]


def test_chunks_that_overlap_are_cited_each_with_their_own_characters():
    context = assemble(hits_of(CHUNKS[:2]), AssemblyConfig(cite="chunk"))
    first, second = (context.text[slice(*citation.span)] for citation in context.citations)
    assert first == TEXT[:120].rstrip()
    assert second == TEXT[120:200].strip()
