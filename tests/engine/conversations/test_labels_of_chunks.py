"""Chunks with a label each, read in another order than in their document: which of two has the text that they share."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from builders import decision, hits_of, split
from ctxassembly import AssemblyConfig, Context, assemble

TEXT = ". ".join(f"Sentence {n} tells the reader number {n} of many things" for n in range(40)) + "."
CHUNKS = split("D", TEXT, size=260, overlap=60, metadata={"source": "d.pdf"})
JOINED = AssemblyConfig(format="source", cite="chunk", order="relevance", window=0, granularity="chunk", rank_by="rank")
"""A label for each chunk, with overlap stripped."""


def texts(context: Context) -> list[str]:
    return [block.text.split("\n", 1)[1] for block in context.blocks]


def test_the_overlap_stays_in_the_chunk_that_is_earlier_in_the_document():
    later, earlier = CHUNKS[4], CHUNKS[3]
    context = assemble(hits_of([later, earlier], 0.9, 0.8), JOINED)
    first, second = texts(context)
    assert first == later.text[60:].strip()
    assert second == earlier.text.strip()
    assert decision(context, earlier.id).stripped_chars == 0
    assert decision(context, later.id).stripped_chars == 60


@pytest.mark.parametrize("ranked", [[5, 4, 3], [4, 5, 3], [3, 5, 4], [4, 3, 5], [5, 3, 4]])
@pytest.mark.parametrize("order", ["relevance", "edges", "interleaved", "reverse", "documents", "document_order"])
def test_all_of_it_stands_once_and_no_label_begins_with_a_blank(ranked: list[int], order: str):
    config = replace(JOINED, order=order)
    context = assemble(hits_of([CHUNKS[n] for n in ranked]), config)
    assert len(context.citations) == 3
    for text in texts(context):
        assert text == text.strip()
    said = sorted((source.start or 0, source.end or 0) for source in context.provenance)
    assert all(one[1] <= two[0] <= one[1] + 1 for one, two in pairwise(said))
    for source in context.provenance:
        assert TEXT[source.start : source.end] == context.text[slice(*source.span)]
