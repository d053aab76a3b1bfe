"""What became of each chunk, in the trace: its outcome, its reason, its worth, and what was said in part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import decision, hits_of, numbered, split
from ctxassembly import AssemblyConfig, Chunk, Context, Decision, Hit, MemoryStore, assemble
from ctxassembly.data.trace import Shortened, Trace
from strategies import words

TEXT = numbered("w", 90)
PIECES = split("A", TEXT, size=120, overlap=40)
COPY = Chunk("copy", "C", PIECES[0].text)
INSIDE = Chunk("inside", "A", PIECES[1].text[10:60], 2)
LONG = Chunk("long", "L", "word " * 300)
EMPTY = Chunk("empty", "E", "\n")


@pytest.fixture(scope="module")
def context() -> Context:
    hits = hits_of([PIECES[0], PIECES[1], COPY, INSIDE, LONG, EMPTY], 0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
    config = AssemblyConfig(max_tokens=100, encoding=words)
    return assemble(hits, config, store=MemoryStore([*PIECES[:2], INSIDE]))


@pytest.mark.parametrize(
    ("rule", "chunk_id", "outcome", "reason", "because_of", "stripped"),
    [
        ("kept, a hit", "A0", "kept", "hit", None, 0),
        ("kept, stripped of what the chunk before has", "A1", "kept", "hit", None, 40),
        ("a duplicate, because of the kept one", "copy", "duplicate", "duplicate", "A0", 0),
        ("contained in the one before, where its whole text stands", "inside", "contained", "contained", "A1", 50),
        ("dropped for the budget", "long", "dropped", "budget", None, 0),
        ("dropped as empty", "empty", "dropped", "empty", None, 0),
    ],
)
def test_what_became_of_each(
    context: Context, rule: str, chunk_id: str, outcome: str, reason: str, because_of: str | None, stripped: int
):
    decided = decision(context, chunk_id)
    assert (decided.outcome, decided.reason) == (outcome, reason)
    assert (decided.because_of, decided.stripped_chars) == (because_of, stripped)


def test_a_kept_chunk_names_its_copies(context: Context):
    assert decision(context, "A0").replaced == ("copy",)


def test_tokens_are_given_for_what_was_left_out_alone(context: Context):
    told = {each.chunk_id: each.tokens for each in context.trace.decisions if each.tokens is not None}
    assert told == {"long": pytest.approx(303, rel=0.05)}  # by its length
    assert context.trace.excluded == (decision(context, "long"),)


SENTENCES = Chunk("said", "S", "Parking is free here. The visit takes long. Doors close at ten.")
LONGER = Chunk("longer", "T", numbered("t", 20) + ".")


EXTRACTIVE = {"compress": "extractive"}


@pytest.mark.parametrize(
    ("rule", "limit", "options", "outcome", "reason", "after"),
    [
        ("kept whole", 12, EXTRACTIVE, "kept", "hit", None),
        ("cut to what fits", 9, {"rank_by": "rank"}, "cut", "budget", 8),
        ("compressed", 11, EXTRACTIVE, "compressed", "extractive", 8),
    ],
)
def test_what_stands_in_part(rule: str, limit: int, options: Any, outcome: str, reason: str, after: int | None):
    config = AssemblyConfig(max_tokens=limit, encoding=words, format="minimal", **options)
    context = assemble(hits_of([SENTENCES]), config, query="long visit doors")
    decided = decision(context, "said")
    assert (decided.outcome, decided.reason, decided.tokens) == (outcome, reason, None)
    part = None if after is None else Shortened("said", reason, 12, after)  # type: ignore[arg-type]
    assert decided.shortened == part
    assert context.trace.shortened == ((part,) if part else ())


def test_the_trace_tells_compressed_from_truncated_and_totals_over_calls():
    """The rule: compressed isn't truncated; shares of compressed text and of excluded chunks; totals over calls."""
    compressing = AssemblyConfig(max_tokens=11, encoding=words, format="minimal", **EXTRACTIVE)
    cutting = replace(compressing, max_tokens=9, compress="none", rank_by="rank")
    dropping = replace(cutting, granularity="chunk", max_tokens=12)
    hits = hits_of([SENTENCES]), hits_of([SENTENCES]), hits_of([SENTENCES, LONGER])
    traces = [
        assemble(given, config, query="long visit doors").trace
        for given, config in zip(hits, (compressing, cutting, dropping), strict=True)
    ]
    assert [(len(one.compressed), len(one.truncated), len(one.excluded)) for one in traces] == [
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    assert [" compressed from 12 to 8 tokens" in one.summary for one in traces] == [True, False, False]
    assert [" shortened from 12 to 8 tokens" in one.summary for one in traces] == [False, True, False]
    total = Trace.total(traces)
    assert (total.hits, total.chunks, len(total.decisions)) == (4, 4, 4)
    assert total.token_count == sum(one.token_count for one in traces)
    assert total.compressed_share == 8 / total.token_count
    assert total.excluded_share == 1 / 4
    assert "1 chunk left out, 1 chunk shortened from 12 to 8 tokens, 1 chunk compressed from 12 to 8" in total.summary
    names = [stage.name for stage in total.stages]
    assert len(names) == len(set(names))
    assert sum(stage.elapsed_ms for stage in total.stages) == pytest.approx(
        sum(stage.elapsed_ms for one in traces for stage in one.stages)
    )
    assert Trace.total([]) == Trace()


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
