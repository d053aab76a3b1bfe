"""Which sentence is read where there is room for few: hits and a query in, the text of a tight context out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from strategies import words

FILLER = "Nothing here. "


def best(hits: Sequence[Chunk | str], query: str, room: int) -> str:
    """What is read in `room` words; a text is the only chunk of its document."""
    chunks = [Chunk(f"c{n}", f"d{n}", one) if isinstance(one, str) else one for n, one in enumerate(hits)]
    config = AssemblyConfig(max_tokens=room, encoding=words, format="minimal", granularity="sentence")
    return assemble([Hit(chunk) for chunk in chunks], config, query=query).text


@pytest.mark.parametrize(
    ("rule", "query", "hits", "first"),
    [
        (
            "the words of the query",
            "water",
            [FILLER * 3 + "Parking is free.", "Drink no water. " + FILLER * 3],
            "Drink no water.",
        ),
        (
            "a compound rather than what begins like it",
            "Wer besitzt Gemeinschaftsapotheken?",
            [
                FILLER * 6 + "Die Gemeinde ist der Gemeinde Gemeinden.",
                FILLER * 6 + "Die Gemeinschaftsapotheke gehört ihr.",
                FILLER,
                FILLER,
            ],
            "Die Gemeinschaftsapotheke gehört ihr.",
        ),
        *(
            (
                f"not a function word, however rare, in {language}",
                query,
                [f"{misleads} {FILLER * 4}", f"{answers} {FILLER * 4}", f"{answers} {FILLER * 4}", *[FILLER * 4] * 6],
                answers,
            )
            for language, query, answers, misleads in (
                ("English", "Explain ferritin", "Ferritin is low.", "They explain all."),
                ("Dutch", "Waarom vergoeding?", "Vergoeding volgt dan.", "Zie verder waarom."),
                ("German", "Erkläre Rente", "Rente bleibt niedrig.", "ERKLÄRE alles hier."),
                ("French", "Résume l'indemnité", "Indemnité faible donc.", "Il se résume ainsi."),
                ("Spanish", "¿Cuándo cerró?", "Cerró temprano ayer.", "Depende de cuándo."),
            )
        ),
    ],
)
def test_which_sentence_wins(rule: str, query: str, hits: list[str], first: str):
    assert first in best(hits, query, len(first.split()) + 3)


MEETING = """\
[00:01:02] Sarah Jones: The remote has a price that is good. Rubber is what I want for it.

Dr. Li: The remote has a price that is good. Plastic is what I want for it.
Speaker 2 (00:03:10): The remote has a price that is good. Copper is what I want for it.
**Project Manager:** The remote has a price that is good. Leather is what I want for it.
Chair: Go on.
"""


@pytest.mark.parametrize(
    ("text", "query", "said"),
    [
        (MEETING, "What did Sarah Jones say about the remote?", "Rubber"),
        (MEETING, "What does Jones say about the remote?", "Rubber"),
        (MEETING, "what did dr li say about the remote", "Plastic"),
        (MEETING, "What did Speaker 2 say about the remote?", "Copper"),
        (MEETING, "What did the project manager say about the remote?", "Leather"),
    ],
)
def test_the_speaker_asked_for_is_heard(text: str, query: str, said: str):
    others = {"Rubber", "Plastic", "Copper", "Leather"} - {said}
    read = best([text], query, 20)
    assert said in read
    assert not any(other in read for other in others)


SECTION = "Open the second page of it. Choose a period for them. The team sees all of it."
ASIDE = "Open the third page of it. Choose a color for them. The group sees none of it."


def test_a_heading_with_the_words_of_the_query_raises_its_section():
    text = f"Intro of it all.\n## Pages\n{ASIDE}\n## How alerts are silenced\n{SECTION}\n## Other\n{ASIDE}\n"
    read = best([text], "How are alerts silenced?", 24)
    assert "The team sees all of it." in read or "Open the second page of it." in read
    assert "group" not in read


PROSE = "The pool is next to the town hall, behind the park with the old trees."
TABLE = "| name | hours |\n|---|---|\n| Ann | 9 to 12 |\n| Bob | 13 to 17 |"
ROSTER = (
    "Dr. Ann Jansen\nCardiology\nMonday 9 to 12\n\nDr. Bob Smit\nSurgery\nTuesday 13 to 17\n\nDr. Cem Kaya\nFriday 8"
)
LIST = "Bring the following:\n\n- a towel\n- soap\n  in a box\n- a coin for the locker"


@pytest.mark.parametrize(
    ("rule", "text", "query", "room", "read"),
    [
        ("a row has its header", TABLE, "When is Bob there?", 16, ["| name | hours |", "| Bob | 13 to 17 |"]),
        (
            "an item has its introduction",
            LIST,
            "Is a coin for the locker needed?",
            12,
            ["Bring the following:", "- a coin for the locker"],
        ),
        ("an entry is whole", ROSTER, "Surgery Tuesday?", 11, ["Dr. Bob Smit\nSurgery\nTuesday 13 to 17"]),
        (
            "a line of an object has all of it",
            '[\n  {\n    "name": "Ann",\n    "note": "Rings twice."\n  },\n  {\n    "name": "Bob"\n  }\n]',
            "Who rings twice?",
            11,
            ['"name": "Ann"', '"note": "Rings twice."'],
        ),
    ],
)
def test_a_line_is_read_with_what_it_needs(rule: str, text: str, query: str, room: int, read: list[str]):
    filler = "\n\n".join(PROSE.replace("pool", f"shop {n}") for n in range(12))
    found = best([f"{filler}\n\n{text}\n\n{filler}"], query, room)
    for part in read:
        assert part in found


def test_the_best_sentence_is_kept_alone_where_its_companion_does_not_fit():
    text = f"{PROSE} {PROSE.replace('pool', 'shop')} It closes at five. {PROSE[:-1]}, as before."
    assert "It closes at five." in best([text], "When does it close?", 5)
