"""The same hits under several configurations."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from builders import hits_of, numbered, split, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.comparison import Comparison, compare
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.views.html import STYLE
from pages import documents, read

TEXT = numbered("w", 300)
HOSTILE = "<script>alert(1)</script> $\\frac$ \u202e"


def compared(**options) -> Comparison:
    chunks = documents()
    hits = [Hit(chunks[1], 0.9), Hit(chunks[9], 0.8)]
    configs = [AssemblyConfig(), AssemblyConfig(window=0), AssemblyConfig(max_tokens=100)]
    return compare(hits, configs, store=MemoryStore(chunks), **options)


def test_each_row_is_what_that_configuration_makes():
    chunks = documents()
    comparison = compared()
    for row, config in zip(comparison.rows, (AssemblyConfig(), AssemblyConfig(window=0)), strict=False):
        context = assemble([Hit(chunks[1], 0.9), Hit(chunks[9], 0.8)], config, store=MemoryStore(chunks))
        assert (row.context, row.tokens) == (context, context.token_count)
        assert (row.documents, row.passages) == (2, 2)
        assert row.mean_passage_chars == sum(len(each.text) for each in context.passages) / 2
        assert row.order == (("A", "a.pdf"), ("B", "b.pdf"))
    assert [row.chunks for row in comparison.rows][:2] == [6, 2]
    assert comparison.rows[2].tokens <= 100


def test_rows_are_named_by_what_differs():
    assert [row.name for row in compared().rows] == ["default", "window=0", "max_tokens=100"]
    same = compare([], [AssemblyConfig(window=0), AssemblyConfig(window=0), AssemblyConfig(window=0, max_tokens=9)])
    assert [row.name for row in same.rows] == ["1. default", "2. default", "max_tokens=9"]
    assert [row.name for row in compared(names=["a", "b", "c"]).rows] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("evidence", "share"),
    [
        ("w010 w011", 1.0),
        ("w010\n  w011", 1.0),
        ("w290", 0.0),
        (("A", 50, 60), 1.0),
        (("A", 189, 209), 0.5),
        (("A", 0, 398), 0.5),
        (("A", 1_000, 1_010), 0.0),
        (("B", 50, 60), 0.0),
    ],
)
def test_evidence_is_the_share_of_it_that_is_read(evidence, share):
    chunk = split("A", TEXT, size=199)[0]
    (row,) = compare([Hit(chunk)], [AssemblyConfig()], evidence=[evidence]).rows
    assert row.evidence == share


def test_evidence_is_a_mean_and_none_without_any():
    chunk = split("A", TEXT, size=199)[0]
    assert compare([Hit(chunk)], [AssemblyConfig()], evidence=["w010", "w290"]).rows[0].evidence == 0.5
    assert compare([Hit(chunk)], [AssemblyConfig()]).rows[0].evidence is None


def test_overlapping_sources_count_once():
    chunks = split("A", TEXT, size=200, overlap=60)
    configs = [AssemblyConfig(window=0), AssemblyConfig(enabled=False)]
    stripped, passed = compare(hits_of(chunks[:3]), configs, evidence=[("A", 0, 958)]).rows
    assert sum(source.end - source.start for source in passed.context.provenance) > 479
    assert stripped.evidence == passed.evidence == 0.5


@pytest.mark.parametrize("evidence", ["", " ", ("A", 3), ("A", 5, 5), ("A", -1, 4), 7, (1, 0, 4)])
def test_evidence_that_is_none_is_refused(evidence):
    with pytest.raises(InputError, match="evidence must be texts or"):
        compare([], [AssemblyConfig()], evidence=[evidence])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"configs": []}, "configs must be one AssemblyConfig or more"),
        ({"configs": [{"window": 0}]}, "configs must be one AssemblyConfig or more"),
        ({"configs": AssemblyConfig()}, "configs must be one AssemblyConfig or more, in a list"),
        ({"configs": (AssemblyConfig() for _ in "ab")}, "configs must be one AssemblyConfig or more, in a list"),
        ({"configs": [AssemblyConfig()], "names": ["a", "b"]}, "names must be as many as there are configurations, 1"),
        ({"configs": [AssemblyConfig()], "names": [500]}, "names must be .* each a text, got .500"),
        ({"configs": [AssemblyConfig()], "names": "a"}, "names must be .* each a text, got 'a'"),
    ],
)
def test_wrong_configurations_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        compare([], **options)


def test_the_table_has_the_numbers_and_the_order():
    comparison = compared(evidence=["a010"])
    tree = read(comparison.to_html())
    rows = tree.rows("Mean run")
    assert [row[:7] for row in rows] == [
        [
            each.name,
            f"{each.tokens:,}",
            str(each.chunks),
            str(each.documents),
            str(each.passages),
            f"{each.mean_passage_chars:,.0f}",
            f"{each.evidence:.2f}",
        ]
        for each in comparison.rows
    ]
    assert [row[7] for row in rows] == ["AB", "AB", "A"]
    most = comparison.rows[0].tokens
    assert [each.attributes["style"] for each in tree.all(class_="cxa-meter")[::2]] == [
        f"width:{each.tokens / most:.1%}" for each in comparison.rows
    ]
    assert [each.text for each in tree.all(class_="cxa-legend")[0].all("li")] == ["A a.pdf", "B b.pdf"]
    assert f"<style>{tree.all('style')[0].text}</style>" == STYLE
    assert comparison._repr_html_() in comparison.to_html()


def test_evidence_is_no_text_of_letters():
    with pytest.raises(InputError, match="evidence must be a sequence of texts"):
        compare([Hit(words_of("A", 0))], [AssemblyConfig()], evidence="begins")


@pytest.mark.parametrize("form", ["numbered", "xml"])
def test_a_span_that_a_format_escapes_is_read(form):
    text = "R&D <a> " * 10
    comparison = compare(
        [Hit(Chunk("c", "A", text, start=100))], [AssemblyConfig(format=form)], evidence=[("A", 100, 170)]
    )
    assert comparison.rows[0].evidence == 1.0


@pytest.mark.parametrize("language", ["en", "nl"])
def test_a_document_without_a_source_is_called_by_its_id(language):
    comparison = compare(hits_of([words_of("A", 0), words_of("B", 0)]), [AssemblyConfig(language=language)])
    assert [each.text for each in read(comparison.to_html()).all(class_="cxa-legend")[0].all("li")] == ["A A", "B B"]
    assert printed(comparison).splitlines()[2:4] == ["A A", "B B"]


def test_long_names_are_told_apart():
    names = [f"{'x' * 200} {n}" for n in range(2)]
    comparison = compare([], [AssemblyConfig()] * 2, names=names)
    shown = [row[0] for row in read(comparison.to_html()).rows("Mean run")]
    assert [each[:5] for each in shown] == ["1. xx", "2. xx"]
    assert {each[-1] for each in shown} == {"…"}
    assert [line.split()[0] for line in printed(comparison).splitlines()[1:3]] == ["1.", "2."]
    assert [row.name for row in comparison.rows] == names


def test_the_order_is_cut_and_counted():
    comparison = compare(hits_of([words_of(f"d{n}", 0) for n in range(40)]), [AssemblyConfig()])
    (row,) = read(comparison.to_html()).rows("Mean run")
    assert row[7] == "ABCDEFGHIJKL and 28 more"
    assert "A B C D E F G H I J K L and 28 more" in printed(comparison)


def printed(comparison: Comparison) -> str:
    console = Console(file=StringIO(), width=300)
    console.print(comparison)
    return console.file.getvalue()


def test_a_terminal_shows_the_same():
    lines = printed(compared()).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["default", "window=0", "max_tokens=100"]
    assert lines[4:6] == ["A a.pdf", "B b.pdf"]


def test_two_tables_on_one_terminal_share_nothing():
    assert printed(compared()) == printed(compared())


def test_names_and_sources_can_do_nothing():
    chunk = words_of("A", 0, metadata={"source": HOSTILE})
    comparison = compare([Hit(chunk)], [AssemblyConfig()], names=[HOSTILE])
    tree = read(comparison.to_html())
    assert tree.all("script") == []
    assert tree.rows("Mean run")[0][0] == HOSTILE.replace("\u202e", "⟦U+202E⟧")
    assert "\u202e" not in printed(comparison)
