"""The sentences and lines that are kept with another one, by the form of the text."""

from __future__ import annotations

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble

PROSE = "The pool is next to the town hall, behind the park with the old trees."
TABLE = f"{PROSE}\n\n| name | hours |\n|---|---|\n| Ann | 9 to 12 |\n| Bob | 13 to 17 |\n\n{PROSE}"
LIST = f"{PROSE}\nBring the following:\n\n- a towel\n- soap\n  in a box\n- a coin for the locker\n\n{PROSE}"
ROSTER = (
    "Dr. Ann Jansen\nCardiology\nMonday 9 to 12\n\nDr. Bob Smit\nSurgery\nTuesday 13 to 17\n\nDr. Cem Kaya\nFriday 8"
)


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
