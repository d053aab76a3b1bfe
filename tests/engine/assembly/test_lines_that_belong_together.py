"""Cells with their label and head, items with their stem, and two chunks of one line."""

from __future__ import annotations

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

PROSE = "The ward is on the second floor of the old building. Visitors come in by the garden gate. Coffee is at three. "


def read(
    *texts: str, query: str | None = None, max_tokens: int = 8_000, starts: tuple[int, ...] = (), **metadata
) -> str:
    hits = [
        Hit(Chunk(f"a#{number}", "a", text, number, starts[number] if starts else None, metadata=metadata))
        for number, text in enumerate(texts)
    ]
    config = AssemblyConfig(max_tokens=max_tokens, neighbors="unfiltered")
    return str(assemble(hits, config, query=query)).partition("\n")[2]


@pytest.mark.parametrize(
    ("head", "rows", "query"),
    [
        ("Net sales (millions):\n\n2024\n2023", ("Products", "Services", "Tablets", "Phones"), "net sales of tablets"),
        ("Umsatz in Millionen\n\n2024\n\n2023", ("Produkte", "Dienste", "Tablets", "Telefone"), "Umsatz mit Tablets"),
        ("销售额（百万）\n2024\n2023", ("产品", "服务", "平板电脑", "手机"), "平板电脑销售额"),
    ],
)
def test_a_row_with_a_cell_a_line_is_read_with_its_label_and_its_head(head: str, rows: tuple[str, ...], query: str):
    cells = [f"{row}\n{300 + number},866\n$ {200 + number},085" for number, row in enumerate(rows)]
    text = "\n".join((PROSE * 3, "", head, *cells, "", PROSE))
    found = read(text, query=query, max_tokens=44)
    assert f"{rows[2]}\n302,866\n$ 202,085" in found
    assert found.startswith(head)
    assert rows[1] not in found


@pytest.mark.parametrize("stop", [":", "."])
@pytest.mark.parametrize("marks", ["- - - -", "1. 2. 3. 4.", "a) b) c) d)", "一、 二、 三、 四、"])
def test_an_item_is_read_with_its_stem(stop: str, marks: str):
    things = zip(marks.split(), ("pets", "smoking", "music", "bikes"), strict=True)
    items = "\n".join(f"{mark} {thing} in any of the rooms of the house" for mark, thing in things)
    text = f"{PROSE}\n\nThe tenant is forbidden the following{stop}\n{items}\n\n{PROSE}"
    found = read(text, query="smoking", max_tokens=36)
    assert "forbidden the following" in found
    assert "smoking" in found


@pytest.mark.parametrize(
    ("first", "second", "between"),
    [
        (PROSE.rstrip(), "The doctor is in at nine.", " "),
        ("Patients who take anticoagulants must not", "stop taking them.", " "),
        ("| Ward 3 | 12 beds | north", "wing | open |", " "),
        ("| Ward 3 | 12 beds |", "| Ward 4 | 9 beds |", "\n"),
        ("- one\n- two", "- three", "\n"),
        ("x = 1\ny = 2", "z = 3", "\n"),
        ("One is old.", "Two is new.", "\n"),
    ],
)
def test_one_character_between_two_chunks_is_a_blank_inside_a_line(first: str, second: str, between: str):
    assert read(first, second, starts=(0, len(first) + 1)) == first + between + second


def test_the_rule_below_a_heading_is_no_line_of_ours():
    assert read("Wards\n*****\n\nOpen at nine.") == "Wards\n*****\n\nOpen at nine."
    assert read("Open at nine.\n\n***\n\nEnd.") == "Open at nine.\n\n\\***\n\nEnd."


def test_text_before_the_first_heading_has_no_section():
    hit = Hit(Chunk("a", "a", "Open at nine.", 0, metadata={"source": "a.html", "section": "#TITLE#"}))
    assert assemble([hit]).citations[0].section is None
