from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from ctxassembly.text.sentences import sentence_spans
from stopwatch import grows_less
from strategies import texts

THAI = "ห้ามดื่มน้ำและรับประทานอาหารทุกชนิดเป็นเวลาหกชั่วโมงก่อนเข้ารับการตรวจ"


SPOKEN = "and so we say " * 80
FULL = "a line broken to a width goes on like this"


def parts(text: str) -> list[str]:
    spans = sentence_spans(text)
    return [text[begin:end] for begin, end in spans]


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("a full stop ends a sentence; the blank belongs to it", "One. Two.", ["One. ", "Two."]),
        ("marks and brackets after it too", "“No!” (Really?) Yes.", ["“No!” ", "(Really?) ", "Yes."]),
        ("not the point in a number", "Pay 3.50 now. Then go.", ["Pay 3.50 now. ", "Then go."]),
        ("so does the end of a line", "Head\nBody text\n", ["Head\n", "Body text\n"]),
        ("but the indentation is the line's own", "def f(x):\n    return x\n", ["def f(x):\n", "    return x\n"]),
        ("a row of a table is one", "| a | 1.5 |\n| b | 2. | c |", ["| a | 1.5 |\n", "| b | 2. | c |"]),
        (
            "so is a row in HTML, with its lines",
            "See. <table><tr><th>a</th></tr><tr>\n<td>b. C</td>\n</tr></table> So.",
            ["See. ", "<table><tr><th>a</th></tr>", "<tr>\n<td>b. C</td>\n</tr></table> ", "So."],
        ),
        (
            "and an object of JSON on one line",
            '{"a": "One. Two."}\n{"a": "D."}',
            ['{"a": "One. Two."}\n', '{"a": "D."}'],
        ),
        ("also of numbers", "| a |\n|---|\n| 1 |\n| 2 |", ["| a |\n|---|\n", "| 1 |\n", "| 2 |"]),
        ("without blanks in Chinese", "第一句。第二句！「是。」好", ["第一句。", "第二句！", "「是。」", "好"]),
        ("nor in Hindi, Urdu or Khmer", "यह एक है।यह दो है। क्या?", ["यह एक है।", "यह दो है। ", "क्या?"]),
        ("Thai has blanks alone", f"{THAI} {THAI} {THAI}", [f"{THAI} ", f"{THAI} ", THAI]),
        ("a transcript without stops is cut", SPOKEN, [SPOKEN[:402], SPOKEN[402:805], SPOKEN[805:]]),
        ("at a comma in Chinese", "说" * 500 + "，" + "说" * 300, ["说" * 500 + "，", "说" * 300]),
        ("also without blanks", "说" * 1_300, ["说" * 800, "说" * 500]),
        ("an item's number belongs to it", "1. Mail it. 2. Wait.", ["1. Mail it. ", "2. Wait."]),
        ("or its letter", "See:\na. Mail it.\n  b. Wait.", ["See:\n", "a. Mail it.\n", "  b. Wait."]),
        ("a number that ends a sentence doesn't", "So it was in 1949. Come by.", ["So it was in 1949. ", "Come by."]),
        ("blanks at the end belong to the last", "One. Two. \n ", ["One. ", "Two. \n "]),
    ],
)
def test_sentences(rule: str, text: str, expected: list[str]):
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("what is parted goes on", f"{FULL}\n  in the next,\nHead", [f"{FULL}\n  in the next,\n", "Head"]),
        ("up to its stop", f"{FULL}, \r\nas here. One.", [f"{FULL}, \r\nas here. ", "One."]),
        ("and before it", f"{FULL}\n(*so* it is).", [f"{FULL}\n(*so* it is)."]),
        ("within a word, too", f"{FULL} in-\nside of it", [f"{FULL} in-\nside of it"]),
        ("a name with lines below it, too", f"{FULL}\n  __init__ calls", [f"{FULL}\n  __init__ calls"]),
        ("a small word before a colon, too", f"One\n{FULL}\ncall: it", ["One\n", f"{FULL}\ncall: it"]),
        ("a capital that had no room does", f"{FULL}\nAufklärung, {FULL[:32]}", [f"{FULL}\nAufklärung, {FULL[:32]}"]),
        ("one that had room doesn't", f"{FULL}\nSo {FULL} here", [f"{FULL}\n", f"So {FULL} here"]),
        ("nor one below a heading", f"{FULL}\nSee below.", [f"{FULL}\n", "See below."]),
        ("nor an item", f"{FULL}\n- one\n2 two", [f"{FULL}\n", "- one\n", "2 two"]),
        ("nor what a colon introduces", f"{FULL}:\nthis", [f"{FULL}:\n", "this"]),
        ("nor what follows a blank line", f"{FULL}\n\nthis", [f"{FULL}\n\n", "this"]),
        ("nor cells", f"a | {FULL}\nb c", [f"a | {FULL}\n", "b c"]),
        ("nor values", f"{FULL},1,2\n" * 2 + f"{FULL},1,2", [f"{FULL},1,2\n"] * 2 + [f"{FULL},1,2"]),
        ("but prose with as many commas does", f"{FULL}, a, b\n{FULL}, a, b", [f"{FULL}, a, b\n{FULL}, a, b"]),
        ("nor what is behind a stop in quotes", f'"{FULL}."\n"{FULL}."', [f'"{FULL}."\n', f'"{FULL}."']),
        ("nor the lines of a log", f"info: {FULL}\ninfo: b", [f"info: {FULL}\n", "info: b"]),
        ("nor those of code", f"    return {FULL})\n    x = 1", [f"    return {FULL})\n", "    x = 1"]),
    ],
)
def test_a_sentence_goes_on_where_a_line_was_full(rule: str, text: str, expected: list[str]):
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1A. Risk factors. More.", ["1A. Risk factors. ", "More."]),
        ("ITEM 1A. RISK FACTORS\nWe face risks.", ["ITEM 1A. RISK FACTORS\n", "We face risks."]),
        ("iv. Results. Next.", ["iv. Results. ", "Next."]),
        ("(xii) Twelve. Next.", ["(xii) Twelve. ", "Next."]),
        ("mix. Then stir.", ["mix. ", "Then stir."]),
        ("Item 1A.\nRisks", ["Item 1A.\n", "Risks"]),
        ("Artikel 17. Löschung. Mehr.", ["Artikel 17. Löschung. ", "Mehr."]),
        ("Глава 2. Право. Далее.", ["Глава 2. Право. ", "Далее."]),
        ("They came in 17. So it was.", ["They came in 17. ", "So it was."]),
    ],
)
def test_the_number_of_an_item_stays_with_it(text: str, expected: list[str]):
    assert [text[begin:end] for begin, end in sentence_spans(text)] == expected


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("an initial ends none", "By J. R. Bach. He.", ["By J. R. Bach. ", "He."]),
        ("nor a day or a number in order", "Am 7. Mai. Im 19. Jahr.", ["Am 7. Mai. ", "Im 19. Jahr."]),
        ("any other number does", "The room is 12. Ask the nurse.", ["The room is 12. ", "Ask the nurse."]),
        ("not before the number of an article", "Op grond van Art. 6 lid 1.", ["Op grond van Art. 6 lid 1."]),
        ("or of a figure", "See Fig. 2, No. 5, Sec. 4 (Abs. 1).", ["See Fig. 2, No. 5, Sec. 4 (Abs. 1)."]),
        ("or a question that is quoted", "“Is it safe?” she wonders.", ["“Is it safe?” she wonders."]),
        ("but what begins with a capital does", "“Is it safe?” She wonders.", ["“Is it safe?” ", "She wonders."]),
        ("or an amount", "It takes approx. 10 days.", ["It takes approx. 10 days."]),
        ("but a longer word does", "These are the starts. 10 days.", ["These are the starts. ", "10 days."]),
        ("or a Roman one", "Philip II. ruled. Then IV. Henry.", ["Philip II. ruled. ", "Then IV. Henry."]),
        ("or without a vowel", "Ask Mr. Bo or bzw. Dr. Li. So.", ["Ask Mr. Bo or bzw. Dr. Li. ", "So."]),
        ("unless in capitals", "Sent by SMTP. Then read.", ["Sent by SMTP. ", "Then read."]),
        ("nor a short word before a small letter", "Dit bijv. ook. Nu.", ["Dit bijv. ook. ", "Nu."]),
        ("unless all are small", "it was so. then we left", ["it was so. ", "then we left"]),
        ("and what ends the line", "By Mr.\nBo J.\n\nSo.", ["By Mr.\n", "Bo J.\n\n", "So."]),
    ],
)
def test_an_abbreviation_ends_no_sentence(rule: str, text: str, expected: list[str]):
    assert parts(text) == expected


def test_a_stop_behind_a_blank_ends_a_sentence_of_a_transcript():
    assert parts("We take plan B . Next is Dr . Yeah .") == ["We take plan B . ", "Next is Dr . ", "Yeah ."]


@given(texts())
def test_all_of_a_text_is_in_its_sentences_once_and_in_order(text: str):
    assert "".join(parts(text)) == text
    assert all(part.strip() for part in parts(text)) or not text.strip()


HOSTILE = {
    "one-word sentences": "Ja. ",
    "numbers of items": "1. ",
    "lines of blanks": "a \n \n",
    "blanks": "a" + " " * 99,
    "stops": "...",
    "no stop": "word ",
    "no stop or blank": "说",
    "brackets": "(((1.",
    "dandas": "।",
    "Thai phrases": "าา ",
    "blanks before a word": " " * 9_999 + "a",
    "rows": "| ",
    "rows of bars": "\n |",
    "full lines": "word " * 12 + "\n",
    "full lines of a word": "a" * 50 + "\n",
}


def test_time_is_linear_in_the_lines_of_one_sentence():
    """Eight times the lines take some eight times the time; looking at all of the sentence at each took 40 times."""

    def splitting(lines: int) -> Callable[[], object]:
        text = " word word word word word word word word word\n" * lines
        return lambda: sentence_spans(text)[0]

    assert splitting(5_000)() is not None
    assert grows_less(splitting, 5_000, 40_000, 20)
