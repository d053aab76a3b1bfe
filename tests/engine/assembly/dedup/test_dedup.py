from __future__ import annotations

from dataclasses import replace

import pytest

from builders import decision, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble

A = [words_of("A", n) for n in range(5)]
BEGINNING = "These sixty-four characters stand at the head of both the chunks"
assert len(BEGINNING) == 64

SAME = "The same text, whole."
ONE = Chunk("one", "A", SAME, index=1)


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [("same text", ONE, Chunk("two", "B", SAME)), ("same text after strip", ONE, Chunk("two", "B", f"\n {SAME}\t\n"))],
)
def test_exact_duplicates_collapse_onto_the_better_ranked_one(rule: str, first: Chunk, second: Chunk):
    for better, worse in ((first, second), (second, first)):
        context = assemble([Hit(better, 0.1), Hit(worse, 0.9)])
        assert len(context.passages) == 1
        assert better.text.strip() in context.text
        first_decision, second_decision = context.trace.decisions
        assert (first_decision.outcome, first_decision.replaced) == ("kept", (worse.id,))
        assert (second_decision.outcome, second_decision.reason) == ("duplicate", "duplicate")
        assert second_decision.because_of == better.id


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        (
            "two chunks that share only their first 64 characters both stay",
            Chunk("one", "A", f"{BEGINNING} and end like this."),
            Chunk("two", "B", f"{BEGINNING} and end like that."),
        ),
        ("another case of letters is another text", ONE, Chunk("two", "B", SAME.upper())),
        (
            "same `content_hash`",
            replace(ONE, metadata={"content_hash": "h"}),
            Chunk("two", "B", "Another text.", metadata={"content_hash": "h"}),
        ),
    ],
)
def test_what_only_resembles_stays(rule: str, first: Chunk, second: Chunk):
    context = assemble(hits_of([first, second]))
    assert standing(context) == ["one", "two"]


def test_another_text_is_no_copy_though_its_id_and_index_are_the_same():
    context = assemble(hits_of([ONE, replace(ONE, text="Another text.")]))
    assert SAME in context.text
    assert "Another text." in context.text
    assert [each.outcome for each in context.trace.decisions] == ["kept", "kept"]


def test_a_fetched_neighbor_that_copies_a_hit_adds_nothing():
    copy = replace(A[3], id="A4", index=4)
    context = assemble(hits_of([A[3]]), store=MemoryStore([A[2], A[3], copy]))
    assert standing(context) == ["A2", "A3"]
    assert decision(context, "A4").because_of == "A3"
    assert decision(context, "A3").replaced == ("A4",)


def test_a_copy_of_a_hit_that_the_budget_drops_is_dropped_as_well():
    long = "word " * 300
    hits = hits_of([A[0], Chunk("one", "B", long), Chunk("two", "C", long)])
    context = assemble(hits, AssemblyConfig(max_tokens=60, window=0))
    for name in ("one", "two"):
        assert (decision(context, name).outcome, decision(context, name).reason) == ("dropped", "budget")
        assert decision(context, name).because_of is None
