"""Near duplicates through the whole assembly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import decision, hits_of, lettered, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble

NEAR = AssemblyConfig(dedup="near")
TEXT = lettered(60)
ONE = Chunk("one", "A", TEXT)
EDITED = Chunk("two", "B", TEXT.replace("wada", "other"))
INSIDE = Chunk("inside", "C", " ".join(TEXT.split()[10:30]))


def near(*chunks: Chunk, **options: object) -> Context:
    return assemble(hits_of(chunks), replace(NEAR, **options))


def test_of_two_near_duplicates_the_higher_ranked_survives_and_names_the_other():
    for better, worse in ((ONE, EDITED), (EDITED, ONE)):
        context = near(better, worse)
        assert standing(context) == [better.id]
        assert decision(context, better.id).replaced == (worse.id,)
        dropped = decision(context, worse.id)
        assert (dropped.outcome, dropped.reason, dropped.because_of) == ("duplicate", "near duplicate", better.id)


@pytest.mark.parametrize(
    ("fact", "edit"),
    [
        ("a number", ("5 mg", "50 mg")),
        ("a month", ("in mei", "in juni")),
        ("a name", ("dokter Jansen", "dokter Pietersen")),
        ("a negation", ("mag wel", "mag niet")),
    ],
)
@pytest.mark.parametrize("part", [False, True])
def test_near_duplicates_with_another_fact_both_stay(fact: str, edit: tuple[str, str], part: bool):
    """Numbers, dates, names and negations that differ forbid a copy, however many words the texts share."""
    text = f"{TEXT} Wacht twee uur, neem 5 mg, in mei belt dokter Jansen, eten mag wel. {TEXT}"
    other = text.replace(*edit).removesuffix(TEXT if part else "")
    options = {"near_threshold": 0.8, "dedup_sentences": False}
    assert standing(near(Chunk("a", "A", text), Chunk("b", "B", other), **options)) == ["a", "b"], fact
    assert standing(near(Chunk("a", "A", text), Chunk("b", "B", other.replace(*edit[::-1])), **options)) == ["a"]


def test_the_copy_of_a_near_duplicate_is_one_too():
    context = near(ONE, EDITED, replace(EDITED, id="copy", document_id="C"))
    assert standing(context) == ["one"]
    assert {decision(context, name).because_of for name in ("two", "copy")} == {"one"}
    assert decision(context, "copy").reason == "near duplicate"


def test_the_kept_copy_inherits_the_best_score():
    context = assemble([Hit(ONE, 0.5), Hit(EDITED, 0.9), Hit(replace(ONE, id="copy"), 0.7)], NEAR)
    assert context.citations[0].score == 0.9
    assert decision(context, "one").score == 0.9
    assert decision(context, "two").score == 0.9
    assert decision(context, "copy").score == 0.7


def test_a_dropped_one_never_suppresses_another():
    """a ~ b and b ~ c, but a is not near to c: b goes, c stays."""
    chain = [
        Chunk(name, name, " ".join(f"x{n}" if n % 11 == 0 and n // 11 < changed else f"w{n}" for n in range(100)))
        for name, changed in (("a", 0), ("b", 5), ("c", 9))
    ]
    context = near(*chain)
    assert standing(context) == ["a", "c"]
    assert decision(context, "b").because_of == "a"
    assert standing(near(*chain[1:])) == ["b"]


@pytest.mark.parametrize("offsets", [True, False])
@pytest.mark.parametrize("share", [0.5, 0.92, 0.98])
def test_adjacent_chunks_do_not_collapse_for_their_overlap(offsets: bool, share: float):
    """The overlap is stripped; what is left of the second one stays, however little it is."""
    first, second = split("A", lettered(300), size=1_000, overlap=int(1_000 * share), offsets=offsets)[:2]
    context = near(first, second)
    assert standing(context) == ["A0", "A1"]
    assert context.passages[0].text.split()[-1] == second.text.split()[-1]


def test_neighbors_are_compared_too_below_the_hits():
    """A neighbor that is near to a hit goes, even to a hit of a lower rank; of two neighbors the lower-ranked one."""
    a, b = [words_of("A", n) for n in range(4)], [words_of("B", n) for n in range(4)]
    a[2], b[1] = replace(a[2], text=TEXT), replace(b[1], text=EDITED.text)
    context = assemble(hits_of([a[1], b[1]]), NEAR, store=MemoryStore([*a, *b]))
    assert decision(context, "A2").because_of == "B1"
    assert "A2" not in standing(context)
    context = assemble(hits_of([a[3], b[2]]), NEAR, store=MemoryStore([*a, *b]))
    assert decision(context, "B1").because_of == "A2"
