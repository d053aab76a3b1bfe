"""Near duplicates through the whole assembly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import decision, hits_of, lettered, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble

NEAR = AssemblyConfig(dedup="near")
TEXT = lettered(60)
ONE = Chunk("one", "A", TEXT)
EDITED = Chunk("two", "B", f"Please note: {TEXT}!")
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
        ("a sign", ("5 mg", "-5 mg")),
        ("another minus", ("5 mg", "\u22125 mg")),
        ("a unit", ("5 mg", "5 g")),
        ("a prefix", ("5 mg", "5 mW")),
        ("a comparison", ("neem 5", "neem <5")),
        ("an opposite", ("Wacht", "Begin")),
        ("a condition", ("belt dokter", "tenzij dokter")),
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
    said = [f"Wa{n} wb{n} wc{n} wd{n}." for n in range(25)]
    chain = [
        Chunk(name, name, " ".join(one for n, one in enumerate(said) if n % 6 or n // 6 >= lacking))
        for name, lacking in (("a", 0), ("b", 2), ("c", 4))
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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{} before the {}", "{} after the {}"),
        ("{} on the left of the {}", "{} on the right of the {}"),
        ("{}, if Anna pays Ben, the {}", "{}, if Ben pays Anna, the {}"),
        ("{} at 5 mW the {}", "{} at 5 MW the {}"),
        ("{} \u043c\u043e\u0436\u043d\u043e {}", "{} \u043d\u0435 \u043c\u043e\u0436\u043d\u043e {}"),
        ("{} \u53ef\u4ee5\u559d\u6c34 {}", "{} \u4e0d\u53ef\u4ee5\u559d\u6c34 {}"),
        ("{} \u0916\u093e\u090f\u0902 {}", "{} \u0928 \u0916\u093e\u090f\u0902 {}"),
        ("{} \u064a\u0645\u0643\u0646 {}", "{} \u0644\u0627 \u064a\u0645\u0643\u0646 {}"),
        ("{} mo\u017cna {}", "{} nie mo\u017cna {}"),
        ("{} yenir {}", "{} yenmez {}"),
        ("{}\nx = first + second\n{}", "{}\nx = first - second\n{}"),
        ("{}\nfind(User)\n{}", "{}\nfind(user)\n{}"),
    ],
)
def test_a_word_or_sign_in_place_of_another_is_a_fact_in_any_language(first: str, second: str):
    texts = [text.format(TEXT, TEXT[::-1]) for text in (first, second)]
    for one, other in (texts, texts[::-1]):
        assert len(standing(near(Chunk("a", "A", one), Chunk("b", "B", other), dedup_sentences=False))) == 2


@pytest.mark.parametrize(
    "edit", ["{upper}", "{text}!", "Achtung: {text}", "Let op: {text}", "\u6ce8\u610f\uff1a{text}", "*{text}*"]
)
def test_case_punctuation_and_a_lead_in_are_none(edit: str):
    edited = edit.format(text=TEXT, upper=TEXT.upper())
    for one, other in ((TEXT, edited), (edited, TEXT)):
        assert standing(near(Chunk("a", "A", one), Chunk("b", "B", other), dedup_sentences=False)) == ["a"]
