from __future__ import annotations

from dataclasses import replace

import pytest

from builders import hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble, presets
from ctxassembly.errors import ConfigError
from ctxassembly.presets import BY_USE, PUBLISHED


def paged(document_id: str, n: int, length: int = 30) -> Chunk:
    """Chunk `n` of a document, on a page of its own, two places from the next one."""
    text = numbered(f"{document_id}{n}.", length)
    return Chunk(f"{document_id}{n}", document_id, text, index=2 * n, metadata={"source": f"{document_id}.pdf"})


FIVE = [Hit(paged(name, 0), score) for name, score in zip("CABED", (0.9, 0.8, 0.7, 0.6, 0.5), strict=True)]
READ = ["C", "A", "B", "E", "D"]
ENDS = ["C", "B", "D", "E", "A"]
BY_NAME = ["A", "B", "C", "D", "E"]


def documents_of(config: AssemblyConfig, hits: list[Hit], query: str | None = None) -> list[str]:
    return [citation.document_id for citation in assemble(hits, config, query=query).citations]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("voice", READ),
        ("citation_heavy", READ),
        ("conversational", READ),
        ("factual_qa", ENDS),
        ("tight_budget", READ),
        ("summarization", BY_NAME),
    ],
)
def test_each_reads_in_its_order(name: str, order: list[str]):
    assert documents_of(BY_USE[name], FIVE) == order


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("voice", "C0."),
        ("citation_heavy", "[1] Source: C.pdf\n"),
        ("conversational", "C0."),
        ("factual_qa", "[1] Source: C.pdf\n"),
        ("tight_budget", "C0."),
        ("summarization", "## A.pdf\n"),
    ],
)
def test_each_is_written_in_its_format(name: str, header: str):
    assert assemble(FIVE, BY_USE[name]).text.startswith(header)


@pytest.mark.parametrize("use", BY_USE)
def test_a_use_differs_from_the_default_in_what_is_written_and_how_much_alone(use: str):
    preset, default = AssemblyConfig.for_use(use), AssemblyConfig()
    assert replace(preset, format=default.format, order=default.order, cite=default.cite) == {
        "summarization": AssemblyConfig(fill=True),
        "concise": AssemblyConfig(min_relevance=preset.min_relevance),
    }.get(use, default)
    assert (preset.min_relevance > default.min_relevance) == (use == "concise")


def test_tight_budgets_keep_the_sentences_that_answer():
    filler = [f"Sentence {n} of this leaflet tells you nothing that is new to you." for n in range(20)]
    filler[15] = "Stop taking blood thinners five days before the biopsy."
    hits = hits_of([Chunk("a", "A", " ".join(filler))])
    query = "When must I stop with blood thinners before a biopsy?"
    assert filler[15] in assemble(hits, replace(presets.TIGHT_BUDGET, max_tokens=80), query=query).text


def test_voice_shows_no_labels_and_asks_for_none():
    context = assemble(FIVE, presets.VOICE)
    assert not context.has_labels
    assert "Write no reference marks." in context.to_messages("What?")[0]["content"]
    assert [reference.source for reference in context.sources()] == [f"{name}.pdf" for name in READ]


def test_for_use_finds_each_by_its_name_and_an_unknown_one_names_the_choices():
    for use, preset in BY_USE.items():
        assert AssemblyConfig.for_use(use) == preset == getattr(presets, use.upper())
    with pytest.raises(ConfigError, match=r"use must be one of 'factual_qa', .*'concise', got 'qa'$"):
        AssemblyConfig.for_use("qa")


def test_none_is_forgotten():
    named = {name for name in vars(presets) if name.isupper() and isinstance(getattr(presets, name), AssemblyConfig)}
    assert {use.upper() for use in BY_USE} == named
    assert all(getattr(presets, name) is rule for name, rule in PUBLISHED.items())
    assert len(PUBLISHED) == 9
