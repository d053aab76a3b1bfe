"""What adapters tell of a context."""

from __future__ import annotations

import datetime as dt
import json

from builders import words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.integrations.metadata import ContextPayload, block_metadata
from ctxassembly.serialization import trace_to_plain

CHUNKS = [words_of("A", n, metadata={"page": n, "when": dt.date(2024, 1, 2)}) for n in range(9)]
CONTEXT = assemble([Hit(CHUNKS[5], 0.9), Hit(CHUNKS[1])], store=MemoryStore(CHUNKS))


def test_what_goes_with_each_block():
    (metadata,) = block_metadata(ContextPayload(CONTEXT))
    assert json.loads(json.dumps(metadata)) == metadata
    assert metadata["chunk_ids"] == ["A0", "A1", "A2", "A4", "A5", "A6"]
    assert metadata["scores"] == {"A5": 0.9}
    assert metadata["citation"]["label"] == "1"
    assert (metadata["citation"]["page"], metadata["citation"]["pages"]) == (5, [1, 2, 4, 5, 6])
    assert "metadata" not in metadata["citation"]
    assert metadata["trace"] == trace_to_plain(CONTEXT.trace)


def test_the_block_of_a_supplement_has_no_citation():
    _, metadata = block_metadata(ContextPayload(assemble([Hit(CHUNKS[5], 0.9)], supplement="Facts.")))
    assert metadata.keys() == {"supplement", "chunk_ids", "scores"}
    assert metadata["supplement"] == {"text": "Facts."}


def test_what_stands_in_part_is_flagged_in_citation_and_trace():
    """With tokens before and after."""
    text = "Parking is free here. The visit takes long. Doors close at ten."
    config = AssemblyConfig(max_tokens=9, encoding=lambda text: len(text.split()), compress="extractive")
    context = assemble([Hit(Chunk("a", "A", text))], config, query="long visit")
    (metadata,) = block_metadata(ContextPayload(context))
    assert json.loads(json.dumps(metadata)) == metadata
    part = {"chunk_id": "a", "by": "extractive", "tokens_before": 12, "tokens_after": 4}
    assert metadata["citation"]["shortened"] == [part]
    assert metadata["trace"]["decisions"][0]["shortened"] == part
    assert metadata["trace"]["decisions"][0]["outcome"] == "compressed"
    (whole,) = block_metadata(ContextPayload(assemble([Hit(Chunk("a", "A", text))])))
    assert whole["citation"]["shortened"] == []
    assert whole["trace"]["decisions"][0]["shortened"] is None


def test_the_trace_goes_with_the_first_block_alone():
    """Of 20 labels it was 13 times as long as all their text."""
    hits = [Hit(words_of(name, 0), 0.5) for name in "ABCDEFGHIJKLMNOPQRST"]
    for context in (assemble(hits), assemble(hits, supplement="Facts.")):
        first, *others = block_metadata(ContextPayload(context))
        assert first["trace"] == trace_to_plain(context.trace)
        assert not any("trace" in each for each in others)
    assert block_metadata(ContextPayload(assemble([]))) == []
