"""The sentences and lines that are kept with another one, by the form of the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from builders import candidate_of
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.selection.knapsack import Companions
from ctxassembly.text.lines import TextLines
from stopwatch import grows_less

PROSE = "The pool is next to the town hall, behind the park with the old trees."
TABLE = f"{PROSE}\n\n| name | hours |\n|---|---|\n| Ann | 9 to 12 |\n| Bob | 13 to 17 |\n\n{PROSE}"
LIST = f"{PROSE}\nBring the following:\n\n- a towel\n- soap\n  in a box\n- a coin for the locker\n\n{PROSE}"
ROSTER = (
    "Dr. Ann Jansen\nCardiology\nMonday 9 to 12\n\nDr. Bob Smit\nSurgery\nTuesday 13 to 17\n\nDr. Cem Kaya\nFriday 8"
)
HEADED = "## Dr. Ann Jansen\nMonday 9 to 12\n## Dr. Bob Smit\nTuesday 13 to 17"
NESTED = "- Dr. Ann Jansen\n  Monday 9 to 12\n- Dr. Bob Smit\n  Tuesday 13 to 17"
JSON = '[\n  {\n    "name": "Ann",\n    "note": "Rings. Waits."\n  },\n  {\n    "name": "Bob"\n  }\n]'
JSON_LINES = '{"name": "Ann", "note": "Rings twice. Waits."}\n{"name": "Bob", "note": "Never rings. Waits."}\n'
SHORT = f"{PROSE} It closes at five. {PROSE}"


def companions_of(line: str, text: str) -> list[str]:
    """The companions of the first sentence of `text` that begins with `line`."""
    sentences = score_sentences([DocumentText(candidate_of(Chunk("a", "A", text), 0))], "town hall")
    texts = [sentences.sentence_text(index) for index in range(len(sentences.continues))]
    index = next(index for index, text in enumerate(texts) if text.startswith(line))
    return [texts[index] for index in Companions(sentences)[index]]


@pytest.mark.parametrize(
    ("rule", "text", "line", "expected"),
    [
        ("a row has its header", TABLE, "| Bob", ["| name | hours |", "|---|---|"]),
        ("the first row, too", TABLE, "| Ann", ["| name | hours |", "|---|---|"]),
        ("a header has a row", TABLE, "| name", ["|---|---|", "| Ann | 9 to 12 |"]),
        ("a rule has both", TABLE, "|---", ["| name | hours |", "| Ann | 9 to 12 |"]),
        ("a table without a rule", f"{PROSE}\n| a | b |\n| c | d |\n| e | f |", "| e", ["| a | b |"]),
        ("but not where a chunk begins inside it", "| a | b |\n| c | d |\n| e | f |", "| e", []),
        ("a rule alone has nothing", "|---|---|", "|---", []),
        ("an introduction has an item", LIST, "Bring", ["- a towel"]),
        ("an item has its introduction", LIST, "- a coin", ["Bring the following:"]),
        ("a line of an item has it", LIST, "in a box", ["Bring the following:", "- soap"]),
        ("a heading has its text", f"# Opening hours of the pool in the park\n{PROSE}", "#", [PROSE]),
        ("a heading in bold", f"**Opening hours**\n\n{PROSE}", "**", [PROSE]),
        ("a label", f"Opening hours\n{PROSE}", "Opening", [PROSE]),
        ("a heading of a list", "# Bring\n\nFor all:\n\n- soap\n- a coin", "#", ["For all:", "- soap"]),
        ("an entry is whole", ROSTER, "Tuesday", ["Dr. Bob Smit", "Surgery"]),
        ("from its name on", ROSTER, "Dr. Ann", ["Cardiology", "Monday 9 to 12"]),
        ("a heading begins an entry", HEADED, "Tuesday", ["## Dr. Bob Smit"]),
        ("an item begins an entry", NESTED, "Monday", ["- Dr. Ann Jansen"]),
        ("an object is whole", JSON, '"note"', ["{", '"name": "Ann",', 'Waits."', "},"]),
        ("an object on one line", JSON_LINES, 'Waits."}', ['{"name": "Ann", "note": "Rings twice.']),
        ("a short sentence has the next or the one before", SHORT, "It closes", [PROSE]),
        ("a long one needs none", SHORT, "The pool", []),
        ("nor does all that there is", "It closes at five.", "It", []),
        ("nor an item without an introduction", "- a towel\n- soap", "- soap", []),
        ("a long run of lines is no entry", "\n".join(f"Row {n}" for n in range(40)), "Row 7", []),
    ],
)
def test_companions(rule: str, text: str, line: str, expected: list[str]):
    assert companions_of(line, text) == expected


@pytest.mark.parametrize(("row", "expected"), [("| Cem | 8 to 9 |", True), ("| Cem | 8 | 9 |", False)])
def test_a_row_has_the_header_of_a_table_that_began_in_another_chunk(row: str, expected: bool):
    filler = " ".join([PROSE.replace("pool", f"shop {n}") for n in range(20)])
    chunks = [Chunk("a", "A", f"{filler}\n\n{TABLE.removesuffix(PROSE)}", 0), Chunk("c", "A", f"{row}\n\n{filler}", 2)]
    config = AssemblyConfig(max_tokens=45, format="minimal", granularity="sentence", order="documents")
    text = assemble([Hit(chunks[1]), Hit(chunks[0])], config, query="Cem?").text
    assert text.startswith("| name | hours |\n|---|---|\n[...]\n") is expected
    assert row in text


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        (TABLE, "When is Bob there?", "| name | hours |\n|---|---|\n[...]\n| Bob | 13 to 17 |"),
        (
            LIST,
            "Is a coin for the locker needed?",
            "Bring the following:\n[...]\n- soap\n  in a box\n- a coin for the locker",
        ),
        (ROSTER, "Surgery Tuesday?", "Dr. Bob Smit\nSurgery\nTuesday 13 to 17"),
    ],
)
def test_companions_are_in_the_context(text: str, query: str, expected: str):
    filler = "\n\n".join([PROSE.replace("pool", f"shop {n}") for n in range(20)])
    hits = [Hit(Chunk("a", "A", f"{filler}\n\n{text}\n\n{filler}"))]
    context = assemble(hits, AssemblyConfig(max_tokens=59, format="minimal"), query=query)
    assert expected in context.text


def test_the_best_sentence_is_kept_alone_where_its_companion_does_not_fit():
    hits = [
        Hit(Chunk("a", "A", f"{PROSE} {PROSE.replace('pool', 'shop')} It closes at five. {PROSE[:-1]}, as before."))
    ]
    context = assemble(hits, AssemblyConfig(max_tokens=16, format="minimal"), query="When does it close?")
    assert "It closes at five." in context.text


@pytest.mark.parametrize(
    "line",
    ["| a | b |\n", "- item\n", "Name\n", "  in it\n", '{\n"a": 1\n}\n', '"a": 1,\n', "# A\n", "Yes. ", "|-", "a:\n"],
)
def test_time_is_about_linear(line: str):
    def finding(length: int) -> Callable[[], object]:
        chunk = Chunk("a", "A", line * length)
        sentences = score_sentences([DocumentText(candidate_of(chunk, 0))], "item")

        def run() -> None:
            lines = TextLines(sentences.text, sentences.boundaries, sentences.continues, sentences.document_ids)
            companions = Companions(replace(sentences, lines=lines))
            for index in range(len(sentences.continues)):
                companions[index]

        return run

    assert grows_less(finding, 500, 8_000, 80)
