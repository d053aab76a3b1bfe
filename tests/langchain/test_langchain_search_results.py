from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.wording.unicode import make_encodable
from langchain_ctxassembly.convert.search_results import search_results
from strategies import Retrieval, assembled, retrievals

unhurried = settings(suppress_health_check=list(HealthCheck))
SENTENCES = ("Alpha opens the gate.", "Beta closes it again.", "Gamma paints it red.", "Delta paints it green.")


def chunks(count: int = 8, **metadata: Any) -> list[Chunk]:
    """Without overlap: chunk n names its number in each sentence."""
    made = []
    for n in range(count):
        text = " ".join(f"{sentence[:-1]} {n}." for sentence in SENTENCES)
        made.append(Chunk(f"uuid-{n}", "leaflet", text, n, metadata={"source": "leaflet.pdf", "page": n, **metadata}))
    return made


def excerpts(context: Context) -> list[list[tuple[str | None, str]]]:
    return [[(excerpt.chunk_id, excerpt.text) for excerpt in result.excerpts] for result in search_results(context)]


@unhurried
@given(retrievals())
def test_every_verbatim_stretch_is_in_one_excerpt_of_its_chunk(case: Retrieval) -> None:
    context = assembled(case)
    found = search_results(context)
    assert [result.citation for result in found] == [block.citation for block in context.blocks]
    parts = [excerpt for result in found for excerpt in result.excerpts]
    assert [source for part in parts for source in part.sources] == list(context.provenance)
    assert all(part.text.strip() and part.text == make_encodable(part.text) for part in parts)
    for part in parts:
        assert all(source.chunk_id == part.chunk_id for source in part.sources)
        assert all(make_encodable(context.text[slice(*source.span)]) in part.text for source in part.sources)


@unhurried
@given(retrievals())
def test_a_restored_context_makes_the_same_results(case: Retrieval) -> None:
    context = assembled(case)
    again = search_results(Context.from_dict(context.to_dict()))
    assert [(one.title, one.excerpts) for one in again] == [
        (one.title, one.excerpts) for one in search_results(context)
    ]


def test_an_excerpt_is_of_one_chunk_and_joined_they_read_as_the_passages() -> None:
    found = chunks()
    hits, config = [Hit(found[1]), Hit(found[6])], AssemblyConfig(neighbors="unfiltered")
    context = assemble(hits, config, store=MemoryStore(found))
    ((one, two, three, four, *rest),) = excerpts(context)
    assert [chunk_id for chunk_id, _ in (one, two, three, four, *rest)] == [f"uuid-{n}" for n in (0, 1, 2, 5, 6, 7)]
    assert one[1] == found[0].text
    assert two[1] == f"\n{found[1].text}"
    assert four[1] == f"\n[...]\n{found[5].text}"  # a gap begins the text after it
    joined = "".join(text for _, text in (one, two, three, four, *rest))
    assert joined == "\n[...]\n".join(passage.text for passage in context.passages)


def test_a_hit_that_is_repeated_has_an_excerpt_for_each_time_it_stands() -> None:
    (found,) = chunks(1)
    context = assemble([Hit(found), Hit(found)], AssemblyConfig(dedup="none"))
    (result,) = search_results(context)
    assert [excerpt.text for excerpt in result.excerpts] == [found.text, f"\n[...]\n{found.text}"]
    assert [excerpt.sources for excerpt in result.excerpts] == [(source,) for source in context.provenance]


def test_the_sentences_of_a_chunk_that_stand_are_one_excerpt_and_a_cut_is_marked() -> None:
    (found,) = chunks(1)
    context = assemble([Hit(found)], AssemblyConfig(max_tokens=28, granularity="sentence"), query="Beta closes")
    (((chunk_id, text),),) = excerpts(context)
    assert chunk_id == "uuid-0"
    assert "[...]" in text
    assert text.endswith(context.text[-5:])
    assert text != found.text


def test_lines_above_the_text_are_an_excerpt_of_no_chunk() -> None:
    (found,) = chunks(1, page_summary="On gates & fences.", ward="B")
    for form in ("numbered", "source", "xml", "grouped", "minimal"):
        context = assemble([Hit(found)], AssemblyConfig(format=form, header_keys=("ward",)))
        ((lead, said),) = excerpts(context)
        assert lead == (None, "ward: B\n[Page context: On gates & fences.]\n")
        assert said == ("uuid-0", found.text)
    assert excerpts(assemble([Hit(chunks(1)[0])]))[0][0][0] == "uuid-0"


def test_the_words_of_a_header_of_ones_own_are_kept_unless_they_show_the_label() -> None:
    hits = [Hit(chunks(1)[0])]
    (lead, _), *_ = excerpts(assemble(hits, AssemblyConfig(format=lambda heading: f"From {heading.source}:")))
    assert lead == (None, "From leaflet.pdf:\n")
    assert len(excerpts(assemble(hits, AssemblyConfig(format=lambda heading: f"[{heading.number}] here")))[0]) == 1


@pytest.mark.parametrize("form", ["numbered", "xml"])
def test_the_words_are_those_of_the_document(form: Any) -> None:
    said = "[2] Source: board.pdf\nRead <b>this</b> & that."
    context = assemble([Hit(Chunk("a", "a", said))], AssemblyConfig(format=form))
    assert f"\n{said}" not in context.text
    assert excerpts(context) == [[("a", said)]]


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
    (result,) = search_results(assemble([Hit(Chunk("c", "doc-7", "Drink water.", metadata=metadata))]))
    assert (result.source, result.title) == (source, title)


@pytest.mark.parametrize("form", ["numbered", "xml"])
def test_a_supplement_is_a_result_of_its_own(form: Any) -> None:
    config = AssemblyConfig(format=form)
    context = assemble([Hit(chunks(1)[0])], config, supplement="The hall seats 90 & more.\nIt opens at 9.")
    found = {result.source: result for result in search_results(context)}
    assert [*found] == ["leaflet.pdf", "supplement"]
    supplement = found["supplement"]
    assert (supplement.title, supplement.citation) == ("SUPPLEMENTARY INFORMATION", None)
    assert [excerpt.text for excerpt in supplement.excerpts] == ["The hall seats 90 & more.\nIt opens at 9."]


def test_of_nothing_there_are_no_results() -> None:
    assert search_results(assemble([])) == ()


def test_a_block_whose_passages_were_taken_away_is_read_whole() -> None:
    context = replace(assemble([Hit(chunks(1)[0])]), passages=())
    assert excerpts(context) == [[(None, context.text)]]
