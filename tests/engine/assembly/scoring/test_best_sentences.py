"""Which sentence is read where there is room for few: hits and a query in, the text of a tight context out."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.config.assembly import Granularity
from strategies import words

NAMES = ("C", "C++", "C#", "F", "F#", "NET", "a.NET", ".NET", "x86", "x86_64", "Node.js", "Vue.js", "A-10", "A-100")
FILLER = "Nothing here. "
THAI = """โรงพยาบาลเปิดทำการทุกวันตั้งแต่เวลาแปดโมงเช้าจนถึงเวลาสองทุ่มโดยไม่มีวันหยุด \
ผู้ป่วยดื่มน้ำได้จนถึงสองชั่วโมงก่อนเข้ารับการตรวจในห้องตรวจชั้นสองของอาคาร \
ที่จอดรถอยู่หลังอาคารและเปิดให้บริการโดยไม่มีค่าใช้จ่ายใดใดทั้งสิ้นสำหรับทุกคน"""


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
                f"a name with its signs: {name}",
                f"When is {name} taught?",
                [f"{one} is taught in {one}ville." for one in NAMES],
                f"{name} is taught in {name}ville.",
            )
            for name in NAMES
            if name not in ("NET", "a.NET")
        ),
        *(
            (
                f"an operator as it is: {query}",
                query,
                [f"Write `a {one} b` for it." for one in ("=", "===", "==", "!=", "->")],
                f"Write `a {one} b` for it.",
            )
            for query, one in (("When do I use ==?", "=="), ("What is `->` for?", "->"), ("==", "=="))
        ),
        *(
            (
                f"a number in any groups: {said} for {asked}",
                f"Which fine is {asked} euros?",
                [
                    "The fine is 500 euros.",
                    "The fine is 15,000 euros.",
                    "The fine is 5,000,000 euros.",
                    f"The fine is {said} euros.",
                ],
                f"The fine is {said} euros.",
            )
            for asked, said in (
                ("5000", "5,000"),
                ("5,000", "5000"),
                ("5.000", "5 000"),
                ("5\u202f000", "5'000"),
                ("1234567", "1.234.567"),
                ("1.250", "1.250"),
                ("1,250", "1.250"),
                ("5000", "\uff15\uff0c\uff10\uff10\uff10"),
                ("5.000", "\u0665\u066c\u0660\u0660\u0660"),
                ("\u0665\u0660\u0660\u0660", "5\xa0000"),
                ("\u096b,\u0966\u0966\u0966", "5000"),
                ("100000", "1,00,000"),
                ("12,50,000", "1,250,000"),
            )
        ),
        *(
            (
                f"a word without what nobody sees: {asked!a} {said!a}",
                f"Where is {asked} kept?",
                ["The aspirin is kept here.", f"The {said} is kept there.", "The naproxen is kept here."],
                f"The {said} is kept there.",
            )
            for asked, said in (
                ("ribovarin", "ri\xadbo\xadvarin"),
                ("ribo\u200bvarin", "ribovarin"),
                ("rib\u2060ovarin", "\ufeffribo\u200dvarin"),
                ("Datenschutzgrundverordnung", "Daten\xadschutz\xadgrund\xadverordnung"),
                ("\u5e03\u6d1b\u82ac", "\u5e03\u200b\u6d1b\u200b\u82ac"),
            )
        ),
        *(
            (
                f"an identifier whole: {asked}",
                f"What is {asked} for?",
                [f"The {one} is for it." for one in others],
                f"The {asked} is for it.",
            )
            for asked, others in (
                ("ISO27001", ("ISO27002", "ISO270011", "ISO27001")),
                ("getUserName", ("getUserMail", "getUserNames", "getUserName")),
                ("max_tokens", ("max_tokenizer", "max_tokens")),
            )
        ),
        (
            "Thai by two characters, and one phrase of many",
            "ผู้ป่วยดื่มน้ำได้เมื่อไร",
            [THAI],
            "ผู้ป่วยดื่มน้ำได้จนถึงสองชั่วโมงก่อนเข้ารับการตรวจในห้องตรวจชั้นสองของอาคาร",
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


def test_all_that_the_speaker_asked_for_says_is_more_relevant_than_what_others_say():
    turn = " ".join(f"It has a price of {n} and a color that pleases all who are of the old school." for n in range(8))
    text = "\n".join(f"{name}: The remote is for all of them. {turn}" for name in ("Dr. Li", "Sarah Jones", "Tom Smit"))
    config = AssemblyConfig(max_tokens=2_000, min_relevance=0.85, format="minimal")
    read = assemble([Hit(Chunk("c", "d", text))], config, query="What did Sarah Jones say of the remote?").text
    assert read == text.splitlines()[1]


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
TAGS = "<table><tr><th>name</th><th>hours</th></tr>" + "".join(
    f"<tr><td>{name}</td><td>{n} to 17. Call first.</td></tr>" for n, name in enumerate(("Ann", "Bob", "Cem", "Dee"))
)
FIGURES = "| ward | beds | floor |\n|---|---|---|\n" + "\n".join(f"| {n} | {3 * n} | {n % 5} |" for n in range(10, 130))
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
        (
            "also one without a colon",
            LIST.replace("Bring the following:\n\n", "(2) Visitors should bring\n"),
            "Is a coin for the locker needed?",
            12,
            ["(2) Visitors should bring", "- a coin for the locker"],
        ),
        *(
            (
                "a heading has the text below, whatever headings are between, also one that asks",
                f"# The gastroscopy\n\n## {between}\n\n### Food and drink\n\nA meal hides much of what is to be seen.",
                "A gastroscopy?",
                20,
                ["# The gastroscopy", "### Food and drink\n\nA meal hides much"],
            )
            for between in ("On the day before", "What to do before?")
        ),
        ("an entry is whole", ROSTER, "Surgery Tuesday?", 11, ["Dr. Bob Smit\nSurgery\nTuesday 13 to 17"]),
        ("an entry is whole below its heading, too", f"# Who\n\n{ROSTER}", "Friday 8?", 7, ["Dr. Cem Kaya\nFriday 8"]),
        ("a row in HTML has its head", TAGS, "When is Cem there?", 12, ["<th>hours</th>", "<td>Cem</td>"]),
        ("of a table of numbers the row that is asked for", FIGURES, "How many beds has 44?", 24, ["| 44 | 132 | 4 |"]),
        ("also on lines", TAGS.replace("<t", "\n <t"), "When is Cem there?", 17, ["<th>hours</th>", "<td>Cem</td>"]),
        (
            "a field of a long object has the first one",
            '{\n  "name": "Ann",\n' + "".join(f'  "f{n}": "{n} it is",\n' for n in range(40)) + '  "door": "green"\n}',
            "Which door?",
            7,
            ['"name": "Ann"', '"door": "green"'],
        ),
        (
            "an object of more lines than an entry is whole",
            '{\n  "name": "Ann",\n' + "".join(f'  "f{n}": {n},\n' for n in range(14)) + '  "door": "green"\n}',
            "Which door?",
            36,
            ['"name": "Ann"', '"f7": 7', '"door": "green"\n}'],
        ),
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


MEAL, WATER, FREE = "A meal hides much of what is to be seen.", " Water hides none of it.", "It is free."
ROOM, MORNING = (
    "The room is at the river, behind the old trees.",
    "The gastroscopy is done early in the morning.",
)
ROW = "\n| Bob | 13 to 17 |"


@pytest.mark.parametrize(
    ("rule", "query", "before", "read", "after"),
    [
        ("a heading needs the text below", "Gastroscopy?", "", f"# The gastroscopy\n{MEAL}", WATER),
        ("as does one in bold", "Gastroscopy?", "", f"**The gastroscopy**\n{MEAL}", WATER),
        ("below other headings, too", "Gastroscopy?", "", f"# The gastroscopy\n\n## Before it\n\n{MEAL}", WATER),
        ("as does a line above a paragraph", "Gastroscopy?", "", f"Before a gastroscopy\n\n{MEAL}", WATER),
        ("one with a colon the next line", "Gastroscopy?", "", f"Before a gastroscopy these apply:\n{MEAL}", WATER),
        ("or with a wide colon", "胃镜", "", "胃镜检查之前：\n食物会遮挡视线。", "水不会。"),
        ("what introduces a list needs an item", "Visitors bring?", "", "(2) Visitors bring\n- a towel", "\n- soap"),
        ("a row needs its head", "Ann?", "", "| name | hours |\n|---|---|\n| Ann | 9 to 12 |", ROW),
        ("a short sentence needs the better of two", "Free in the morning?", ROOM, f"{FREE} {MORNING}", ""),
        ("wherever that is", "Free in the morning?", "", f"{MORNING} {FREE}", ROOM),
    ],
)
def test_with_the_best_line_comes_what_it_needs_and_nothing_else(
    rule: str, query: str, before: str, read: str, after: str
):
    filler = "\n\n".join(PROSE.replace("pool", f"shop {n}") for n in range(6))
    text = "\n\n".join((filler, f"{before} {read} {after}".strip(), filler))
    config = AssemblyConfig(max_tokens=8_000, min_relevance=1, format="minimal")
    assert assemble([Hit(Chunk("c", "d", text))], config, query=query).text == read


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("granularity", ["sentence", "chunk"])
def test_a_line_of_separated_values_has_the_first_one(mark: str, granularity: Granularity):
    """Of its own document, whose first chunk is known; prose with as many commas has none."""
    lines = [mark.join(("ward", "hours", "phone")), *(mark.join((f"W{n}", f"from {n}", f"2{n}")) for n in range(30))]
    texts = ["\n".join(lines[:10]), "\n".join(lines[10:20]), "\n".join(lines[20:])]
    chunks = [Chunk(f"t{n}", "t", text, n) for n, text in enumerate(texts)]
    config = AssemblyConfig(max_tokens=60, encoding=words, format="minimal", granularity=granularity, cite="document")
    read = assemble([Hit(chunks[2]), Hit(chunks[0])], config, query="When is W25 open?").text
    assert read.startswith(lines[0])
    assert lines[26] in read
    alone = assemble([Hit(chunks[2]), Hit(chunks[1])], config, query="When is W25 open?").text
    assert lines[0] not in alone
    assert lines[26] in alone
    other = assemble([Hit(chunks[2]), Hit(Chunk("u", "u", texts[0], 0))], config, query="When is W25 open?").text
    assert not other.startswith(lines[0])


def test_the_best_sentence_is_kept_alone_where_its_companion_does_not_fit():
    text = f"{PROSE} {PROSE.replace('pool', 'shop')} It closes at five. {PROSE[:-1]}, as before."
    assert "It closes at five." in best([text], "When does it close?", 5)
