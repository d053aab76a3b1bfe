"""A context as search results, which a model cites natively: a text block for each chunk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from langchain_ctxassembly import to_search_results
from strategies import Retrieval, assembled, retrievals

SENTENCES = ("Alpha opens the gate.", "Beta closes it again.", "Gamma paints it red.", "Delta paints it green.")


def chunks(count: int = 8, **metadata: Any) -> list[Chunk]:
    """Without overlap: chunk n names its number in each sentence."""
    made = []
    for n in range(count):
        text = " ".join(f"{sentence[:-1]} {n}." for sentence in SENTENCES)
        made.append(Chunk(f"uuid-{n}", "leaflet", text, n, metadata={"source": "leaflet.pdf", "page": n, **metadata}))
    return made


def excerpts(context: Context) -> list[list[str]]:
    return [[part["text"] for part in result["content"]] for result in to_search_results(context)]


@settings(suppress_health_check=list(HealthCheck))
@given(retrievals())
def test_every_verbatim_stretch_is_in_the_result_of_its_block(case: Retrieval) -> None:
    context = assembled(case)
    found = excerpts(context)
    assert excerpts(Context.from_dict(context.to_dict())) == found
    assert len(found) == len(context.blocks)
    for block, texts in zip(context.blocks, found, strict=True):
        assert all(text.strip() for text in texts)
        begin, end = block.span
        stretches = [context.text[slice(*one.span)] for one in context.provenance if begin <= one.span[0] < end]
        assert all(any(stretch in text for text in texts) for stretch in stretches)


def test_an_excerpt_is_of_one_chunk_and_joined_they_read_as_the_passages() -> None:
    found = chunks()
    hits, config = [Hit(found[1]), Hit(found[6])], AssemblyConfig(neighbors="unfiltered", cite="document")
    context = assemble(hits, config, store=MemoryStore(found))
    ((one, two, three, four, *rest),) = excerpts(context)
    assert one == found[0].text
    assert two == f"\n{found[1].text}"
    assert four == f"\n[...]\n{found[5].text}"  # a gap begins the text after it
    assert "".join((one, two, three, four, *rest)) == "\n[...]\n".join(passage.text for passage in context.passages)


def test_the_sentences_of_a_chunk_that_stand_are_one_excerpt_and_a_cut_is_marked() -> None:
    kept = "Whoever comes by the river road finds the ferry at the northern landing."
    left_out = [f"In winter the landing is closed for repairs, mostly for {n} weeks in a row." for n in range(3)]
    other = "Bicycles are taken aboard the ferry without a charge except on a market day."
    found = Chunk("a", "a", " ".join((kept, *left_out, other)))
    query = "Does the river road lead to the northern landing, and are bicycles taken aboard?"
    config = AssemblyConfig(max_tokens=48, granularity="sentence")
    context = assemble([Hit(found)], config, query=query)
    ((text,),) = excerpts(context)
    assert "[...]" in text
    assert text == f"{kept}\n[...]\n{other}"


def test_lines_above_the_text_are_an_excerpt_of_no_chunk() -> None:
    (found,) = chunks(1, page_summary="On gates & fences.", ward="B")
    for form in ("numbered", "source", "xml", "grouped", "minimal"):
        context = assemble([Hit(found)], AssemblyConfig(format=form, header_keys=("ward",)))
        ((lead, said),) = excerpts(context)
        assert (lead, said) == ("ward: B\n[Page context: On gates & fences.]\n", found.text)


def test_the_words_of_a_header_of_ones_own_are_kept_unless_they_show_the_label() -> None:
    hits = [Hit(chunks(1)[0])]
    (lead, _), *_ = excerpts(assemble(hits, AssemblyConfig(format=lambda heading: f"From {heading.source}:")))
    assert lead == "From leaflet.pdf:\n"
    assert len(excerpts(assemble(hits, AssemblyConfig(format=lambda heading: f"[{heading.number}] here")))[0]) == 1


@pytest.mark.parametrize("form", ["numbered", "xml"])
def test_the_words_are_those_of_the_document(form: Any) -> None:
    said = "[2] Source: board.pdf\nRead <b>this</b> & that."
    context = assemble([Hit(Chunk("a", "a", said))], AssemblyConfig(format=form))
    assert f"\n{said}" not in context.text
    assert excerpts(context) == [[said]]


@pytest.mark.parametrize(
    ("metadata", "source", "title"),
    [
        ({"source": "a.pdf", "page": 3}, "a.pdf", "a.pdf, page 3"),
        ({"source": "a.pdf", "url": "https://example.org/a"}, "https://example.org/a", "a.pdf"),
        ({"source": "https://example.org/b", "title": "B"}, "https://example.org/b", "https://example.org/b"),
        ({"title": "A leaflet"}, "A leaflet", "A leaflet"),
        ({}, "doc-7", "unknown"),
    ],
)
def test_a_result_names_its_source(metadata: Any, source: str, title: str) -> None:
    (result,) = to_search_results(assemble([Hit(Chunk("c", "doc-7", "Drink water.", metadata=metadata))]))
    assert (result["source"], result["title"]) == (source, title)


@pytest.mark.parametrize("form", ["numbered", "xml"])
def test_a_supplement_is_a_result_of_its_own(form: Any) -> None:
    config = AssemblyConfig(format=form)
    context = assemble([Hit(chunks(1)[0])], config, supplement="The hall seats 90 & more.\nIt opens at 9.")
    first, supplement = to_search_results(context)
    assert (first["source"], supplement["source"]) == ("leaflet.pdf", "supplement")
    assert supplement["title"] == "SUPPLEMENTARY INFORMATION"
    assert excerpts(context)[1] == ["The hall seats 90 & more.\nIt opens at 9."]
