"""The keys of words beside the words themselves, in scripts with and without spaces between them."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

from ctxassembly.text.query_terms import prefix_key, string_words
from ctxassembly.text.words import normalize, prefixes

MIXED = st.text(st.sampled_from("日本語中文不ーไทยกขပာ𠀁 ab1é。、한국жиґ\ud800\U000e0001_"))


@given(MIXED)
@example("三天内 a")
@example("三 a 天内")
@example("天")
@example("GPT-4の回答は、長い。")
def test_each_word_has_its_key_and_its_place(text: str):
    assume(len(normalize(text)) == len(text))
    found = string_words(text, [(0, len(text))])
    expected = prefixes(text)
    assert found.keys.tolist() == [prefix_key(stem) for stem in expected]
    assert [
        normalize(text)[at : at + len(stem)] for at, stem in zip(found.starts.tolist(), expected, strict=True)
    ] == expected


@given(MIXED, MIXED)
def test_other_words_have_other_keys(first: str, second: str):
    words = {*prefixes(first), *prefixes(second)}
    assert len({prefix_key(word) for word in words}) == len(words)
