"""A chunk whose overlap stands in its neighbor, while its own sentences found no room, is lost: the trace says so."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, Chunk, Context, Decision, Hit, assemble

ALARM = "Bij koorts, zwarte ontlasting of hevige buikpijn belt u direct met de polikliniek."
SHARED = "De arts vertelt u na het onderzoek wat er te zien was."
RESULT = "De uitslag van het weefselonderzoek krijgt u na een week van de arts die het heeft aangevraagd."
QUERY = "Met wie bel ik bij hevige buikpijn na het onderzoek?"


def decided(context: Context, chunk_id: str) -> Decision:
    return next(each for each in context.trace.decisions if each.chunk_id == chunk_id)


def leaflet(max_tokens: int) -> Context:
    chunks = [Chunk("g0", "g", f"{ALARM} {SHARED}", 0), Chunk("g1", "g", f"{SHARED} {RESULT}", 1)]
    hits = [Hit(chunks[0], 0.9), Hit(chunks[1], 0.5)]
    return assemble(hits, AssemblyConfig(max_tokens=max_tokens), query=QUERY)


def test_a_chunk_of_which_the_overlap_alone_stands_is_lost_for_the_budget() -> None:
    context = leaflet(65)
    assert SHARED in context.text
    assert RESULT not in context.text
    lost = decided(context, "g1")
    assert (lost.outcome, lost.reason, lost.because_of) == ("dropped", "budget", None)
    assert lost.tokens
    assert [each.chunk_id for each in context.trace.excluded] == ["g1"]
    assert "1 chunk left out" in context.trace.summary


def test_a_chunk_that_stands_in_another_whole_is_contained_still() -> None:
    parent = Chunk("page", "g", f"{ALARM} {SHARED}", 0, 0)
    context = assemble([Hit(parent), Hit(Chunk("sentence", "g", SHARED, 1, len(ALARM) + 1))], query=QUERY)
    assert decided(context, "sentence").outcome == "contained"
    assert context.trace.excluded == ()
