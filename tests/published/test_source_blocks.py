"""The published `[SOURCE n]` system: each rule as it is described, through every door."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import Chunk, Hit
from ctxassembly.published import SourceBlocks
from doors import Door


def hit(n: int, text: str, score: float | None = None, **metadata: Any) -> Hit:
    return Hit(Chunk(f"c{n}", f"d{n}", text, n, metadata=metadata), score)


@pytest.mark.parametrize(
    ("rule", "metadata", "header"),
    [
        ("file and section", {"source": "a.pdf", "section": "Visitors"}, "[SOURCE 1] a.pdf § Visitors"),
        (
            "else sheet and row",
            {"source": "a.xlsx", "sheet": "Rates", "row_number": 7},
            "[SOURCE 1] a.xlsx § Rates Row 7",
        ),
        ("else the file alone", {"source": "a.pdf", "page": 3}, "[SOURCE 1] a.pdf"),
    ],
)
def test_each_chunk_is_below_its_file_and_section(door: Door, rule: str, metadata: dict[str, Any], header: str):
    assert door(SourceBlocks(), [hit(0, "Visits end at eight.", **metadata)]).text == f"{header}\nVisits end at eight."


def test_the_order_is_as_given_and_copies_stay(door: Door):
    hits = [hit(0, "Low.", 0.1, source="a"), hit(1, "High.", 0.9, source="b"), hit(2, "Low.", 0.1, source="a")]
    context = door(SourceBlocks(), hits)
    assert context.text == "[SOURCE 1] a\nLow.\n\n[SOURCE 2] b\nHigh.\n\n[SOURCE 3] a\nLow."
    assert [citation.chunk_ids for citation in context.citations] == [("c0",), ("c1",), ("c2",)]


def test_it_stops_at_the_first_entry_that_exceeds_the_cap_its_blank_line_counted(door: Door):
    texts = ["x" * 30, "y" * 90, "z"]
    hits = [hit(n, text, source="a") for n, text in enumerate(texts)]
    entries = [f"[SOURCE {n}] a\n{text}\n\n" for n, text in enumerate(texts, 1)]
    both = len(entries[0] + entries[1])
    assert len(door(SourceBlocks(max_context_chars=both), hits).citations) == 2
    context = door(SourceBlocks(max_context_chars=both - 1), hits)
    assert context.text == entries[0].rstrip()  # the third would fit, and isn't tried
    assert [one.chunk_id for one in context.trace.excluded] == ["c1", "c2"]
    assert context.trace.max_characters == both - 1
    assert len(door(SourceBlocks(max_context_chars=both - 2, exact=True), hits).text) == both - 2


def test_a_snippet_has_the_characters_that_are_asked_for(door: Door):
    (citation,) = door(SourceBlocks(snippet_chars=20), [hit(0, "Visits end at eight in the evening.")]).citations
    assert citation.snippet == "Visits end at eight"


def test_a_supplement_follows_below_its_line(door: Door):
    context = door(SourceBlocks(), [hit(0, "Text.", source="a")], supplement="Rooms have numbers.")
    assert context.text == "[SOURCE 1] a\nText.\n\n--- SUPPLEMENTARY INFORMATION ---\nRooms have numbers."
