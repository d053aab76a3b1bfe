"""Beside PostgreSQL itself: tests/stores/test_memory_as_postgres.py."""

from __future__ import annotations

import time

import pytest

from ctxassembly.stores import NearWords, lexemes
from ctxassembly.text.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.50, Ann!", ["it", "s", "3.50", "ann"]),
        ("één Größe", ["één", "größe"]),
        ("well-known a-b-c", ["well-known", "well", "known", "a-b-c", "a", "b", "c"]),
        ("COVID-19 10-12 2024-05-01", ["covid", "-19", "10", "-12", "2024", "-05", "-01"]),
        ("snake_case __init__", ["snake", "case", "init"]),
        ("<b>hoi</b> &amp; 3 < 4", ["hoi", "3", "4"]),
        ("a@b.nl", ["a@b.nl"]),
        ("https://www.x.nl/pad/a?b=1 x.nl/", ["www.x.nl/pad/a?b=1", "www.x.nl", "/pad/a?b=1", "x.nl"]),
        ("and/or /usr/lib/x.py", ["and/or", "/usr/lib/x.py"]),
        ("v1.2 1.2.3 1e5 3D K57.3", ["v1.2", "1.2.3", "1e5", "3d", "k57.3"]),
        ("", []),
        (" - ... \x00 \n", []),
        ("👍 三天内", ["三天", "天内"]),
        ("按照ISO27001认证。水", ["按照", "iso27001", "认证", "水"]),
        ("ＩＳＯ２７００１／ISO27002，ﾃﾞｰﾀ", ["iso27001", "iso27002", "デー", "ータ"]),
        ("ผลเลือด IgE", ["ผล", "ลเ", "เล", "ลื", "ือ", "อด", "ige"]),
        ("zh.x.org/wiki/水 a-b", ["zh.x.org/wiki/", "zh.x.org", "/wiki/", "水", "a-b", "a", "b"]),
    ],
)
def test_words_as_postgresql_keeps_them(text: str, expected: list[str]):
    assert lexemes(text) == expected


@pytest.mark.parametrize("text", ["糖尿病患者的血糖", "東京タワー、カタカナ", "ไม่มีน้ำ", "三天内 a 人", "𠀀𠀁𠀂"])
def test_scripts_without_spaces_have_the_words_of_an_assembly(text: str):
    assert lexemes(text) == words(text)


@pytest.mark.parametrize(
    "part", ["水", "水a", "水Ａ", "a+", "a-1-", "<a ", "&a", "a.", "a/", "http://", "x@", "a", "1.", "-"]
)
def test_hostile_texts_take_no_longer(part: str):
    """The worst takes 7 s for a million characters; a pattern that looks back and forth would take hours."""
    text = part * (100_000 // len(part))
    began = time.process_time()
    lexemes(text)
    assert time.process_time() - began < 5


def test_near_words_have_the_word_as_a_part_or_nearly_equal_it():
    near = NearWords(["kinderepilepsie", "epilepsiecentrumnederland", "ferritine", "rit", "water"])
    assert near.find("epilepsie", 4) == ["kinderepilepsie", "epilepsiecentrumnederland"]
    assert near.find("epilepsie", 1) == ["kinderepilepsie"]
    assert near.find("ferirtine", 4) == ["ferritine"]
    assert near.find("zzzz", 4) == []


def test_what_has_less_than_three_letters_is_part_of_everything():
    near = NearWords(["onderhoudscontract", "contractueel"])
    assert near.find("ac", 4) == []
    assert near.find("rac", 4) == ["contractueel", "onderhoudscontract"]
