from __future__ import annotations

import pytest

from ctxassembly.text.scan import scan
from ctxassembly.text.sentences import PAD
from ctxassembly.text.terms import find_terms, query_terms
from ctxassembly.text.words import find_words, normalize_wording, words


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("no capitals", "The DOG", "the dog"),
        ("one blank between words", " a\n\tb  c ", "a b c"),
        ("quotation marks straight", "“a” ‘b’ «c» „d‚", '"a" \'b\' "c" "d\''),
    ],
)
def test_wording(rule: str, text: str, expected: str):
    assert normalize_wording(text) == expected


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("without case and punctuation", "It's 3.50, Ann!", ["it", "s", "3", "50", "ann"]),
        ("compatible forms are one", "ＡＢ ﬁn", ["ab", "fin"]),
        ("two adjacent characters where no spaces are", "三天内 a", ["三天", "天内", "a"]),
        ("one that stands alone as itself", "水 b", ["水", "b"]),
    ],
)
def test_words(rule: str, text: str, expected: list[str]):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("rule", "text", "sought", "begin", "at"),
    [
        ("words as they stand", "the cart, the art", "the art", 0, 10),
        ("not inside a word", "carts art", "art", 0, 6),
        ("not a part of a number", "1250 250", "250", 0, 5),
        ("from there on", "art art", "art", 1, 4),
        ("nowhere", "a cart", "dog", 0, -1),
        ("and may be sought", "f(x) (x)", "(x)", 0, 1),
        ("scripts without spaces have no inside", "我们今天下雨", "今天", 0, 2),
    ],
)
def test_find_words(rule: str, text: str, sought: str, begin: int, at: int):
    assert find_words(text, sought, begin) == at


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [("5000", "5,000", 1), ("5000", "5,000, or", 1), ("5000", "5,000,000", 0), ("250000", "1,250,000", 0)],
)
def test_a_number_in_groups_is_found_whole(query: str, text: str, expected: int):
    offsets, _ = find_terms(scan(PAD + text + PAD), query_terms(query))
    assert len(offsets) == expected
