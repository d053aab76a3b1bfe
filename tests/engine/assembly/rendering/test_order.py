from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import cited, count, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, assemble

CHUNKS = {f"{name}{n}": words_of(name, n) for name in "ABCDEFG" for n in range(10)}


def ids(names: str) -> list[Chunk]:
    return [CHUNKS[name] for name in names.split()]


def read(names: str, **options: Any) -> str:
    """The chunks in the order in which they are read."""
    return " ".join(standing(assemble(hits_of(ids(names)), AssemblyConfig(**options))))


@pytest.mark.parametrize(
    ("rule", "order", "letters"),
    [
        ("A B C D E -> A C D E B; three or fewer: descending", "edges", ["", "A", "AB", "ABC", "ACDB", "ACDEB"]),
        (
            "1 3 5 ... 6 4 2, the same end for even and odd n; three give 1 3 2",
            "interleaved",
            ["", "A", "AB", "ACB", "ACDB", "ACEDB", "ACEFDB", "ACEGFDB"],
        ),
    ],
)
def test_by_rank(rule: str, order: str, letters: list[str]):
    for n, expected in enumerate(letters):
        ranked = " ".join(f"{letter}0" for letter in "ABCDEFG"[:n])
        assert read(ranked, order=order) == " ".join(f"{letter}0" for letter in expected)


@pytest.mark.parametrize(
    ("order", "documents", "passages", "chunks"),
    [
        ("documents", "B1 B2 A5 A8 D0", "B1 B2 A5 A8 D0", "B1 B2 A5 A8 D0"),
        ("relevance", "B1 B2 A5 A8 D0", "B1 B2 A8 D0 A5", "B2 A8 D0 B1 A5"),
        ("edges", "B1 B2 A5 A8 D0", "B1 B2 D0 A5 A8", "B2 D0 B1 A5 A8"),
        ("interleaved", "B1 B2 D0 A5 A8", "B1 B2 D0 A5 A8", "B2 D0 A5 B1 A8"),
        ("reverse", "D0 A5 A8 B1 B2", "A5 D0 A8 B1 B2", "A5 B1 D0 A8 B2"),
        ("stable", "A5 A8 B1 B2 D0", "A5 A8 B1 B2 D0", "A5 A8 B1 B2 D0"),
    ],
)
def test_what_is_cited_has_its_own_place_and_label(order: str, documents: str, passages: str, chunks: str):
    """Passages of a document stay together, and adjacent chunks stay one passage, where these are cited."""
    for cite, expected in (("document", documents), ("passage", passages), ("chunk", chunks)):
        assert read("B2 A8 D0 B1 A5", order=order, cite=cite) == expected
    context = assemble(hits_of(ids("B2 A8 D0 B1 A5")), AssemblyConfig(order=order, cite="passage"))  # type: ignore[arg-type]
    assert [label for label, _ in cited(context)] == ["1", "2", "3", "4"]
    assert [block.text.split(" ")[0] for block in context.blocks] == ["[1]", "[2]", "[3]", "[4]"]


@pytest.mark.parametrize("order", ["relevance", "edges", "interleaved", "document_order", "reverse", "stable"])
def test_a_summary_stands_before_the_first_passage_that_is_read(order: str):
    chunks = [replace(each, metadata={"page_summary": f"On {each.document_id}."}) for each in ids("A8 B1 A2 B5 A5")]
    context = assemble(hits_of(chunks), AssemblyConfig(order=order, cite="passage"))  # type: ignore[arg-type]
    said = [block.text.count("[Page context: ") for block in context.blocks]
    documents = [citation.document_id for citation in context.citations]
    assert said == [documents[:n].count(document) == 0 for n, document in enumerate(documents)]
    assert context.token_count == count(context.text)


def paged(document_id: str, n: int, **metadata: Any) -> Chunk:
    return replace(words_of(document_id, n), metadata=metadata)


@pytest.mark.parametrize(
    ("rule", "chunks", "order"),
    [
        ("by source", [paged("A", 0, source="z.pdf"), paged("B", 0, source="a.pdf")], "B0 A0"),
        (
            "by page",
            [paged("A", 0, source="a", page=10), paged("B", 0, source="a", page=9), paged("C", 0, source="a")],
            "C0 B0 A0",
        ),
        ("numbers before other pages", [paged("A", 0, page="iv"), paged("B", 0, page=9)], "B0 A0"),
        (
            "inside a document its own order is surer than page labels",
            [paged("A", 3, page=1), paged("A", 0, page="iv"), paged("A", 7)],
            "A0 A3 A7",
        ),
        ("by document where source and page are the same", [paged("B", 0), paged("A", 9), paged("A", 1)], "A1 A9 B0"),
    ],
)
@pytest.mark.parametrize("cite", ["document", "passage"])
def test_document_order(rule: str, chunks: list[Chunk], order: str, cite: str):
    config = AssemblyConfig(order="document_order", cite=cite)  # type: ignore[arg-type]
    assert " ".join(standing(assemble(hits_of(chunks), config))) == order


def test_stable_keeps_the_beginning_between_turns():
    """Another ranking of the same chunks gives the same text; new ones come in where they belong."""
    config = AssemblyConfig(order="stable", cite="passage")
    first = assemble(hits_of(ids("B2 A8 A5")), config).text
    assert assemble(hits_of(ids("A5 B2 A8")), config).text == first
    assert assemble(hits_of(ids("D0 A5 B2 C1 A8")), config).text.startswith(first)
    assert not assemble(hits_of(ids("D0 A5 B2")), AssemblyConfig(cite="passage")).text.startswith(first)
