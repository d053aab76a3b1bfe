"""What the views say of the evidence that a reader names: read, lost or never retrieved, and where."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from test_page import sound

import strategies
from builders import hits_of, split
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, InputError, assemble
from ctxassembly.comparison import compare
from pages import Element, unanchored
from strategies import Retrieval, retrievals

WATER, FOOD, CAR = "Drink water until two hours before.", "Eat nothing for six hours.", "Come without a car, please."


def leaflet(max_tokens: int = 8_000, **options) -> Context:
    chunks = [Chunk(f"{name}0", name, text, 0, 0) for name, text in (("a", WATER), ("b", FOOD), ("c", CAR))]
    return assemble(hits_of(chunks), AssemblyConfig(max_tokens=max_tokens, **options))


def lines(tree: Element) -> list[str]:
    return [" ".join(each.text.split()) for each in tree.all(class_="cxa-asked")[0].all("li")]


def marked(tree: Element, column: str) -> list[str]:
    return [each.text for each in tree.all(class_=column)[0].all(class_="cxa-evidence")]


def test_evidence_is_read_lost_or_never_retrieved():
    context = leaflet(max_tokens=17)
    assert [each.chunk_id for each in context.trace.excluded] == ["b0", "c0"]
    tree = sound(context.to_html(evidence=["Drink water until", "nothing for six hours", "Bring a towel."]))
    assert "Evidence: 1 of 3 pieces read" in [each.text for each in tree.all("h3")]
    assert lines(tree) == [
        "1 read: hit 1: Drink water until",
        "2 lost: retrieved as hit 2, dropped: budget: nothing for six hours",
        "3 not retrieved: in no chunk retrieved: Bring a towel.",
    ]
    assert marked(tree, "cxa-reading") == ["Drink water until"]
    assert marked(tree, "cxa-before") == ["Drink water until", "nothing for six hours"]


@pytest.mark.parametrize("wanted", ["drink water", "Drink  water\nuntil two", "DRINK WATER: until 'two' hours"])
def test_white_space_capitals_and_punctuation_may_differ(wanted):
    (found,) = leaflet().view(evidence=[wanted]).evidence
    assert found.share_read == 1


@pytest.mark.parametrize("wanted", ["rink waters", "Drink tea", "water Drink", "!?"])
def test_other_words_are_no_evidence(wanted):
    (found,) = leaflet().view(evidence=[wanted.casefold()]).evidence
    assert (found.share_read, found.context_spans, found.fragment_spans) == (0, {}, {})


def test_evidence_across_two_chunks_is_marked_in_both():
    text = "Drink water until two hours before the examination, and eat nothing."
    context = assemble(hits_of(split("A", text, size=40, overlap=0)))
    tree = sound(context.to_html(evidence=["two hours before the examination"]))
    assert "".join(marked(tree, "cxa-reading")) == "two hours before the examination"
    assert lines(tree) == ["1 read: hit 1 and hit 2: two hours before the examination"]


def test_of_evidence_that_stands_in_part_the_rest_is_in_the_fragment():
    said = ["Gastroscopy: drink water until two hours before.", "Parking is free of charge for all visitors here."]
    config = AssemblyConfig(max_tokens=24, granularity="sentence")
    context = assemble([Hit(Chunk("a", "A", " ".join(said)))], config, query="water before gastroscopy")
    assert said[1] not in context.text
    tree = sound(context.to_html(evidence=["two hours before. Parking is free"]))
    assert lines(tree)[0].startswith("1 read in part: 52% of it is included; retrieved as hit 1, cut: sentence")
    assert "".join(marked(tree, "cxa-reading")).strip() == "two hours before."
    assert "".join(marked(tree, "cxa-before")) == "two hours before. Parking is free"


@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(retrievals())
def test_a_span_counts_as_compare_counts_it(retrieval: Retrieval):
    context = strategies.assembled(retrieval)
    ids = sorted({each.document_id for each in context.trace.decisions}) or ["A"]
    spans = [(ids[0], start, start + 50) for start in (0, 30, 200)]
    compared = compare(retrieval.hits, [retrieval.config], evidence=spans, **strategies.arguments(retrieval))
    shares = [one.share_read for one in compared.rows[0].context.view(evidence=spans).evidence]
    assert sum(shares) / 3 == pytest.approx(compared.rows[0].evidence)
    sound(context.to_html(evidence=spans))


def test_evidence_that_is_everywhere_keeps_below_a_megabyte():
    context = assemble(hits_of([Chunk(f"{n}", f"{n}", "a b " * 1_500 + str(n)) for n in range(60)]))
    assert len(context.to_html(evidence=["a", "b"] * 200).encode()) < 1_000_000


@pytest.mark.parametrize("evidence", ["Drink", [""], [3], [("a", 5, 5)], 7, None])
def test_what_is_no_evidence_is_refused(evidence):
    with pytest.raises(InputError, match="evidence must be"):
        leaflet().to_html(evidence=evidence)
    with pytest.raises(InputError, match="evidence must be"):
        leaflet().view(evidence=evidence)


def test_without_evidence_nothing_is_said_of_it():
    context = leaflet()
    assert "vidence" not in sound(context.to_html()).all("section")[0].text
    assert context.view().to_html() == context.to_html()
    assert unanchored(context.view()._repr_html_()) == unanchored(context._repr_html_())
