"""Contexts one at a time: a slider over token budgets, without a script."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from builders import hits_of, numbered, split
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, Slider, compare, compare_budgets
from ctxassembly.errors import ConfigError
from pages import Element, documents, read

HOSTILE = "<script>alert(1)</script> </form></section> \u202e"


def slid(**options) -> Slider:
    chunks = documents()
    hits = [Hit(chunks[1], 0.9), Hit(chunks[9], 0.8), Hit(chunks[4], 0.7)]
    return compare_budgets(hits, [100, 200, 500], store=MemoryStore(chunks), **options)


def panes(slider: Slider) -> list[Element]:
    return read(slider.to_html()).all(class_="cxa-pane")


def test_each_budget_is_a_stop_the_smallest_first():
    chunks = documents()
    slider = compare_budgets(hits_of(chunks[:4]), [400, 50, 400], AssemblyConfig(window=0))
    assert [(stop.name, stop.context.trace.max_tokens) for stop in slider.stops] == [("50", 50), ("400", 400)]
    (row,) = compare(hits_of(chunks[:4]), [AssemblyConfig(window=0, max_tokens=400)]).rows
    assert slider.stops[1].context == row.context


@pytest.mark.parametrize("budgets", [[], [0], [-3], [1.5], [True], "500", 500, [None]])
def test_budgets_that_are_none_are_refused(budgets):
    with pytest.raises(ConfigError, match="budgets must be one number of tokens or more, in a list, each a whole"):
        compare_budgets([], budgets)


def test_the_evidence_is_in_each_stop():
    facts = [" ".join(each.text for each in pane.all(class_="cxa-facts")) for pane in panes(slid(evidence=["a010"]))]
    assert all("of the evidence is read" in each for each in facts)
    assert all("evidence" not in pane.all(class_="cxa-facts")[0].text for pane in panes(slid()))


def test_the_evidence_is_marked_in_the_text_and_listed():
    one, two = Chunk("a", "A", "Drink water.\n\n"), Chunk("b", "B", "Eat nothing, drink water.\n")
    slider = compare_budgets(hits_of([one, two]), [12, 50], evidence=["drink water", "nothing, drink", "Sleep."])
    first, second = ([each.text for each in pane.all("mark", "cxa-evidence")] for pane in panes(slider))
    assert first == []
    assert second == ["nothing, ", "drink", " water"]
    lines = [
        [" ".join(each.text.split()) for each in pane.all(class_="cxa-asked")[0].all("li")] for pane in panes(slider)
    ]
    assert lines[0][0] == "1 lost: retrieved as hit 2, dropped: budget: drink water"
    assert [line.split(":")[0] for line in lines[1]] == ["1 read", "2 read", "3 not retrieved"]


def test_a_pane_has_the_text_of_its_context():
    slider = slid()
    for pane, stop in zip(panes(slider), slider.stops, strict=True):
        shown = " ".join(each.text for each in pane.all(class_="cxa-text"))
        for passage in stop.context.passages:
            assert " ".join(passage.text.split()) in " ".join(shown.split())


def test_what_is_new_is_marked_and_nothing_else():
    one, two = Chunk("a", "A", "Drink water.\n\n"), Chunk("b", "B", "Eat nothing.\n")
    first, second = panes(compare_budgets(hits_of([one, two]), [12, 50]))
    assert [each.text for each in first.all("article")[0].all(class_="cxa-new")] == []
    assert [[each.text for each in card.all(class_="cxa-new")] for card in second.all("article")] == [
        [],
        ["Eat nothing."],
    ]
    assert "1 sentence new here" in second.text


def test_what_a_larger_budget_lost_is_listed():
    configs = [AssemblyConfig(window=0), AssemblyConfig(min_chunk_tokens=4, max_tokens=30)]
    hits = hits_of([Chunk("a", "A", "Go."), Chunk("b", "B", "Water may be taken until two hours before. " * 3)])
    slider = compare(hits, configs).slider("settings")
    pane = panes(slider)[1]
    assert [each.text for each in pane.all("ul", "cxa-lost")[0].all("li")] == ["Go."]
    assert "1 sentence no longer here" in pane.text


def test_chunks_left_out_are_listed_hits_first():
    pane = panes(slid())[0]
    rows = pane.rows("They would have cost")
    places = [row[2] for row in rows]
    assert places == sorted(places, key=lambda place: ("±" in place, place))
    assert {row[4] for row in rows} <= {"budget", "worth too little"}


def test_the_stops_are_radio_buttons_of_one_form_the_first_chosen():
    tree = read(slid().to_html())
    (form,) = tree.all("form")
    buttons = form.all("input")
    assert [button.attributes["type"] for button in buttons] == ["radio"] * 3
    assert len({button.attributes["name"] for button in buttons}) == 1
    assert ["checked" in button.attributes for button in buttons] == [True, False, False]
    assert form.attributes["method"] == "dialog"
    assert [label.text for label in form.all("label")] == ["100", "200", "500"]


def test_names_are_of_the_form_that_a_stored_notebook_leaves_out():
    """Notebooks are compared without digests: see `tour.execute`."""
    (name,) = {each.attributes["name"] for each in read(slid().to_html()).all("input")}
    assert re.fullmatch(r"cxa-[0-9a-f]{8}-stop", name)
    assert name in slid()._repr_html_()


def test_a_slider_of_full_contexts_stays_below_a_megabyte_and_counts_the_rest():
    chunks = [Chunk(f"d{n}", f"d{n % 7}", f"<{n}> " * 4_000, index=3 * n) for n in range(20)]
    slider = compare_budgets(hits_of(chunks), [20_000, 40_000, 80_000, 100_000], AssemblyConfig(dedup="none"))
    html = slider.to_html()
    assert len(html.encode()) < 1_000_000
    assert any(each.text.endswith("more characters") for each in read(html).all(class_="cxa-more"))


def test_texts_and_titles_can_do_nothing():
    chunk = Chunk(HOSTILE, HOSTILE, HOSTILE + " " + numbered("w", 90), metadata={"source": HOSTILE, "title": HOSTILE})
    configs = [AssemblyConfig(), AssemblyConfig(max_tokens=50)]
    slider = compare([Hit(chunk)], configs, names=[HOSTILE, "x"]).slider(HOSTILE)
    assert read(slider.to_html()).all("script") == []
    assert "\u202e" not in slider.to_html()
    assert "\u202e" not in printed(slider)


def test_a_context_of_nothing_says_so():
    assert "no chunk stands" in panes(compare_budgets([], [10]))[0].text


def printed(slider: Slider) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(slider)
    return console.file.getvalue()


def test_a_terminal_prints_the_numbers_of_each_stop():
    hits = hits_of([Chunk("a", "A", "Drink water.\n"), Chunk("b", "B", "Eat nothing.\n")])
    lines = [line.split() for line in printed(compare_budgets(hits, [12, 50])).splitlines()]
    assert lines[0][:3] == ["token", "budget", "tokens"]
    assert [(line[0], line[1], *line[-2:]) for line in lines[1:3]] == [("12", "10", "–", "–"), ("50", "20", "1", "0")]


def test_a_supplement_stands_in_its_place():
    chunks = split("A", numbered("a", 60), size=199)
    slider = compare_budgets(hits_of(chunks), [300], supplement="Appointment: Friday, 9:30.")
    assert "Appointment: Friday, 9:30." in panes(slider)[0].text
