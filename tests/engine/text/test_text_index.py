"""The index of a text: where its sentences, sections and words begin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxassembly.text.text_index import TextIndex, index_texts, prefix_keys
from ctxassembly.text.words import normalize, words
from stopwatch import grows_less

MIXED = st.text(st.sampled_from("日本語中文不ーไทยกขପာ𠀁 ab1é。、한국жиґßİ½ﬁ…\u0301\u2003\ud800\U000e0001_"))


def index_text(text: str) -> TextIndex:
    return index_texts([text])[0]


def keys(index: TextIndex) -> list[int]:
    return np.frombuffer(index.keys, dtype=np.int64).tolist()


def word_starts(index: TextIndex) -> list[int]:
    return np.frombuffer(index.word_starts, dtype=np.uint32).tolist()


def sentences(index: TextIndex) -> list[tuple[int, bool]]:
    """Where each but the first begins, and whether a section does."""
    return [(code >> 1, code & 1 > 0) for code in np.frombuffer(index.sentence_starts, dtype=np.uint32).tolist()]


@given(st.lists(MIXED, max_size=4))
def test_each_word_has_its_offset_and_the_key_of_its_prefix(texts: list[str]):
    for text, index in zip(texts, index_texts(texts), strict=True):
        starts, found = word_starts(index), words(text)
        assert keys(index) == prefix_keys(word[:6] for word in found).tolist()
        assert starts == sorted(starts)
        assert all(0 <= start < len(text) for start in starts)
        if len(normalize(text)) == len(text):
            assert all(normalize(text).startswith(word, start) for word, start in zip(found, starts, strict=True))


@pytest.mark.parametrize("text", ["Fußball 12,5 Ärzte_x", "Ａ ﬁnal ΣΊΣΥΦΟΣ İstanbul", "三天内 a", "ßß 5 µm, ß", "a  a"])
def test_words_that_begin_alike_have_one_key(text: str):
    again = " ".join(f"{word[:6]}x" if len(word) >= 6 else word for word in words(text) if len(word) != 2)
    assert set(keys(index_text(again))) <= set(keys(index_text(text)))


def test_words_that_begin_differently_have_different_keys():
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    many = [first + second + third for first in letters for second in letters for third in letters]
    assert len(set(prefix_keys(many + [word * 2 for word in many]).tolist())) == 2 * len(many)


def test_words_of_a_text_that_grows_in_lower_case_keep_their_offsets():
    text = "Die Straße führt, e\u0301te\u0301 zu ﬁx, ﬂott."
    assert words(text) == ["die", "strasse", "führt", "été", "zu", "fix", "flott"]
    assert word_starts(index_text(text)) == [0, 4, 11, 18, 24, 27, 31]


def test_a_section_begins_at_a_heading_or_after_two_blank_lines():
    found = index_text("One.\n# Two\nThree.\n\nFour.\n\n\nFive.\n#six\n####### seven\n")
    assert [is_head for _, is_head in sentences(found)] == [True, False, False, True, False, False]


@pytest.mark.parametrize("part", [". ", "a. ", "\n", ")", ") ", "1. ", f"{'x' * 39},\nA ", "| a. ", "# ", " ", "“. "])
def test_hostile_texts_take_linear_time(part: str):
    assert grows_less(lambda size: lambda: index_text(part * (size // len(part))), 20_000, 160_000, 24)
