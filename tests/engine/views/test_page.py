"""What the view of a context shows, and that nothing which it shows can do anything."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given

import strategies
from builders import hits_of, numbered, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, Supplement, Trace, assemble
from pages import Element, assembled, documents, read, unanchored
from strategies import Retrieval, retrievals

ALLOWED = {
    *("html", "head", "meta", "title", "body", "style", "section", "article", "div", "span", "p", "q", "ul", "li", "b"),
    *("h2", "h3", "h4", "table", "caption", "thead", "tbody", "tr", "th", "td", "a", "details", "summary", "mark"),
}
ATTRIBUTES = {
    *("class", "id", "href", "title", "lang", "dir", "role", "tabindex", "scope", "style", "charset"),
    *("aria-label", "aria-hidden", "name", "content", "http-equiv"),
}
STYLE = read(assembled().to_html()).all("style")[0].text
HOSTILE = {
    **dict.fromkeys(
        (
            "<script>document.title='owned'</script>",
            "<img src=x onerror=alert(1)>",
            "\"' onmouseover='alert(1)' x=\"",
            "</style></details></div></section><style>*{display:none}</style>",
            "<a href='javascript:alert(1)'>x</a> javascript:alert(1)",
            "&lt;b&gt; &amp; &#60;script&#62;",
            "--> ]]> <!-- <![CDATA[ */ } body{background:url(http://evil.example/x)} {{ 7 * 7 }} {% raw %}",
        )
    ),
    "\u202etxet\u2066 \x00\x1b[31m\x7f \U000e0041 \ud800": "⟦U+202E⟧txet⟦U+2066⟧ ␀␛[31m␡ ⟦U+E0041⟧ \ufffd",
}
"""Texts, and how they are shown if that is otherwise."""


def sound(html: str) -> Element:
    """The tree of a view, once it is certain that it holds nothing but what views are made of."""
    assert len(html.encode()) < 1_000_000
    tree = read(html)
    for each in tree.walk():
        assert each.name in ALLOWED | {""}
        assert set(each.attributes) <= ATTRIBUTES
        assert re.fullmatch(r"#cxa-[0-9a-f]{8}-[rfk]\d+|", each.attributes.get("href", ""))
        assert re.fullmatch(r"width:-?[\d.]+%|", each.attributes.get("style", ""))
        if each.name != "style":
            assert "url(" not in each.attributes.get("style", "")
    styles = tree.all("style")
    assert [each.text for each in styles] == [STYLE]
    ids = [each.attributes["id"] for each in tree.walk() if "id" in each.attributes]
    assert len(set(ids)) == len(ids)
    assert {each.attributes["href"][1:] for each in tree.all("a") if "href" in each.attributes} <= set(ids)
    assert all(each.attributes.get("scope") in ("col", "row") for each in tree.all("th"))
    return tree


def view(context: Context) -> Element:
    assert unanchored(context._repr_html_()) in unanchored(context.to_html())
    return sound(context.to_html())


def words_in(element: Element) -> str:
    return " ".join(element.text.split())


@pytest.mark.parametrize("form", ["numbered", "source", "xml", "grouped", "minimal", lambda heading: heading.source])
def test_the_reading_view_has_the_whole_text(form):
    context = assembled(format=form)
    (reading,) = view(context).all(class_="cxa-reading")
    for passage in context.passages:
        for piece in passage.pieces:
            assert piece.text.strip() in reading.text
    runs = [run for each in reading.all(class_="cxa-text") for run in each.children if isinstance(run, Element)]
    heads = sum(len(" ".join(run.text.split())) for run in runs if "cxa-head" in run.classes)
    assert (heads > 0) is (form != "minimal" or "All of a." in context.text)


def test_hits_and_neighbors_are_told_apart_by_more_than_color():
    (reading,) = view(assembled()).all(class_="cxa-reading")
    chips = [chip.text for body in reading.all(class_="cxa-text") for chip in body.all(class_="cxa-chip")]
    assert {"● 1", "● 2", "● 3"} <= set(chips)
    assert any(chip.startswith("○ ") for chip in chips)
    titles = [chip.attributes["title"] for chip in reading.all(class_="cxa-chip")]
    assert "hit 1: chunk A1, score 0.9; it also has the text of hit 4" in titles
    assert "hit 2: chunk A2, score 0.8" in titles
    for look_, is_hit in (("cxa-hit", True), ("cxa-near", False)):
        texts = [run.text for body in reading.all(class_="cxa-text") for run in body.all(class_=look_)]
        assert texts == [
            piece.text
            for passage in assembled().passages
            for piece in passage.pieces
            if piece.candidate.is_hit is is_hit
        ]


def test_a_newer_version_is_the_hit_that_it_was_and_not_the_one_that_it_displaced():
    text = "The same words, said again in a newer version of the leaflet."
    old, new = (Chunk(day, day, text, metadata={"updated_at": f"2024-01-0{day}"}) for day in "12")
    tree = view(assemble(hits_of([old, new], 0.9, 0.5), AssemblyConfig(prefer_version="newest")))
    fragments = tree.all(class_="cxa-before")[0].all("article")
    assert [("score 0.9" in each.text, "score 0.5" in each.text) for each in fragments] == [
        (True, False),
        (False, True),
    ]
    (reading,) = tree.all(class_="cxa-reading")
    assert {(chip.name, chip.text) for chip in reading.all(class_="cxa-chip")} == {("a", "● 2")}
    assert "hit 2: chunk 2, score 0.9" in reading.all(class_="cxa-chip")[0].attributes["title"]


def test_header_summary_gap_and_supplement_are_marked():
    chunks = documents()
    hits = [Hit(chunks[0]), Hit(chunks[5])]
    context = assemble(hits, AssemblyConfig(window=0, cite="document"), supplement="A fact.")
    (reading,) = view(context).all(class_="cxa-reading")
    heads = [words_in(each) for each in reading.all(class_="cxa-head")]
    assert heads == ["header[1] Source: a.pdf", "summary[Page context: All of a.]"]
    assert [words_in(each) for each in reading.all(class_="cxa-gap")] == ["[...]"]
    assert "A fact." in reading.all("article")[-1].text


def test_fragments_show_what_is_kept_of_them_and_why():
    chunks = documents()
    context = assemble(hits_of([chunks[1], chunks[2], chunks[1], chunks[10]]), AssemblyConfig(window=0, max_tokens=200))
    (before,) = view(context).all(class_="cxa-before")
    kept = ["".join(each.text for each in fragment.all(class_="cxa-hit")) for fragment in before.all("article")]
    for place, hit in enumerate((chunks[1], chunks[2])):
        own = [one.chunk_span for one in context.provenance if one.chunk_id == hit.id]
        assert kept[place] == "".join(hit.text[slice(*span)] for span in own) != ""
    assert kept[2:] == ["", ""]
    texts = [" ".join(fragment.text.split()) for fragment in before.all("article")]
    assert "of its text" in texts[1]
    assert "duplicate of A1" in texts[2]
    assert "dropped: budget" in texts[3]


def test_the_numbers_are_those_of_the_trace():
    context = assembled(max_tokens=260)
    trace, tree = context.trace, view(context)
    facts = {
        each.text[len(each.all("b")[0].text) :]: each.all("b")[0].text
        for each in tree.all(class_="cxa-facts")[0].all("li")
    }
    assert facts[f"of {trace.max_tokens} tokens"] == str(trace.token_count)
    assert facts["tokens of the chunks, joined"] == str(trace.hit_tokens)
    spent = [int(each.all("b")[0].text.replace(",", "")) for each in tree.all(class_="cxa-legend")[0].all("li")]
    assert sum(spent) == trace.max_tokens
    assert spent[-1] == trace.max_tokens - trace.token_count
    way = facts["chunks, stage by stage"]
    assert way == "4 → 3 → 7 → 3"
    assert [(row[0].partition(" ")[0], row[1], row[3]) for row in tree.rows(f"{way} chunks")] == [
        (each.name, f"{each.chunks_in} → {each.chunks_out}", f"{each.elapsed_ms:.2f}") for each in trace.stages
    ]


def test_every_decision_has_its_row():
    context = assembled(max_tokens=260)
    rows = view(context).rows("Hits by rank")
    assert [(row[0], row[2], row[3], row[5], row[7]) for row in rows] == [
        (each.chunk_id, str(each.rank + 1), str(each.distance), each.outcome, each.because_of or "–")
        for each in sorted(context.trace.decisions, key=lambda each: each.outcome != "dropped" or each.distance > 0)
    ]
    assert len(rows) > 4


def test_excluded_hits_come_first_with_the_setting_that_decides():
    texts = [numbered("a", 30), numbered("b", 80), numbered("c", 20), " "]
    hits = hits_of([Chunk(f"c{n}", f"d{n}", text) for n, text in enumerate(texts)], 0.9, 0.8, 0.7)
    context = assemble(hits, AssemblyConfig(max_tokens=200))
    tree = view(context)
    needs = context.trace.excluded_tokens
    assert needs > 0
    rows = tree.rows(f"By rank; unused part of the budget: {200 - context.token_count} tokens")
    setting = "max_tokens, max_characters; granularity"
    assert [row[:1] + row[2:] for row in rows] == [
        ["2", "0.8", "–", "budget", f"{needs}", setting],
        ["4", "–", "–", "empty", "–", "–"],
    ]
    assert [row[0] for row in tree.rows("Hits by rank")] == ["c1", "c3", "c0", "c2"]
    titles = [each.text for each in tree.all("h3")]
    assert titles.index("Left out: 2 hits that the model doesn’t read") < titles.index("Before and after")


def test_of_a_text_too_long_to_be_kept_the_two_ends_are_shown():
    text = numbered("w", 5_000)
    context = assemble([Hit(Chunk("a", "A", text))], AssemblyConfig(max_tokens=100_000))
    (fragment,) = view(context).all(class_="cxa-before")[0].all("article")
    first, last = (each.text for each in fragment.all(class_="cxa-hit"))
    assert text.startswith(first)
    assert text.endswith(last)
    (gap,) = fragment.all(class_="cxa-gap")
    assert gap.text.strip() == f"… {len(text) - len(first + last):,} characters …"


def test_it_begins_with_what_was_done():
    context = assembled(max_tokens=260)
    (said,) = view(context).all(class_="cxa-lede")
    trace = context.trace
    assert said.text == (
        "4 retrieved chunks became 2 passages of 2 documents. 1 duplicate removed; 60 repeated characters stripped; "
        f"4 chunks left out, which would have cost {trace.excluded_tokens} tokens."
    )
    assert "4 neighbors added for context" in view(assembled()).all(class_="cxa-lede")[0].text
    (said,) = view(assemble([])).all(class_="cxa-lede")
    assert said.text == "0 retrieved chunks became nothing to read. "


@pytest.mark.parametrize(
    ("keywords", "shown"),
    [
        (["drink", "eat"], ["matches drink, eat"]),
        ({"b", "a"}, ["matches a, b"]),
        (0, ["matches 0"]),
        (float("nan"), []),
    ],
)
def test_badges_say_how_a_chunk_was_found(keywords: object, shown: list[str]):
    metadata = {"search_method": "bm25", "keywords": keywords, "expanded_query": "fasting"}
    tree = view(assemble(hits_of([words_of("A", 0, metadata=metadata), words_of("B", 0)])))
    found = [
        [each.text for each in one.all(class_="cxa-badge")] for one in tree.all(class_="cxa-before")[0].all("article")
    ]
    assert found == [["found by bm25", *shown, "expanded to fasting"], []]


def test_a_notebook_that_shows_a_context_twice_has_no_id_twice():
    context = assembled()
    shown = [context._repr_html_(), context._repr_html_(), context.view(evidence=["a010"])._repr_html_()]
    ids = [each.attributes["id"] for html in shown for each in read(html).walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    for html in shown:
        sound(html)


def test_a_fragment_leads_to_where_it_stands_and_back():
    context = assembled()
    tree = view(context)
    by_id = {each.attributes["id"]: each for each in tree.walk() if "id" in each.attributes}
    fragments = tree.all(class_="cxa-before")[0].all("article")
    ways = [[a for a in each.all("a") if a.text.startswith("in ")] for each in fragments]
    assert [way.text for (way,) in ways] == ["in [1]", "in [1]", "in [2]", "in [1]"]
    for fragment, (way,) in zip(fragments, ways, strict=True):
        there = by_id[way.attributes["href"][1:]]
        assert "cxa-hit" in there.classes
        assert there.text.strip() in fragment.text
    chips = [each for body in tree.all(class_="cxa-reading") for each in body.all("a", "cxa-chip")]
    hits = [each for each in chips if each.text.startswith("●")]
    assert {by_id[each.attributes["href"][1:]].name for each in hits} == {"article"}
    assert {by_id[each.attributes["href"][1:]].name for each in chips if each not in hits} == {"tr"}
    assert "it also has the text of hit 4" in hits[0].attributes["aria-label"]


def test_a_fragment_whose_place_has_no_room_leads_nowhere():
    chunks = [Chunk(f"c{n}", f"d{n}", f"{numbered(f'{n}x', 4_000)}.") for n in range(20)]
    tree = view(assemble(hits_of(chunks), AssemblyConfig(max_tokens=500_000)))
    (reading,) = tree.all(class_="cxa-reading")
    leads = [a for a in tree.all(class_="cxa-before")[0].all("a") if a.text.startswith("in ")]
    linked = ["href" in a.attributes for a in leads]
    assert linked == sorted(linked, reverse=True)
    assert 0 < sum(linked) < len(linked)
    assert "more characters of 20 blocks" in reading.text


@pytest.mark.parametrize(("hostile", "shown"), HOSTILE.items())
@pytest.mark.parametrize("form", ["numbered", "xml", "minimal"])
def test_nothing_from_outside_can_do_anything(hostile, shown, form):
    keys = ("source", "section", "page", "sheet", "row_number", "page_summary", "search_method", "keywords", "url")
    metadata = dict.fromkeys(keys, hostile)
    chunks = [
        Chunk(hostile + str(n), f"{hostile}{n % 2}", f"{hostile} text {n}", index=n, metadata=metadata)
        for n in range(4)
    ]
    hits = [*hits_of(chunks), Hit(chunks[0], "no number")]
    config = AssemblyConfig(format=form, max_tokens=400)
    context = assemble(hits, config, query=hostile, supplement=Supplement(hostile, True))
    tree = view(context)
    shown = shown or hostile
    assert f"Query: {shown}" in tree.all("p")[0].text
    assert shown in tree.all(class_="cxa-before")[0].all("article")[0].text
    assert shown[:20] in tree.all(class_="cxa-notes")[0].text or "\\" in repr(hostile)


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\u2063", "\ufeff", "\xad", "\u3164", "\U000e0101"])
def test_what_has_no_width_is_seen(hidden):
    (body,) = (
        view(assemble([Hit(Chunk("c", "A", f"say{hidden}no"))])).all(class_="cxa-before")[0].all(class_="cxa-text")
    )
    assert body.text == f"say⟦U+{ord(hidden):04X}⟧no"


def test_the_view_loads_nothing_and_keeps_its_style_to_itself():
    html = assembled().to_html()
    assert "<script" not in html
    assert not re.search(r"https?:|url\(|@import|src=", html)
    assert "default-src 'none'" in html
    rules = re.sub(r"/\*.*?\*/", "", STYLE, flags=re.DOTALL)
    without_media = re.sub(r"@(?:media|container)[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", rules)
    without_media = re.sub(r":is\([^)]*\) ", "", without_media)
    while "(" in without_media:
        without_media = re.sub(r"\([^()]*\)", "", without_media)
    for rule in re.findall(r"([^{}]+)\{[^{}]*\}", without_media):
        for selector in rule.split(","):
            assert re.match(r"\.cxa(-page)?\b", selector.strip()), selector


def test_an_empty_context_says_so():
    tree = view(assemble([]))
    assert "Nothing: the context has no chunks." in tree.text
    assert "The context has no fragments." in tree.text
    view(Context("text", 1))


@pytest.mark.parametrize(
    "parts",
    [{"passages": ()}, {"passages": (), "trace": Trace()}, {"trace": Trace()}, {"hits": ()}, {"provenance": ()}],
)
def test_what_is_left_of_a_context_is_shown(parts):
    context = replace(assembled(), **parts)
    (reading,) = view(context).all(class_="cxa-reading")
    assert len(reading.all("article")) == len(context.blocks) == 2
    assert context.passages or all(block.text.rpartition("\n")[2] in reading.text for block in context.blocks)


def test_ten_thousand_chunks_keep_below_a_megabyte_and_what_is_not_shown_is_counted():
    chunks = [Chunk(f"c{n}", f"d{n % 700}", f"{numbered(f'{n}<&', 30)}.", index=n) for n in range(10_000)]
    context = assemble(hits_of(chunks), AssemblyConfig(max_tokens=100_000, cite="document"))
    html = context.to_html()
    assert len(html.encode()) < 1_000_000
    tree = sound(html)
    rows = tree.rows("Hits by rank")
    assert f"and {10_000 - len(rows):,} more decisions" in tree.text
    fragments = tree.all(class_="cxa-before")[0].all("article")
    assert f"and {10_000 - len(fragments):,} more fragments" in tree.text
    assert len(rows) == 200
    assert re.search(r"and [\d,]+ more characters", tree.text)
    assert len(context.citations) == 700
    assert re.search(r"692 more documents", tree.text)


@pytest.mark.parametrize("character", ["\u202e", '"', "日", "&", "\U000e0041"])
def test_text_that_grows_when_escaped_keeps_below_a_megabyte(character):
    ids = [character * 70 + str(n) for n in range(600)]
    hits = [Hit(Chunk(each, each, character * 3_000 + str(n))) for n, each in enumerate(ids)]
    html = assemble(hits, AssemblyConfig(max_tokens=3_000_000, encoding=len, cite="chunk")).to_html()
    assert len(html.encode()) < 1_000_000
    sound(html)


def test_assembling_loads_no_view():
    code = (
        "import sys; from ctxassembly import assemble; assemble([]); "
        "print([name for name in sys.modules if name.startswith(('ctxassembly.views', 'jinja2', 'matplotlib'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@given(retrievals())
def test_whatever_was_assembled_can_be_looked_at(retrieval: Retrieval):
    context = strategies.assembled(retrieval)
    tree = view(context)
    rows = tree.rows("Hits by rank")
    found = sorted(context.trace.decisions, key=lambda each: each.outcome != "dropped" or each.distance > 0)
    assert [row[5] for row in rows] == [each.outcome for each in found]
    spent = [int(each.all("b")[0].text.replace(",", "")) for each in tree.all(class_="cxa-legend")[0].all("li")]
    assert sum(spent) == context.trace.max_tokens
    (reading,) = tree.all(class_="cxa-reading")
    standing = "".join(run.text for run in reading.walk() if {"cxa-hit", "cxa-near"} & set(run.classes))
    verbatim = "".join(context.text[slice(*source.span)] for source in context.provenance)
    assert re.sub(r"⟦U\+[0-9A-F]+⟧|\W", "", standing) == re.sub(r"\W", "", verbatim)
