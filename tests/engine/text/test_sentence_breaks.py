"""Sentences of many texts at once, and what arrays settle without the rules on words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ctxassembly.text.characters import Characters
from ctxassembly.text.sentence_breaks import sentence_starts
from ctxassembly.text.sentence_rules import CLOSING, STOPS, continues
from ctxassembly.text.sentences import sentence_spans
from strategies import texts

PIECES = (
    *(
        "Dr.",
        "e.g.",
        "bzw.",
        "z.B.",
        "and.",
        "No.",
        "U.S.",
        "IV.",
        "1.",
        "(a)",
        "ITEM 1A.",
        "3",
        "7.",
        "Mai",
        "am",
        "iv)",
    ),
    *(
        "the",
        "Pay",
        "fasting,",
        "well-known",
        "x" * 41,
        "long" * 11,
        "foo.bar()",
        "it’s",
        "½",
        "plan B .",
        "| a | 1. |",
    ),
    *(
        "。",
        "「はい。」",
        "है।",
        "ราคา",
        "ทองคำ",
        "?!",
        "...",
        "…",
        '."',
        ".)",
        "“Why?”",
        "key:",
        '"the"',
        "*an*",
        "(a_b)",
        "`to`,",
        "and…",
    ),
    *("\n", "\n", "\n\n", "\n  ", " \n", "\xa0", "\x1c", "\x00"),
)
jumbled = st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join) | st.lists(st.sampled_from(PIECES)).map("".join)
_END = re.compile(rf"(?:[{STOPS}]+[{re.escape(CLOSING)}]*\s*|\n\s*|[ ]+)\Z")


@given(st.lists(texts() | jumbled, max_size=6))
def test_a_text_has_the_same_sentences_among_others_as_alone(many: list[str]) -> None:
    characters = Characters(many)
    starts = [
        offset + start
        for offset, text in zip(characters.starts.tolist(), many, strict=False)
        for start, _ in sentence_spans(text)[1:]
    ]
    assert sentence_starts(characters).tolist() == starts


@given(jumbled)
def test_no_sentence_ends_where_the_rules_say_that_it_continues(text: str) -> None:
    if len(text) > 1_200:
        return  # a long sentence is cut where none ends
    for begin, end in sentence_spans(text)[:-1]:
        found = _END.search(text, begin, end)
        assert found is not None
        assert not continues(text, begin, found.start(), end), text[begin:end]


@given(jumbled)
def test_each_line_that_ends_inside_a_sentence_continues_by_the_rules(text: str) -> None:
    for begin, end in sentence_spans(text):
        for line in re.finditer(r"\n(?:\s*\n)?", text[:end].rstrip()[begin:]):
            at, after = begin + line.start(), begin + line.end()
            assert continues(text, begin, at, after), text[begin:after]
