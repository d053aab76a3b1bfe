"""Where sentences stood that are said once, others come in."""

from __future__ import annotations

import pytest

from builders import count, decision, hits_of
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
