from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxassembly.text.query_terms import QueryTerms
from ctxassembly.text.text_index import index_texts
from ctxassembly.text.words import find_identifiers, find_long_words, find_symbols, words


def found_in(text: str, query: str) -> list[str]:
    """The words of the query that are found, each long one before its prefix."""
    terms, index = QueryTerms(query), index_texts([text])[0]
    prefix_ids, places = terms.find_prefixes(np.frombuffer(index.keys, dtype=np.int64))
    word_starts = np.frombuffer(index.word_starts, dtype=np.uint32).tolist()
    whole = set(terms.begins_whole(prefix_ids).tolist())
    found: list[str] = []
    for number, (prefix_id, place) in enumerate(zip(prefix_ids.tolist(), places.tolist(), strict=True)):
        longer = terms.find_whole(text, prefix_id, word_starts[place]) if number in whole else None
        found += [] if longer is None else [terms.terms[longer]]
        found += [terms.terms[prefix_id]] if prefix_id < terms.prefix_count else []
    return found


@pytest.mark.parametrize(
    ("rule", "query", "text", "found"),
    [
        ("a word is found in any case", "Water", "WATER water", ["water", "water"]),
        ("two forms of a word share six letters", "gastroscopie", "De gastroscopische ingreep", ["gastro"]),
        ("a shorter word is only itself", "dose", "dose doses overdose", ["dose"]),
        ("never inside a word", "water", "underwater", []),
        ("as often as it occurs", "a b", "b a b", ["b", "a", "b"]),
        ("full width is the same", "5", "\uff15 mg", ["5"]),
        ("what grows in small letters is found all the same", "straße", "STRASSE und straße", ["strass", "strass"]),
        ("scripts without spaces by two characters", "日本語", "日本語の本", ["日本", "本語"]),
        ("beside words with spaces", "日本 tax", "tax 日本", ["tax", "日本"]),
        ("a word with digits is found whole", "ISO27001", "iso27002 ISO27001 iso270012", ["iso27001"]),
        ("or with underscores", "get_user_name", "get_user_mail get_user_name", ["get_user_name"]),
        ("a word that begins like one keeps its forms", "sensor sensor33", "sensors", ["sensor"]),
        ("a word with digits before a script without spaces", "ISO27001", "符合ISO27001标准", ["iso27001"]),
    ],
)
def test_what_is_found(rule: str, query: str, text: str, found: list[str]):
    assert [word for word in found_in(text, query) if word not in find_long_words(words(query))] == found


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
    text = "".join(parts)
    exact = find_identifiers(" ".join(query))
    wanted = [word[:6] for word in words(" ".join(query)) if word not in exact]
    found = [word for word in found_in(text, " ".join(query)) if word not in exact]
    assert found == [word[:6] for word in words(text) if word[:6] in wanted]


@pytest.mark.parametrize(
    ("query", "symbols"),
    [
        ("difference between is and ==", ["=="]),
        ("What does `->` mean?", ["->"]),
        ("is a <= b", ["<="]),
        ("A / B - C & D: 5% -- or https://x.y?", []),
        ("**bold** and __init__", []),
    ],
)
def test_operators_of_a_query_are_searched(query: str, symbols: list[str]):
    assert list(find_symbols(query)) == symbols


def test_an_operator_is_not_found_inside_a_longer_one():
    pattern = find_symbols("what is == for")["=="]
    assert [match.start() for match in pattern.finditer("a == b === c x==y !== z")] == [2, 14]
