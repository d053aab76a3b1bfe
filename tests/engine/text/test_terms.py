from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxassembly.text.query_terms import QueryTerms, index_text
from ctxassembly.text.words import long_prefixes, prefixes


def found_in(text: str, query: str) -> list[str]:
    """The words of the query that are found, each long one before its prefix."""
    terms, index = QueryTerms(query), index_text(text)
    found: list[str] = []
    for term_id, number in zip(*(each.tolist() for each in terms.find_occurrences(index.keys)), strict=True):
        longer = terms.find_long_term(text, term_id, int(index.word_starts[number]))
        found += [terms.terms[each] for each in (longer, term_id) if each is not None]
    return found


@pytest.mark.parametrize(
    ("rule", "query", "text", "found"),
    [
        ("a word is found in any case", "Water", "WATER water", ["water", "water"]),
        ("two forms of a word share six letters", "gastroscopie", "De gastroscopische ingreep", ["gastro"]),
        ("a shorter word is only itself", "dose", "dose doses overdose", ["dose"]),
        ("never inside a word", "water", "underwater", []),
        ("as often as it occurs", "a b", "b a b", ["b", "a", "b"]),
        ("numbers are words", "42", "Row 42 of 421", ["42"]),
        ("marks don't count", "[x]", "x (x)", ["x", "x"]),
        ("full width is the same", "5", "\uff15 mg", ["5"]),
        ("what grows in small letters is found all the same", "straße", "STRASSE und straße", ["strass", "strass"]),
        ("scripts without spaces by two characters", "日本語", "日本語の本", ["日本", "本語"]),
        ("beside words with spaces", "日本 tax", "tax 日本", ["tax", "日本"]),
        ("nothing is found by nothing", "", "text", []),
    ],
)
def test_what_is_found(rule: str, query: str, text: str, found: list[str]):
    assert [word for word in found_in(text, query) if word not in long_prefixes(query)] == found


TWO = "gemeinschaft gemeinschaftlichkeit"


@pytest.mark.parametrize(
    ("rule", "query", "text", "found"),
    [
        (
            "a long word is found whole, and by its stem",
            "Apothekenbetrieb",
            "Apothekenbetriebe",
            "apothekenbetri apothe",
        ),
        ("another one that begins alike by its stem alone", "Apothekenbetrieb", "Apothekergarten", "apothe"),
        ("a word of nine letters has but its stem", "Apotheken", "Apotheken", "apothe"),
        ("of two that begin alike the longer one", TWO, "Gemeinschaftlichkeiten", "gemeinschaftlichke gemein"),
        ("or the shorter one", TWO, "Gemeinschaften", "gemeinscha gemein"),
    ],
)
def test_long_words_are_found_whole_as_well(rule: str, query: str, text: str, found: str):
    assert found_in(text, query) == found.split()


WORDS = st.sampled_from(
    ["water", "waters", "Wasser", "İstanbul", "日本", "本語", "e\u0301te", "ß", "x", "12", " ", ".", "\n", "_"]
)


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=20))
def test_it_finds_what_the_stems_of_the_text_are(query: list[str], parts: list[str]):
    text, wanted = "".join(parts), prefixes(" ".join(query))
    assert found_in(text, " ".join(query)) == [stem for stem in prefixes(text) if stem in wanted]
