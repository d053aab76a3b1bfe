from __future__ import annotations

import pytest

from builders import cited, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, assemble

CHUNKS = {f"{name}{n}": words_of(name, n) for name in "ABC" for n in range(10)}


def ids(names: str) -> list[Chunk]:
    return [CHUNKS[name] for name in names.split()]


def test_before_a5_b2_a6_c1_after_a5_a6_b2_c1():
    """Citations [1]=A [2]=B [3]=C, built after ordering."""
    context = assemble(hits_of(ids("A5 B2 A6 C1")))
    assert standing(context) == ["A5", "A6", "B2", "C1"]
    assert [(citation.label, citation.document_id) for citation in context.citations] == [
        ("1", "A"),
        ("2", "B"),
        ("3", "C"),
    ]
    assert [block.text.split(" ")[0] for block in context.blocks] == ["[1]", "[2]", "[3]"]


@pytest.mark.parametrize(
    ("rule", "hits", "scores", "order"),
    [
        ("documents by their best hit, best first", "B2 A5 C1", [0.9, 0.8, 0.7], "B2 A5 C1"),
        ("by document, by index", "A6 A2 A9", [0.9, 0.8, 0.7], "A2 A6 A9"),
        ("by their best hit: a late second hit lifts nothing", "B2 A5 C1 A6", [0.9, 0.8, 0.7, 0.6], "B2 A5 A6 C1"),
        ("a reranker's order stands even if old scores disagree", "C1 B2 A5", [0.1, 0.5, 0.9], "C1 B2 A5"),
        ("... or missing here and there", "C1 B2 A5", [None, 0.9, None], "C1 B2 A5"),
        ("odd scores", "C1 B2 A5", [float("nan"), float("inf"), -1.0], "C1 B2 A5"),
        ("ties are stable", "C1 A5 B2", [0.5, 0.5, 0.5], "C1 A5 B2"),
    ],
)
def test_the_order_handed_in_decides(rule: str, hits: str, scores: list[float | None], order: str):
    assert standing(assemble(hits_of(ids(hits), *scores))) == order.split()


def test_the_best_hit_of_a_document_decides_even_if_its_index_is_late():
    context = assemble(hits_of(ids("A9 B1 A0")), AssemblyConfig(cite="document"))
    assert standing(context) == ["A0", "A9", "B1"]
    assert context.citations[0].best_chunk_id == "A9"


def test_documents_are_ordered_by_the_hits_that_the_budget_left():
    """A's best hit does not fit, so what stands of A is a worse hit than B's."""
    long = Chunk("A0", "A", "word " * 200, index=0)
    context = assemble(hits_of([CHUNKS["C1"], long, CHUNKS["B1"], CHUNKS["A5"]]), AssemblyConfig(max_tokens=90))
    assert standing(context) == ["C1", "B1", "A5"]


@pytest.mark.parametrize(
    ("rule", "cite", "labels"),
    [
        (
            "cite='document': a document's passages stay together",
            "document",
            [("1", ("A1", "A2", "A7")), ("2", ("B2",))],
        ),
        ("with 'passage' each has its own label", "passage", [("1", ("A1", "A2")), ("2", ("A7",)), ("3", ("B2",))]),
        ("or 'chunk'", "chunk", [("1", ("A1",)), ("2", ("A2",)), ("3", ("A7",)), ("4", ("B2",))]),
    ],
)
def test_what_has_a_label_of_its_own(rule: str, cite: str, labels: list[tuple[str, tuple[str, ...]]]):
    assert cited(assemble(hits_of(ids("A7 B2 A1 A2")), AssemblyConfig(cite=cite))) == labels  # type: ignore[arg-type]


def test_with_a_label_for_each_chunk_a_sentence_of_two_is_under_the_first_which_cites_both():
    chunks = [
        Chunk("D0", "D", "The pool opens at nine. Stop taking blood thinners five", 0),
        Chunk("D1", "D", "days before the biopsy. The biopsy takes an hour.", 1),
    ]
    context = assemble(hits_of(chunks), AssemblyConfig(cite="chunk", fill=True), query="When is the biopsy?")
    assert cited(context) == [("1", ("D0", "D1")), ("2", ("D1",))]
    assert context.blocks[1].text.endswith("\nThe biopsy takes an hour.")
    assert "[...]" not in context.text


# Each is one token, with the blank before it: here the lower bound is the count.
