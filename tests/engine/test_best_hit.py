"""The best hit is never lost to something lesser: what doesn't fit whole stands in part, and that is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import count, decision, hits_of, standing
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from ctxassembly.presets import BY_USE

PROSE = " ".join(f"Sentence {n} of the lease says that the tenant pays by the third of the month." for n in range(700))
TABLE = "\n".join(f"| Room {n} | floor {n % 9} | {n * 3} euros | let |" for n in range(900))
CODE = "def check(lease):\n" + "\n".join(f"    if lease.month == {n}:\n        return fees[{n}]" for n in range(700))
LONG = {"prose": PROSE, "table": TABLE, "code": CODE}
PARKING = Chunk("p0", "parking", "Parking is free.", index=0)


def stands_first(context: Context, text: str, limit: int) -> str:
    """The best hit's part of the context, once that it stands is flagged wherever one may look."""
    assert 0.9 * limit < context.token_count == count(context.text) <= limit
    assert decision(context, "l0").is_in_context
    (shortened,) = [each for each in context.trace.shortened if each.chunk_id == "l0"]
    assert any(shortened in each.shortened for each in context.citations)
    assert "[...]" in context.text
    assert any("'l0'" in note for note in context.trace.notes)
    (source,) = [each for each in context.provenance if each.chunk_id == "l0"]
    written = context.text[slice(*source.span)]
    assert text.startswith(written)
    return written


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"granularity": "chunk"},
        {"granularity": "passage"},
        {"granularity": "sentence"},
        {"rank_by": "rank"},
        {"enabled": False},
    ],
    ids=str,
)
def test_a_best_hit_larger_than_the_budget_stands_up_to_the_end_of_a_sentence_or_line(
    kind: str, options: dict[str, Any]
):
    hits = [Hit(Chunk("l0", "lease", LONG[kind], index=0), 0.9), Hit(PARKING, 0.8)]
    written = stands_first(assemble(hits, AssemblyConfig(**options)), LONG[kind], 8_000)
    assert written.endswith("." if kind == "prose" else ("|", ":", "]"))


CLAUSE = (
    f"{'Where the lessee fails to remedy a breach within fourteen days of a notice in writing, ' * 8}the lease ends."
)
SPOKEN = "".join(chr(0x4E00 + n * 7 % 997) for n in range(1_800))
TRANSCRIPT = f"{SPOKEN}租客每月三日前付租金{SPOKEN[::-1]}"


@pytest.mark.parametrize("limit", [40, 80, 120])
@pytest.mark.parametrize("place", [0, 1])
def test_a_sentence_that_answers_is_cut_before_a_lesser_hit_stands_in_its_place(limit: int, place: int):
    hits = [Hit(PARKING)]
    hits.insert(place, Hit(Chunk("l0", "lease", CLAUSE, index=0)))
    context = assemble(hits, AssemblyConfig(max_tokens=limit), query="What if the lessee fails to remedy a breach?")
    assert 0.7 * limit < context.token_count <= limit
    assert decision(context, "l0").outcome == "cut"
    assert "fails to remedy a breach within fourteen days" in context.text


def test_text_without_stops_or_blanks_is_not_left_out_whole():
    hits = hits_of([Chunk("l0", "lease", TRANSCRIPT, index=0), PARKING])
    for query in ("租客付租金", "Where may I park?"):
        context = assemble(hits, AssemblyConfig(max_tokens=1_000), query=query)
        assert context.token_count > 400
        assert decision(context, "l0").outcome == "cut"
        assert ("租客每月三日前付租金" in context.text) == (query == "租客付租金")


def test_beside_a_best_hit_that_is_cut_the_next_one_that_fits_is_read():
    lease = Chunk("l0", "lease", f"The lease ends in May. {CLAUSE}", index=0)
    context = assemble(hits_of([lease, PARKING]), AssemblyConfig(max_tokens=40))
    assert [decision(context, name).outcome for name in ("l0", "p0")] == ["cut", "kept"]


@pytest.mark.parametrize("name", BY_USE)
@pytest.mark.parametrize("kind", LONG)
def test_no_preset_loses_the_best_hit(name: str, kind: str):
    vectors = [(1.0, 0.0), (0.0, 1.0)]
    hits = [Hit(Chunk("l0", "lease", LONG[kind], vector=vectors[0]), 0.9), Hit(replace(PARKING, vector=vectors[1]))]
    config = replace(BY_USE[name], max_tokens=2_000)
    context = assemble(hits, config)
    assert decision(context, "l0").is_in_context
    assert context.trace.shortened
    assert context.token_count > 1_600


def test_what_is_ranked_higher_is_shortened_before_what_is_ranked_lower_stands_in_its_place():
    hits = hits_of([Chunk(f"l{n}", f"lease {n}", PROSE[: 80 * 100], index=0) for n in range(3)] + [PARKING])
    context = assemble(hits, AssemblyConfig(dedup="none", max_tokens=3_000))
    assert [decision(context, f"l{n}").outcome for n in range(3)] == ["kept", "cut", "dropped"]
    assert context.token_count > 2_900


def test_what_may_be_kept_or_dropped_only_whole_is():
    hits = hits_of([Chunk(f"l{n}", f"lease {n}", PROSE[: 80 * 100], index=0) for n in range(3)] + [PARKING])
    context = assemble(hits, AssemblyConfig(granularity="chunk", dedup="none", max_tokens=3_000))
    assert standing(context) == ["l0", "p0"]


def test_a_lesser_hit_that_answers_better_is_named_in_the_note():
    other = " ".join(f"The council sent letter {n} on the fence." for n in range(30))
    hits = hits_of([Chunk("f", "fence", other), Chunk("r", "rent", "The rent is due on the third of the month.")])
    for fill, reason in ((True, "budget"), (False, "below the minimum relevance")):
        config = AssemblyConfig(max_tokens=25, fill=fill)
        context = assemble(hits, config, query="When is the rent due?")
        assert standing(context) == ["r"]
        note = f"{reason}: the best hit, 'f', makes room for 'r', more relevant to the query"
        assert note in context.trace.notes


def test_a_best_hit_of_one_word_is_no_scrap_beside_a_long_chunk():
    chunks = [Chunk("p0", "p", "Paid.", index=0), Chunk("p1", "p", PROSE[:2_000], index=1)]
    for query in ("Paid?", "What about hippos?"):
        context = assemble(hits_of(chunks), AssemblyConfig(max_tokens=60), query=query)
        assert decision(context, "p0").outcome == "kept"
        assert "Paid." in context.text
