from __future__ import annotations

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.citations.references import Reference


def chunk(document_id: str, index: int, **metadata: object) -> Chunk:
    return Chunk(f"{document_id}{index}", document_id, f"{document_id}, part {index}.", index=index, metadata=metadata)


@pytest.mark.parametrize("form", ["numbered", "xml", "minimal"])
def test_the_same_sources_without_labels(form: str):
    chunks = [
        chunk("B", 4, source="b.pdf", page=5, section="Dose", title="B", url="https://b.example/"),
        chunk("A", 0),
        chunk("B", 3, source="b.pdf", page=4),
        chunk("B", 9, source="b.pdf", page_label="iv"),
        chunk("B", 2, source="b.pdf", page=4),
    ]
    context = assemble(hits_of(chunks), AssemblyConfig(format=form))
    assert context.sources() == (
        Reference("B", "b.pdf", "B", "https://b.example/", "Dose", pages=("iv", 4, 5)),
        Reference("A"),
    )


def test_the_place_is_that_of_the_first_chunk_that_names_one():
    """A row of one chunk on the sheet of another would be a place that isn't there."""
    chunks = [
        chunk("A", 0, source="prices.xlsx"),
        chunk("A", 1, sheet="Q1", row_number="4"),
        chunk("A", 2, sheet="Q2", section="Totals", row_number=5, start_line=9),
        chunk("B", 0, start_line=0),
    ]
    assert assemble(hits_of(chunks)).sources() == (
        Reference("A", "prices.xlsx", sheet="Q1", row=4),
        Reference("B", start_line=0),
    )
