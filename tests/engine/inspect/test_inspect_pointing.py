"""A fragment and the places where it stands find each other: by pointer, by click and by keyboard, without a script."""

from __future__ import annotations

import pytest

from pages import assembled
from pointing import page

pytestmark = pytest.mark.browser

CHIP = ".cxa-reading .cxa-text .cxa-chip.cxa-k{}"
SHOWN = """
const fragments = [...document.querySelectorAll(".cxa-fragment")].filter(each => each.checkVisibility());
const bright = [...document.querySelectorAll(".cxa-lit:not(summary)")].filter(
  each => getComputedStyle(each).getPropertyValue("--lit") !== "" && each.checkVisibility());
const ranks = each => [...each.classList].filter(name => /^cxa-k/.test(name)).map(name => name.slice(5));
return [fragments.map(each => each.ariaLabel.slice(9)), [...new Set(bright.flatMap(ranks))].sort()]
"""
IN_SIGHT = """
const found = document.querySelector(":target");
const box = found.getBoundingClientRect(), around = found.closest(".cxa-scroll").getBoundingClientRect();
return [found.matches(":focus"), box.top >= around.top - 1 && box.top < around.bottom && box.top < innerHeight]
"""
ALL = ["1", "2", "3", "4"]


def test_pointing_at_a_mark_shows_its_fragment_and_its_copies():
    with page(assembled().to_html()) as shown:
        assert shown.ask(SHOWN) == [ALL, []]
        shown.hover(CHIP.format(0))
        assert shown.ask(SHOWN) == [["1", "4"], ["0", "3"]]
        shown.hover("h2")
        assert shown.ask(SHOWN) == [ALL, []]


def test_pointing_at_a_label_shows_its_fragments():
    with page(assembled().to_html()) as shown:
        shown.hover(".cxa-reading summary")
        assert shown.ask(SHOWN) == [["1", "2", "4"], ["0", "1", "3"]]


def test_pointing_at_a_fragment_lights_up_where_it_stands_and_hides_nothing():
    with page(assembled().to_html()) as shown:
        shown.hover(".cxa-fragment.cxa-k3 .cxa-text")
        assert shown.ask(SHOWN) == [ALL, ["0", "3"]]


def test_nothing_moves_below_the_pointer():
    """Else a mark would leave the pointer as soon as it is pointed at, and come back."""
    place = "return document.querySelector('.cxa-reading').getBoundingClientRect().toJSON()"
    with page(assembled().to_html()) as shown:
        shown.hover("h2")
        before = shown.ask(place)
        shown.hover(CHIP.format(2))
        assert shown.ask(place) == before


@pytest.mark.parametrize("width", [1_200, 360])
def test_a_click_leads_from_a_mark_to_its_fragment_and_from_there_to_where_it_stands(width):
    with page(assembled().to_html(), width) as shown:
        shown.click(CHIP.format(2))
        assert shown.ask(IN_SIGHT) == [True, True]
        assert shown.ask("return document.querySelector(':target').ariaLabel") == "Fragment 3"
        shown.click("h2")
        assert shown.ask(SHOWN)[0] == (["3"] if width > 1_000 else ALL)
        shown.click(".cxa-fragment.cxa-k2 a[href*='-k']")
        assert shown.ask("return document.querySelector(':target').className").split()[:3] == [
            *("cxa-hit", "cxa-lit", "cxa-k2"),
        ]
        assert shown.ask("return document.activeElement.matches(':target')")
        shown.hover("h2")
        assert shown.ask(SHOWN) == [ALL, ["2"]]


def test_all_fragments_come_back():
    with page(assembled().to_html()) as shown:
        assert not shown.ask("return document.querySelector('.cxa-all').checkVisibility()")
        shown.click(CHIP.format(2))
        shown.hover("h2")
        assert shown.ask(SHOWN)[0] == ["3"]
        shown.click(".cxa-all a")
        shown.hover("h2")
        assert shown.ask(SHOWN) == [ALL, []]


def test_keys_do_the_same():
    with page(assembled().to_html()) as shown:
        shown.ask("document.querySelector('.cxa-reading .cxa-scroll').focus()")
        shown.press("Tab")
        assert shown.ask("return document.activeElement.localName") == "summary"
        assert shown.ask(SHOWN)[0] == ["1", "2", "4"]
        shown.ask(f"document.querySelector('{CHIP.format(2)}').focus()")
        assert shown.ask(SHOWN) == [["3"], ["2"]]
        shown.press("Enter")
        assert shown.ask(IN_SIGHT) == [True, True]
        shown.press("Tab")
        assert shown.ask("return document.activeElement.closest('.cxa-fragment').ariaLabel") == "Fragment 3"


def test_views_on_one_page_keep_apart():
    two = assembled()._repr_html_() + assembled(max_tokens=300)._repr_html_()
    with page(f"<!doctype html><meta charset='utf-8'>{two}") as shown:
        shown.hover(".cxa:nth-of-type(2) .cxa-reading .cxa-text .cxa-chip.cxa-k0")
        number = """
        return [...document.querySelectorAll(".cxa")].map(
          view => [...view.querySelectorAll(".cxa-fragment")].filter(each => each.checkVisibility()).length)
        """
        assert shown.ask(number) == [4, 2]
