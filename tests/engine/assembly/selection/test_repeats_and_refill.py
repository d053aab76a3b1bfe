"""Where sentences stood that are said once, others come in."""

from __future__ import annotations

import pytest

from builders import count, decision, hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, assemble

RULE = "Cards are issued on the ground floor and are valid for a year. Maps may be looked at under supervision only."
ONCE, TWICE = Chunk("once", "once", RULE), Chunk("twice", "twice", f"{RULE} {RULE}")
LATE = Chunk("late", "late", "Nobody may bring food or drink into the reading rooms.")
HALF, WHOLE = (
    count(assemble(hits_of([ONCE, Chunk("twice", "twice", text)]), AssemblyConfig(dedup="none")).text)
    for text in (f"{RULE} [...]", TWICE.text)
)


@pytest.mark.parametrize("limit", range(HALF, WHOLE))
def test_the_other_half_of_a_chunk_that_says_twice_what_stands_takes_nobodys_room(limit: int):
    """A budget that cuts the chunk in two leaves a half out. It must not wait for room, since it says nothing else."""
    context = assemble(hits_of([ONCE, TWICE, LATE]), AssemblyConfig(max_tokens=limit))
    assert decision(context, "once").outcome == decision(context, "late").outcome == "kept"
    assert (decision(context, "twice").outcome, decision(context, "twice").because_of) == ("duplicate", "once")


@pytest.mark.parametrize(("words", "comes_in"), [(100, True), (3_000, False)])
def test_others_come_in_where_more_than_next_to_nothing_of_the_room_is_left(words: int, comes_in: bool):
    before = [ONCE, Chunk("long", "long", numbered("word", words)), Chunk("again", "again", f"Rules. {RULE} {RULE}")]
    full = count(assemble(hits_of(before), AssemblyConfig(max_tokens=30_000, dedup="none")).text)
    context = assemble(hits_of([*before, LATE]), AssemblyConfig(max_tokens=full))
    assert decision(context, "again").outcome == "cut"
    assert decision(context, "late").outcome == ("kept" if comes_in else "dropped")
