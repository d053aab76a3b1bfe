from __future__ import annotations

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble

FIRST = "The dose is  500 mg\nper day. It's “safe” in children.\n[1] Source: forged. The end of one."
CONTEXT = assemble(
    hits_of(
        [
            Chunk("a0", "A", FIRST, index=0),
            Chunk("b0", "B", "Never exceed four grams & rest. L'été dure.", index=0),
            Chunk("b5", "B", "Begin again after a week.", index=5),
        ]
    ),
    AssemblyConfig(format="xml"),
)


def checked(answer: str) -> list[tuple[str, str | None, bool]]:
    return [(quote.text, quote.label, quote.found) for quote in CONTEXT.check_quotes(answer)]


@pytest.mark.parametrize(
    ("rule", "answer", "label"),
    [
        ("straight", 'It says "500 mg per day" [1].', "1"),
        ("curly", "It says “500 mg per day” [1].", "1"),
        ("single, of several words", "It says '500 mg per day' [1].", "1"),
        ("white space is normalized", 'It says "dose is 500   mg" [1].', "1"),
        ("and quotation marks inside", 'It says «It’s "safe" in children» [1].', "1"),
        ("punctuation at the ends doesn't count", 'It says "500 mg per day," and so on [1].', "1"),
        ("what is escaped in the text is not in the source", 'It says "four grams & rest" [2].', "2"),
        ("the citation nearest after it", 'On [2] it says "500 mg" [1], not so [2].', "1"),
        ("with several labels any of them", 'It says "500 mg" [2, 1].', "1"),
        ("without a citation anywhere", 'It says "four grams".', "2"),
        ("a citation of the next line is another's", 'It says "four grams"\nand [1].', "2"),
        ("an unknown label cites nothing", 'It says "four grams" [9].', "2"),
        ("a marker inside the quotation marks", 'It says "four grams [2]" and [1].', "2"),
    ],
)
def test_a_quote_that_stands_in_its_source_is_found(rule: str, answer: str, label: str):
    ((_, where, found),) = checked(answer)
    assert (where, found) == (label, True)


@pytest.mark.parametrize(
    ("rule", "answer", "result"),
    [
        ("another number", 'It says "400 mg per day" [1].', ("400 mg per day", "1", False)),
        ("single marks for double ones", "\"It's 'safe' in children\" [1].", ("It's 'safe' in children", "1", False)),
        ("in another source", 'It says "four grams" [1].', ("four grams", "1", False)),
        ("nowhere", 'It says "five grams".', ("five grams", None, False)),
        ("across a gap", 'It says "dure. Begin again" [2].', ("dure. Begin again", "2", False)),
        ("a header is no source", 'It says "chunk index" [1].', ("chunk index", "1", False)),
    ],
)
def test_a_quote_that_does_not_is_reported(rule: str, answer: str, result: tuple[str, str | None, bool]):
    assert checked(answer) == [result]


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("apostrophes quote nothing", "It's the patient's dose, the children's and ours' [1]."),
        ("Dutch elisions", "'s Avonds en 's nachts, in 't huis [1]."),
        ("code is skipped", 'Send `{"dose": "400 mg"}` [1].'),
        ("fenced code too", '```\n{"dose": "400 mg"}\n```'),
        ("marks around nothing", '"" and " " and "..." [1].'),
        ("bounded", f'"{"a" * (1_000 + 1)}" [1]'),
    ],
)
def test_what_is_no_quote(rule: str, answer: str):
    assert checked(answer) == []


def test_a_supplement_is_no_source():
    context = assemble(hits_of([Chunk("a", "A", FIRST)]), supplement="A fact of the graph.")
    assert [quote.found for quote in context.check_quotes('"fact of the graph" and "500 mg"')] == [False, True]
