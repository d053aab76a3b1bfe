from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import numbered
from ctxassembly.assembly.dedup.near import NearIndex
from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

HUNDRED = [f"w{n:03}" for n in range(100)]


def found(first: str, second: str, threshold: float = 0.9) -> list[Match]:
    index = NearIndex([first, second], threshold)
    index.add(0)
    return index.find(1)


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("case and punctuation are no part of a word", "The Dog's bone, again!", ["the", "dog", "s", "bone", "again"]),
        ("numbers are words", "2.5 mg", ["2", "5", "mg"]),
        ("accents stay, however they are written", "Éte\u0301 été", ["été", "été"]),
        ("full-width forms and ligatures are the plain ones", "\uff21\uff22\uff11 \ufb01n", ["ab1", "fin"]),
        ("ß is ss without case", "Straße", ["strasse"]),
        ("Chinese: every two adjacent characters", "今天很好", ["今天", "天很", "很好"]),
        ("Japanese: kana and kanji together", "はい、日本語。", ["はい", "日本", "本語"]),
        ("Thai", "กขค", ["กข", "ขค"]),
        ("a character alone is itself", "我 is 1", ["我", "is", "1"]),
        ("mixed scripts part at the border", "PCR检测法2024", ["pcr", "检测", "测法", "2024"]),
        ("Korean has spaces", "안녕 세계", ["안녕", "세계"]),
        ("no words", "… !? 😀", []),
        ("half a surrogate pair harms nothing", "a\ud83d b", ["a", "b"]),
    ],
)
def test_words(rule: str, text: str, expected: list[str]):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("rule", "threshold", "changed", "near"),
    [
        ("0.95 lets collapse 2 of 100 words", 0.95, 2, True),
        ("and no more", 0.95, 3, False),
        ("0.90 lets collapse 5", 0.9, 5, True),
        ("and no more", 0.9, 6, False),
        ("0.85 lets collapse 8", 0.85, 8, True),
        ("and no more", 0.85, 9, False),
        ("1 means the same words", 1, 0, True),
        ("1 means the same words", 1, 1, False),
    ],
)
def test_what_the_thresholds_do(rule: str, threshold: float, changed: int, near: bool):
    """Of a hundred words `changed` are others: 100 - changed are shared by 100 + changed."""
    # They stand apart, so that fewer runs of five than words are whole.
    text = " ".join(f"x{n}" if n % 11 == 0 and n // 11 < changed else word for n, word in enumerate(HUNDRED))
    assert found(" ".join(HUNDRED), text, threshold) == ([Match(0)] if near else [])


@pytest.mark.parametrize(
    ("rule", "first", "second", "expected"),
    [
        ("the order of words is not looked at", "one two three four", "four three two one", [Match(0)]),
        ("nor how often they come", "ha ha ha", "ha", [Match(0)]),
        ("a part of a longer text", " ".join(HUNDRED), " ".join(HUNDRED[40:60]), [Match(0, is_part=True)]),
        ("never the longer text as a part of its part", " ".join(HUNDRED[40:60]), " ".join(HUNDRED), []),
        ("the same words in other runs are no part", " ".join(HUNDRED), " ".join(HUNDRED[60:40:-1]), []),
        (
            "nine of ten runs are enough",
            " ".join(HUNDRED),
            " ".join([*HUNDRED[10:33], "other"]),
            [Match(0, is_part=True)],
        ),
        ("eight of ten are not", " ".join(HUNDRED), " ".join([*HUNDRED[10:24], "other", "words"]), []),
        ("fewer than five words are no part", " ".join(HUNDRED), " ".join(HUNDRED[:4]), []),
        ("a text without words is near to nothing", "...", "...", []),
        ("two texts of overlapping halves", " ".join(HUNDRED[:60]), " ".join(HUNDRED[30:90]), []),
        (
            "Chinese, one character added",
            "请在检查前六小时内不要进食检查前两小时可以喝水",
            "请在检查前六小时内不要进食检查前两小时可以喝水吧",
            [Match(0)],
        ),
        ("Chinese, other words", "请在检查前六小时内不要进食", "停车场昼夜开放入口在磨坊街", []),
        (
            "Chinese, a part",
            "请在检查前六小时内不要进食检查前两小时可以喝水",
            "检查前两小时可以喝水",
            [Match(0, is_part=True)],
        ),
    ],
)
def test_near_and_part(rule: str, first: str, second: str, expected: list[Match]):
    assert found(first, second) == expected


def test_what_is_discarded_is_not_found():
    text = numbered("w", 30)
    index = NearIndex([text, f"{text} more", text], 0.9)
    index.add(0)
    index.add(1)
    assert index.find(2) == [Match(0), Match(1)]
    index.discard(0)
    assert index.find(2) == [Match(1)]


def test_a_threshold_next_to_0_is_one():
    index = NearIndex([f"word{n} common" for n in range(200)], 5e-324)
    index.add(0)
    assert [match.text_index for match in index.find(1)] == [0]


@given(
    st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=14), max_size=12),
    st.sampled_from([0.3, 0.5, 0.75, 0.9, 1]),
    st.data(),
)
def test_nothing_is_missed_that_comparing_each_with_each_finds(
    texts: list[list[str]], threshold: float, data: st.DataObject
):
    index = NearIndex([" ".join(text) for text in texts], threshold)
    kept = data.draw(st.sets(st.sampled_from(range(len(texts))))) if texts else set()
    for place in range(len(texts)):
        index.add(place)
    for place in set(range(len(texts))) - kept:
        index.discard(place)
    for place, text in enumerate(texts):
        expected = []
        for other in sorted(kept - {place}):
            mine, its = set(text), set(texts[other])
            if mine and its and len(mine & its) / len(mine | its) >= threshold:
                expected.append(Match(other))
            elif _is_part(text, texts[other], threshold):
                expected.append(Match(other, is_part=True))
        assert [match for match in index.find(place) if match.text_index != place] == expected


def _is_part(small: list[str], large: list[str], threshold: float) -> bool:
    mine, its = ({tuple(text[n : n + 5]) for n in range(len(text) - 4)} for text in (small, large))
    return bool(mine) and len(mine) <= len(its) and len(mine & its) / len(mine) >= threshold


@pytest.mark.parametrize("threshold", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("values", [4, 40])
def test_nothing_is_missed_among_rows_of_a_table(threshold: float, values: int):
    """Equal words in all of them, few values in the rest, and words that only one of them has."""
    draw = random.Random(values)
    texts = []
    for n in range(300):
        columns = [f"{name} {name}{draw.randrange(values)}" for name in "abcdefghij"]
        extra = [f"only{n}{m}" for m in range(draw.randrange(3))]
        texts.append(" ".join([*columns[draw.randrange(3) :], *extra]))
    index, sets = NearIndex(texts, threshold), [set(words(text)) for text in texts]
    for place in range(len(texts)):
        index.add(place)
    for place, mine in enumerate(sets):
        near = [other for other, its in enumerate(sets) if _shared(mine, its) >= threshold and other != place]
        assert [found_at for found_at, is_part in index.find(place) if not is_part and found_at != place] == near


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)
