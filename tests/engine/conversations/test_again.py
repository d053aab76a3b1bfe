"""The hits behind a context, assembled once more."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.conversations.messages import rehydrate_hits

CHUNKS = [Chunk(f"a#{at}", "a", f"Rule {at} tells of water{at}.", at, metadata={"source": "a.pdf"}) for at in range(7)]


def test_a_context_assembled_again_says_the_same() -> None:
    for config in (AssemblyConfig(), AssemblyConfig(cite="chunk", format="xml"), AssemblyConfig(enabled=False)):
        hits = [Hit(CHUNKS[5], 0.9), Hit(CHUNKS[1], 0.5)]
        context = assemble(hits, config, store=MemoryStore(CHUNKS))
        again = assemble(rehydrate_hits(context), config)
        if config.enabled:
            assert again.text == context.text
        assert {each for passage in again.passages for each in passage.chunk_ids} == {
            each for passage in context.passages for each in passage.chunk_ids
        }


def test_hits_come_before_neighbors_with_their_scores() -> None:
    context = assemble([Hit(CHUNKS[5], 0.9), Hit(CHUNKS[1], 0.5)], store=MemoryStore(CHUNKS))
    hits = rehydrate_hits(context)
    assert [hit.chunk.id for hit in hits[:2]] == ["a#5", "a#1"]
    assert [hit.score for hit in hits[:2]] == [0.9, 0.5]
    assert {hit.chunk.id for hit in hits[2:]} == {"a#0", "a#2", "a#4", "a#6"}


def test_neighbors_come_once() -> None:
    """Else each assembly would bring those of the neighbors before."""
    context = assemble([Hit(CHUNKS[3])], store=MemoryStore(CHUNKS))
    again = assemble(rehydrate_hits(context), store=MemoryStore(CHUNKS))
    assert again.text == context.text
    assert again.trace.round_trips == 0


def test_the_mark_is_in_its_metadata_alone() -> None:
    context = assemble([Hit(CHUNKS[3])])
    assert rehydrate_hits(context)[0].chunk.metadata == {"source": "a.pdf", "no_neighbors": True}
    assert "no_neighbors" not in CHUNKS[3].metadata


def test_a_chunk_that_was_shortened_comes_back_whole() -> None:
    long = Chunk("b", "b", " ".join(f"Rule {at} tells of water{at}." for at in range(40)))
    context = assemble([Hit(long)], AssemblyConfig(max_tokens=40), query="water7")
    assert len(context.text) < len(long.text)
    assert [hit.chunk.text for hit in rehydrate_hits(context)] == [long.text]
