from __future__ import annotations

from dataclasses import replace

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
