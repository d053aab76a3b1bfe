from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from builders import words_of
from ctxassembly import Chunk, Context, Hit, Trace, assemble

CONTEXT = assemble([Hit(words_of("A", 1), 0.5)])


@pytest.mark.parametrize(
    "value",
    [
        *(words_of("A", 1), Hit(words_of("A", 1)), CONTEXT, CONTEXT.trace, CONTEXT.trace.decisions[0]),
        *(CONTEXT.citations[0], CONTEXT.provenance[0], CONTEXT.passages[0], CONTEXT.blocks[0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_is_frozen_and_slotted(value: Any):
    name = value._fields[0] if isinstance(value, tuple) else fields(value)[0].name
    with pytest.raises(AttributeError):
        setattr(value, name, None)
    assert not hasattr(value, "__dict__")


def test_chunks_are_hashable_whatever_their_metadata():
    assert len({Chunk("a", "A", "t", metadata={"x": []}), Chunk("a", "A", "t", metadata={"x": []})}) == 1


@pytest.mark.parametrize(
    ("trace", "summary"),
    [
        (
            Trace(),
            (
                "0 -> 0 chunks, 0 overlapping characters stripped, 0 documents dropped for budget, "
                "0 of 0 tokens, 0 queries"
            ),
        ),
        (
            Trace(hits=8, chunks=17, documents_dropped=1, token_count=3_912, max_tokens=4_000, round_trips=1),
            (
                "8 -> 17 chunks, 0 overlapping characters stripped, 1 document dropped for budget, "
                "3,912 of 4,000 tokens, 1 query"
            ),
        ),
    ],
)
def test_the_summary_is_one_line(trace: Trace, summary: str):
    assert trace.summary == summary


def test_the_notes_stand_under_the_summary():
    trace = Trace(notes=("store: no neighbors",))
    assert str(trace) == f"{trace.summary}\nstore: no neighbors"


def test_a_context_prints_as_its_text():
    assert str(CONTEXT) == CONTEXT.text
    assert str(Context("text", 1)) == "text"


def test_time_spent_makes_no_two_traces_different():
    assert assemble([Hit(words_of("A", 1), 0.5)]) == CONTEXT
