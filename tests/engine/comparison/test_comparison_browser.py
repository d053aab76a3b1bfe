"""Comparisons in a real browser: side by side, below one another, and the slider that no script moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from browser import CONTRAST, DARK, LIGHT, measured
from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore
from ctxassembly.comparison import Comparison, Slider, compare, compare_budgets
from pages import documents

pytestmark = pytest.mark.browser
CHOSEN = """
const chosen = host => [...host.querySelectorAll(".cxa-pane")].map(pane => pane.checkVisibility());
const press = (host, at) => host.querySelectorAll(".cxa-track label")[at].click();
"""


def compared() -> Comparison:
    chunks = [replace(chunk, text=chunk.text.replace("0 ", "0. ")) for chunk in documents()]
    hits = [Hit(chunks[1], 0.9), Hit(chunks[9], 0.8)]
    configs = [AssemblyConfig(), AssemblyConfig(window=0), AssemblyConfig(max_tokens=100)]
    return compare(hits, configs, store=MemoryStore(chunks), evidence=["a010"])


def crowded() -> Comparison:
    """With long words, names and ids, and text that was cut."""
    long = [Chunk(f"{n}" + "i" * 90, f"long{n}" + "d" * 90, "w" * 900 + f" {n}. Then rest.") for n in range(9)]
    configs = [AssemblyConfig(max_tokens=700, overflow="truncate"), AssemblyConfig(max_tokens=300)]
    return compare(hits_of([*long, *documents()[1:3]], 0.9, 0.8), configs, names=["n" * 200, "m" * 200])


def slid() -> Slider:
    chunks = documents()
    hits = [Hit(chunks[1], 0.9), Hit(chunks[9], 0.8), Hit(chunks[4], 0.7)]
    return compare_budgets(hits, [100, 200, 500], store=MemoryStore(chunks), evidence=["a010"])


VIEWS = {"compared": compared, "crowded": crowded, "slid": slid, "crowded slider": lambda: crowded().slider()}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_no_line_is_wider_than_a_phone(make):
    script = """
    const host = hosts[0];
    for (const each of host.querySelectorAll("details")) each.open = true;
    const wide = [...host.querySelectorAll(".cxa *")].filter(each => each.checkVisibility()
      && each.getBoundingClientRect().right > 360 && !each.closest(".cxa-wide:not(.cxa-scroll), .cxa-track"));
    return [host.documentElement.clientWidth, host.documentElement.scrollWidth, wide.map(each => each.outerHTML)]
    """
    client, scroll, wide = measured(script, make().to_html(), whole=True, width=360)
    assert client <= 360
    assert scroll <= client
    assert wide == []


def test_contexts_stand_beside_each_other_or_on_a_phone_below_one_another():
    script = """
    const row = [...hosts[0].querySelectorAll(".cxa-both tr")].find(row => row.querySelector(".cxa-only"));
    const [first, second] = [...row.querySelectorAll("td")].map(cell => cell.getBoundingClientRect());
    const same = hosts[0].querySelector(".cxa-both tr:has(.cxa-same)").querySelectorAll("td");
    return [first.top === second.top && first.right <= second.left, first.bottom <= second.top,
            [...same].filter(cell => cell.checkVisibility()).length,
            row.querySelector(".cxa-who").checkVisibility()]
    """
    html = compared().to_html()
    assert measured(script, html, whole=True, width=1200) == [True, False, 3, False]
    assert measured(script, html, whole=True, width=360) == [False, True, 1, True]


@pytest.mark.parametrize(("flag", "is_dark"), [(LIGHT, False), (DARK, True)], ids=["light", "dark"])
@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_every_text_can_be_read(make, flag, is_dark):
    script = f"""
    const host = hosts[0];
    for (const each of host.querySelectorAll("details")) each.open = true;
    host.querySelector(".cxa-stop2")?.click();
    {CONTRAST}
    """
    texts, poor, paper = measured(script, make()._repr_html_(), flags=(flag,))
    assert texts > 20
    assert poor == []
    assert (paper < 0.1) is is_dark


def test_a_stop_shows_its_context_and_no_other():
    script = f"{CHOSEN} const seen = [chosen(hosts[0])]; for (const at of [1, 2, 0]) {{ press(hosts[0], at);"
    script += " seen.push(chosen(hosts[0])); } return seen"
    first, second, third = [[place == at for place in range(3)] for at in range(3)]
    assert measured(script, slid()._repr_html_()) == [first, second, third, first]
    assert measured(script, slid().to_html(), whole=True) == [first, second, third, first]


def test_the_same_slider_twice_on_a_page_moves_once():
    script = f"{CHOSEN} press(hosts[1], 2); return hosts.map(chosen)"
    html = slid()._repr_html_()
    assert measured(script, html, html, html) == [[True, False, False], [False, False, True], [True, False, False]]


def test_enter_on_a_stop_leaves_nothing():
    script = f"""
    {CHOSEN} press(hosts[0], 1);
    hosts[0].querySelector("form").requestSubmit();
    await wait();
    return [location.search, chosen(hosts[0])]
    """
    assert measured(script, slid()._repr_html_()) == ["", [False, True, False]]


def test_the_stops_are_one_group_with_a_ring_of_focus():
    script = """
    const stops = [...hosts[0].querySelectorAll(".cxa-track input")];
    stops[0].focus();
    return [stops.length, new Set(stops.map(stop => stop.form)).size, document.activeElement === stops[0],
            getComputedStyle(stops[0]).outlineStyle, stops.every(stop => stop.labels[0].textContent.trim() !== "")]
    """
    assert measured(script, slid()._repr_html_()) == [3, 1, True, "solid", True]


def test_the_rest_of_the_page_looks_as_before():
    probe = "<fieldset><legend>l</legend><label><input type='radio'>r</label></fieldset><table><tr><td>t</td></table>"
    script = """
    return [...hosts[0].querySelectorAll("*")].map(each => {
      const style = getComputedStyle(each);
      return [style.color, style.backgroundColor, style.font, style.display, style.padding, style.margin, style.border];
    })
    """
    assert measured(script, probe, compared()._repr_html_(), slid()._repr_html_()) == measured(script, probe)


@pytest.mark.parametrize(
    ("name", "value", "flag", "is_dark"),
    [
        ("data-jp-theme-light", "false", LIGHT, True),
        ("data-jp-theme-light", "true", DARK, False),
        ("class", "vscode-dark", LIGHT, True),
        ("class", "vscode-light", DARK, False),
    ],
)
def test_the_theme_of_a_notebook_outweighs_that_of_the_system(name, value, flag, is_dark):
    """With the rules that a notebook has for all tables of its outputs."""
    rules = "tbody tr:nth-child(odd){background:#063} td,th{text-align:right;border:1px solid red} label{color:#777}"
    script = f"""
    document.head.insertAdjacentHTML("beforeend", "<style>{rules}</style>");
    document.body.setAttribute("{name}", "{value}");
    const host = hosts[0]; {CONTRAST}
    """
    for view in (compared(), slid()):
        _, poor, paper = measured(script, view._repr_html_(), flags=(flag,))
        assert poor == []
        assert (paper < 0.1) is is_dark
