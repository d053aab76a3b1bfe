"""A splitter by tokens cuts characters: the half at a chunk's edge goes where the other chunk has the whole."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble
from langchain_ctxassembly import ContextAssembler, number_chunks

HALF = "\ufffd"
CHINESE = "检查前六小时请勿进食。检查前两小时可以喝水。如果医生同意，才能服用抗凝药。"
EMOJI = (
    "Take the \U0001f48a at noon, rest \U0001f6cc for an hour \U0001f550 and walk home \U0001f3e0 with care \U0001f6b6."
)
HINDI = "जांच से छह घंटे पहले कुछ न खाएं। पानी पी सकते हैं।"


def cut(text: str, size: int, overlap: int) -> list[str]:
    """Cut `text` by characters; the character at each edge becomes a half, as if it had been cut."""
    spans = [(at, min(at + size, len(text))) for at in range(0, len(text) - overlap, size - overlap)]
    return [
        HALF * (first > 0) + text[first + (first > 0) : last - (last < len(text))] + HALF * (last < len(text))
        for first, last in spans
    ]


@pytest.mark.parametrize("text", [CHINESE, EMOJI, HINDI])
@pytest.mark.parametrize(("size", "overlap"), [(24, 12), (30, 14)])
def test_halves_are_neither_compared_nor_read(text: str, size: int, overlap: int):
    texts = cut(text, size, overlap)
    documents = [Document(piece, metadata={"source": "leaflet.md"}) for piece in texts]
    config = AssemblyConfig(neighbors="unfiltered")
    context = ContextAssembler(config=config).as_context().invoke(number_chunks(documents))
    assert context.passages[0].text == text
    said = {hit.chunk.id: hit.chunk.text for hit in context.hits}
    for source in context.provenance:
        assert context.text[slice(*source.span)] == said[source.chunk_id][slice(*source.chunk_span)]


def test_a_half_of_which_no_chunk_has_the_whole_stays():
    chunks = [
        Chunk("a#0", "a", f"Take the pill{HALF}", 0),
        Chunk("a#1", "a", f"{HALF}at noon, and rest for an hour.", 1),
    ]
    assert assemble(hits_of(chunks)).text.count(HALF) == 2
