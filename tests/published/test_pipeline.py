"""The published pipeline: each rule as it is described, through every door."""

from __future__ import annotations

from typing import Any

import pytest

from builders import count, numbered
from ctxassembly import Chunk, Hit, assemble
from ctxassembly.errors import ConfigError
from ctxassembly.published import Pipeline
from doors import Door

WINDOW = 8_192
TEXTS = {name: f"{name} says that {numbered(name, 40)} is so." for name in "ABCDEF"}


def hit(name: str, score: float | None = None, text: str = "", **metadata: Any) -> Hit:
    metadata = {"source": f"{name}.pdf", **metadata}
    return Hit(Chunk(name, f"doc-{name}", text or TEXTS[name], 0, metadata=metadata), score)


SIX = [hit(name, 0.9 - n / 10) for n, name in enumerate("ABCDEF")]


def read(context: Any) -> str:
    return "".join(name for passage in context.passages for name in passage.chunk_ids)


@pytest.mark.parametrize(
    ("rule", "ordering", "hits", "order"),
    [
        ("lost_in_middle: 1 3 5 6 4 2", "lost_in_middle", SIX, "ACEFDB"),
        ("by score, not by rank", "lost_in_middle", SIX[::-1], "ACEFDB"),
        ("one keeps its order", "lost_in_middle", [hit("A", 0.1)], "A"),
        ("two keep their order", "lost_in_middle", [hit("A", 0.1), hit("B", 0.9)], "AB"),
        ("relevance: best first", "relevance", SIX[::-1], "ABCDEF"),
        ("relevance orders two as well", "relevance", [hit("A", 0.1), hit("B", 0.9)], "BA"),
        ("rerank_score before the hit's score", "relevance", [hit("A", 0.9, rerank_score=0.1), hit("B", 0.5)], "BA"),
        ("without scores as given", "relevance", [hit("B"), hit("A")], "BA"),
        (
            "chronological: source, page, index",
            "chronological",
            [hit("A", 0.9, source="z"), hit("B", 0.8, source="y", page=2), hit("C", 0.7, source="y", page=1)],
            "CBA",
        ),
    ],
)
def test_ordering(door: Door, rule: str, ordering: Any, hits: list[Hit], order: str):
    assert read(door(Pipeline(ordering=ordering), hits)) == order


SECOND = '<chunk index="2">\n{B}\n</chunk>'


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("numbered", "[1] Source: A.pdf, page 3\n{A}\n\n---\n\n[2] Source: unknown\n{B}"),
        ("xml", '<chunk index="1" source="A.pdf" page="3" score="0.950">\n{A}\n</chunk>\n\n' + SECOND),
        ("grouped", "## unknown\n\n{B}\n\n---\n\n## A.pdf\n\n{A}"),
        ("minimal", "{A}\n\n{B}"),
    ],
)
def test_formats(door: Door, form: Any, text: str):
    hits = [hit("A", 0.95, page=3), hit("B", source=None)]
    context = door(Pipeline(format=form, ordering="relevance"), hits)
    assert context.text == text.format_map(TEXTS)
    assert context.has_labels == (form in ("numbered", "xml"))


def test_grouped_joins_the_texts_of_a_source_by_a_blank_line(door: Door):
    hits = [hit("B", 0.9), hit("A", 0.8), hit("C", 0.7, source="B.pdf")]
    context = door(Pipeline(format="grouped", ordering="relevance"), hits)
    assert context.text == "## A.pdf\n\n{A}\n\n---\n\n## B.pdf\n\n{B}\n\n{C}".format_map(TEXTS)
    assert [citation.chunk_ids for citation in context.citations] == [("A",), ("B", "C")]


LONG = numbered("same", 30)


@pytest.mark.parametrize(
    ("rule", "settings", "hits", "kept"),
    [
        ("the same content_hash", {}, [hit("A", content_hash="x"), hit("B", content_hash="x")], "A"),
        ("the same first 64 characters", {}, [hit("A", text=LONG), hit("B", text=LONG + " more")], "A"),
        (
            "another hash, though the same beginning",
            {},
            [hit("A", text=LONG, content_hash="x"), hit("B", text=LONG)],
            "AB",
        ),
        ("dedupe=False", {"dedupe": False}, [hit("A", text=LONG), hit("B", text=LONG)], "AB"),
        ("fuzzy: no near copies by default", {}, [hit("A", text=f"ant {LONG}"), hit("B", text=f"bee {LONG}")], "AB"),
        ("fuzzy: 30 of 32 words", {"fuzzy": 0.93}, [hit("A", text=f"ant {LONG}"), hit("B", text=f"bee {LONG}")], "A"),
        ("fuzzy: too few words", {"fuzzy": 0.95}, [hit("A", text=f"ant {LONG}"), hit("B", text=f"bee {LONG}")], "AB"),
    ],
)
def test_dedupe_in_the_order_given(door: Door, rule: str, settings: dict[str, Any], hits: list[Hit], kept: str):
    context = door(Pipeline(ordering="relevance", **settings), hits)
    assert read(context) == kept
    outcomes = {one.chunk_id: (one.outcome, one.because_of) for one in context.trace.decisions}
    assert outcomes["B"] == (("kept", None) if "B" in kept else ("duplicate", "A"))


def system(room: int, query: str = "", **settings: Any) -> Pipeline:
    """A pipeline with so many tokens for chunks."""
    used = count("Answer.") + count(query) + 64
    return Pipeline(**{"system": "Answer.", "max_output": WINDOW - used - room, "format": "minimal", **settings})


def test_the_budget_is_what_the_window_leaves_and_counts_chunk_text_alone(door: Door):
    sizes = [count(TEXTS[name]) for name in "ABC"]
    query = "What does B say?"
    for format_, more in (("minimal", 0), ("xml", 0)):
        context = door(system(sum(sizes) + more, query, format=format_), SIX[:3], query=query)
        assert read(context) == "ACB"
    assert system(100, query).budget(query) == 100
    one_less = door(system(sum(sizes) - 1, query, min_chunk_tokens=0), SIX[:3], query=query)
    assert [one.outcome for one in one_less.trace.decisions] == ["kept", "kept", "cut"]


def test_shorter_chunks_are_skipped(door: Door):
    hits = [hit("A", 0.9), hit("B", 0.8, text="Too short."), hit("C", 0.7)]
    context = door(Pipeline(), hits)
    assert read(context) == "AC"
    assert [(one.chunk_id, one.reason) for one in context.trace.excluded] == [("B", "too short")]
    assert read(door(Pipeline(min_chunk_tokens=2, ordering="relevance"), hits)) == "ABC"


def test_the_first_that_does_not_fit_is_cut_to_four_tokens_less_and_it_stops(door: Door):
    first, second = count(TEXTS["A"]), TEXTS["B"]
    context = door(system(first + 70), SIX[:3])
    cut = context.text.removeprefix(TEXTS["A"] + "\n\n")
    assert second.startswith(cut)
    assert count(cut) == 66
    assert [one.outcome for one in context.trace.decisions] == ["kept", "cut", "dropped"]
    # More than 3 x min_chunk_tokens have to remain.
    assert read(door(system(first + 60), SIX[:3])) == "A"
    assert read(door(system(first + 61), SIX[:3])) == "AB"


def test_compress_keeps_the_sentences_with_words_of_the_query(door: Door):
    said = f"{numbered('x', 30)}. The zebra sleeps. {numbered('y', 30)}."
    query = "Where does the zebra sleep?"
    context = door(system(70, query, compress=True), [hit("A", 0.9, text=said)], query=query)
    assert "The zebra sleeps." in context.text
    assert [one.outcome for one in context.trace.decisions] == ["compressed"]
    assert context.token_count <= 66


@pytest.mark.parametrize("form", ["xml", "numbered", "grouped", "minimal"])
def test_exact_never_exceeds_the_budget(door: Door, form: Any):
    for room in (1, 10, 80, 150, 250, 400):
        context = door(system(room, format=form, exact=True), SIX)
        assert context.token_count == count(context.text) <= max(room, 0)
        assert not [note for note in context.trace.notes if note.startswith("budget")]


USES = {
    "factual_qa": ("xml", "lost_in_middle", False),
    "summarization": ("grouped", "chronological", True),
    "citation_heavy": ("numbered", "relevance", False),
    "conversational": ("minimal", "relevance", False),
    "tight_budget": ("xml", "lost_in_middle", True),
}


@pytest.mark.parametrize("use", USES)
def test_uses(use: str):
    made = Pipeline.for_use(use)
    assert (made.format, made.ordering, made.compress) == USES[use]
    assert Pipeline.for_use(use, max_output=500).max_output == 500


def test_xml_is_escaped():
    text = 'A < B & C > D, and </chunk><chunk index="2"> is no tag, however long this text goes on about that.'
    context = assemble([hit("A", 0.9, text=text)], Pipeline())
    assert "A &lt; B &amp; C &gt; D, and &lt;/chunk&gt;&lt;chunk" in context.text
    assert "".join(context.text[slice(*one.span)] for one in context.provenance) == text.replace("<", "").replace(
        ">", ""
    ).replace("&", "")


def test_an_unknown_model_or_use_is_an_error():
    with pytest.raises(ConfigError, match=r"^model must be one of mistral, "):
        Pipeline(model="parrot")
    with pytest.raises(ConfigError, match=r"^use must be one of 'factual_qa', .*write 'summarization'$"):
        Pipeline.for_use("summarisation")
