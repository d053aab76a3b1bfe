"""The view of a context in a real browser: nothing in it runs, everything can be read and reached."""

from __future__ import annotations

import pytest

from browser import CONTRAST, DARK, LIGHT, measured
from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, Supplement, assemble
from ctxassembly.comparison import compare
from pages import assembled, documents

pytestmark = pytest.mark.browser

HOSTILE = (
    "<script>ran('script')</script>",
    "<img src=x onerror=\"ran('image')\">",
    "<svg onload=\"ran('svg')\"></svg>",
    "<iframe srcdoc=\"<script>parent.ran('frame')</script>\"></iframe>",
    "<details open ontoggle=\"ran('toggle')\"><summary>x</summary></details>",
    "</style></del></details></section></script><img src=y onerror=\"ran('after')\">",
    "<style>p{visibility:hidden}</style>",
    "<a href=\"javascript:ran('link')\">x</a>",
    "\"' onfocus=ran('attribute') autofocus x='\"",
    "\u202eevil\u2066\x00",
)
RUN = ["after", "frame", "image", "link", "script", "toggle"]
"""A parser alone would have begun the svg, too: one that is put in later begins none."""
VISIBLE = "getComputedStyle(document.querySelector('p')).visibility"
CLICK = "for (const link of hosts[0].querySelectorAll('a')) link.click(); await wait();"


def hostile() -> Context:
    text = "\n".join(HOSTILE)
    keys = ("source", "section", "page", "sheet", "row_number", "page_summary", "search_method", "keywords", "url")
    chunks = [
        Chunk(text + str(n), text, f"{text} text {n}", index=n, metadata=dict.fromkeys(keys, text)) for n in range(3)
    ]
    hits = [*hits_of(chunks, 0.9, 0.8), Hit(chunks[0], "no number")]
    return assemble(hits, AssemblyConfig(max_tokens=4_000), query=text, supplement=Supplement(text, True))


def crowded() -> Context:
    """With whatever a view may show: badges, long words, a cut, a supplement, notes, what was left out."""
    chunks = documents()
    badges = {"search_method": "bm25", "keywords": ["a" * 80], "expanded_query": "b " * 60, "source": "c" * 200}
    long = [Chunk(f"{n}" + "i" * 90, f"long{n}", "w" * 900 + f" {n}", metadata=badges) for n in range(9)]
    hits = [*hits_of([*long, *chunks[1:3], chunks[1]], 0.9, 0.8), Hit(long[0], "no number")]
    config = AssemblyConfig(max_tokens=700, granularity="chunk")
    return assemble(hits, config, query="q" * 300, supplement=Supplement("A fact. " * 5, True))


OPEN = """
for (const each of host.querySelectorAll("details")) each.open = true;
"""


def test_nothing_runs_in_a_notebook():
    script = f"{CLICK} return [names, {VISIBLE}, hosts[0].textContent]"
    names, visibility, text = measured(script, hostile()._repr_html_())
    assert (names, visibility) == ([], "visible")
    assert "ran('script')" in text
    assert not {"\u202e", "\u2066", "\x00"} & set(text)


def test_the_same_unescaped_does_run():
    """So the test before this one can fail."""
    names, visibility = measured(f"{CLICK} return [names, {VISIBLE}]", "".join(HOSTILE))
    assert sorted(set(names)) == RUN
    assert visibility == "hidden"


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("make", [crowded, hostile, assembled], ids=lambda make: make.__name__)
def test_no_line_is_wider_than_a_phone(make, opened):
    script = f"""
    const host = hosts[0];
    {OPEN if opened else ""}
    await wait();
    const wide = [...host.querySelectorAll(".cxa *")].filter(
      each => each.checkVisibility() && each.getBoundingClientRect().right > 360 && !each.closest(".cxa-wide"));
    return [host.documentElement.clientWidth, host.documentElement.scrollWidth, wide.map(each => each.outerHTML)]
    """
    client, scroll, wide = measured(script, make().to_html(), whole=True, width=360)
    assert client <= 360
    assert scroll <= client
    assert wide == []


def test_two_columns_stand_side_by_side_where_there_is_room():
    script = """
    const [before, after] = [...hosts[0].querySelectorAll(".cxa-columns > *")].map(e => e.getBoundingClientRect());
    return [before.top === after.top, before.right < after.left]
    """
    html = assembled().to_html()
    assert measured(script, html, whole=True, width=1200) == [True, True]
    assert measured(script, html, whole=True, width=360) == [False, False]


@pytest.mark.parametrize(("text", "ends"), [("القهوة السوداء", "right"), ("Black coffee", "left")])
def test_text_begins_on_the_side_of_its_script(text, ends):
    """Whatever the script of the header above it and of the mark before it."""
    script = """
    const body = hosts[0].querySelector(".cxa-reading .cxa-text");
    const [chip, hit] = [".cxa-chip", ".cxa-hit"].map(each => body.querySelector(each).getBoundingClientRect());
    const around = body.getBoundingClientRect();
    return [around.right - chip.right < chip.left - around.left, hit.right <= chip.left + 1]
    """
    html = assemble([Hit(Chunk("a", "A", text, metadata={"source": "coffee.pdf"}))]).to_html()
    assert measured(script, html, whole=True) == [ends == "right", ends == "right"]


@pytest.mark.parametrize(("flag", "is_dark"), [(LIGHT, False), (DARK, True)], ids=["light", "dark"])
def test_every_text_can_be_read(flag, is_dark):
    script = f"const host = hosts[0]; {OPEN} await wait(); {CONTRAST}"
    asked = assembled(max_tokens=260).view(evidence=["a040 a041", "b030 b031", "Nowhere."])
    for shown in (crowded(), assembled(), asked):
        texts, poor, paper = measured(script, shown._repr_html_(), flags=(flag,))
        assert texts > 100
        assert poor == []
        assert (paper < 0.1) is is_dark


@pytest.mark.parametrize("flag", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "value", "is_dark"),
    [
        ("data-jp-theme-light", "true", False),
        ("data-jp-theme-light", "false", True),
        ("class", "vscode-light", False),
        ("class", "vscode-dark", True),
        ("theme", "dark", True),
        ("data-theme", "light", False),
    ],
)
def test_the_theme_of_a_notebook_outweighs_that_of_the_system(flag, name, value, is_dark):
    script = f"""
    document.body.setAttribute("{name}", "{value}");
    const host = hosts[0]; {CONTRAST}
    """
    _, poor, paper = measured(script, assembled()._repr_html_(), flags=(flag,))
    assert poor == []
    assert (paper < 0.1) is is_dark


def test_everything_can_be_reached_by_keyboard():
    script = f"""
    const host = hosts[0]; {OPEN} await wait();
    const focusable = [...host.querySelectorAll("a[href], summary, input, [tabindex='0']")]
      .filter(each => each.checkVisibility());
    const unreached = focusable.filter(each => {{
      each.focus();
      return document.activeElement !== each || each.tabIndex !== 0 || getComputedStyle(each).outlineStyle === "none";
    }});
    const scrolling = [...host.querySelectorAll(".cxa *")].filter(each =>
      /auto|scroll/.test(getComputedStyle(each).overflowX + getComputedStyle(each).overflowY));
    return [focusable.length, unreached.map(e => e.outerHTML), scrolling.length,
            scrolling.filter(e => e.tabIndex !== 0 || !e.getAttribute("aria-label")).map(e => e.outerHTML)]
    """
    focusable, unreached, scrolling, unnamed = measured(script, crowded()._repr_html_())
    assert focusable > 20
    assert unreached == []
    assert scrolling >= 4
    assert unnamed == []


def test_a_fragment_leads_to_its_decision():
    """The table is folded: the browser unfolds it."""
    script = """
    const link = hosts[0].querySelector("a[href$='-r1']");
    const row = document.getElementById(link.hash.slice(1));
    const before = row.checkVisibility();
    link.click();
    await wait();
    return [before, row.checkVisibility(), row.cells[0].textContent, row.matches(":target")]
    """
    assert measured(script, assembled()._repr_html_()) == [False, True, "A2", True]


def test_the_rest_of_the_page_looks_as_before():
    probe = "<p class='outside'>p</p><table><tr><td>t</td></tr></table><mark>m</mark><del>d</del><h2>h</h2>"
    script = """
    return [...hosts[0].querySelectorAll("*")].map(each => {
      const style = getComputedStyle(each);
      return [style.color, style.backgroundColor, style.font, style.display, style.padding, style.margin, style.border];
    })
    """
    views = (assembled()._repr_html_(), compare([], [AssemblyConfig()])._repr_html_())
    assert measured(script, probe, *views) == measured(script, probe)
