"""Contexts one at a time: a slider over token budgets, without a script."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from builders import hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore
from ctxassembly.comparison import Slider, compare, compare_budgets
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


def test_each_stop_has_its_numbers_and_its_evidence():
    slider = slid(evidence=["a010"])
    for pane, stop in zip(panes(slider), slider.stops, strict=True):
        (numbers,) = pane.rows("Mean run")
        assert numbers[:3] == [stop.name, f"{stop.tokens:,}", f"{stop.chunks}"]
        assert [line.text.split(":")[0] for line in pane.all(class_="cxa-asked")[0].all("li")] == [
            "1 read" if stop.evidence == 1 else "1 not retrieved"
        ]
    assert all(pane.all(class_="cxa-asked") == [] for pane in panes(slid()))


def test_each_stop_shows_the_one_before_it_too():
    hits = hits_of([Chunk("a", "A", "Drink water.\n"), Chunk("b", "B", "Eat nothing.\n")])
    first, second = panes(compare_budgets(hits, [12, 50], evidence=["nothing"]))
    assert [cell.text for cell in first.all("td", "cxa-same")] == ["allDrink water."]
    assert [cell.text for cell in second.all("td", "cxa-same")] == ["bothDrink water."] * 2
    assert [cell.text for cell in second.all("td", "cxa-only")] == ["50Eat nothing."]
    assert [cell.text for cell in second.all("td", "cxa-none")] == ["12not here: budget"]
    assert [mark.text for cell in second.all("td") for mark in cell.all("mark")] == ["nothing"]


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
    assert "have no chunks" in panes(compare_budgets([], [10]))[0].text


def printed(slider: Slider) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(slider)
    return console.file.getvalue()


def test_a_terminal_prints_the_numbers_of_each_stop():
    hits = hits_of([Chunk("a", "A", "Drink water.\n"), Chunk("b", "B", "Eat nothing.\n")])
    lines = [line.split() for line in printed(compare_budgets(hits, [12, 50])).splitlines()]
    assert lines[0][:3] == ["token", "budget", "tokens"]
    assert [(line[0], line[1]) for line in lines[1:3]] == [("12", "10"), ("50", "20")]
