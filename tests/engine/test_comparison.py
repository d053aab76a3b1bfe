"""The same hits under several configurations, as a table."""

from __future__ import annotations

import pytest

from builders import numbered, split, words_of
from ctxassembly import AssemblyConfig, Hit, MemoryStore, assemble
from ctxassembly.comparison import Comparison, compare
from ctxassembly.errors import ConfigError
from pages import documents, read

TEXT = numbered("w", 300)
HOSTILE = "<script>alert(1)</script> </table></section> $\\frac$ \u202e\n\x1b[31m"
NUMBERS = ["tokens", "chunks", "documents"]


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
        assert row.documents == 2
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


def cells_of(comparison: Comparison) -> list[list[str]]:
    """The table that each row's numbers make."""
    return [
        [
            row.name,
            f"{row.tokens:,}",
            f"{row.chunks}",
            f"{row.documents}",
            *([] if row.evidence is None else [f"{row.evidence:.2f}"]),
        ]
        for row in comparison.rows
    ]


@pytest.mark.parametrize("evidence", [(), ("a010",)], ids=["without evidence", "with evidence"])
def test_a_terminal_and_a_notebook_show_the_same_table(evidence):
    comparison = compared(evidence=evidence)
    head, *lines = map(str.split, str(comparison).splitlines())
    assert " ".join(head) == " ".join(["configuration", *NUMBERS, *(["evidence"] if evidence else [])])
    assert lines == cells_of(comparison)
    assert read(comparison._repr_html_()).rows("Evidence") == lines


def test_names_can_do_nothing():
    comparison = compare([Hit(words_of("A", 0))], [AssemblyConfig()], names=[HOSTILE])
    tree = read(comparison._repr_html_())
    assert tree.all("script") == []
    assert len(tree.all("section")) == 1
    assert tree.rows("Evidence")[0][0].startswith("<script>alert(1)</script> </table></section> $\\frac$ ⟦U+202E⟧")
    printed = str(comparison)
    assert len(printed.splitlines()) == 2
    assert not {"\u202e", "\x1b"} & {*printed}
