"""Which words of a query say little, in each language."""

from __future__ import annotations

import pytest

from ctxassembly.text.words import words
from ctxassembly.wording.languages import LANGUAGES, guess_language, stop_words


@pytest.mark.parametrize(
    ("language", "query", "rest"),
    [
        ("en", "What is explained about ferritin?", "explained ferritin"),
        ("en", "Explain how the war of 1870 began", "war 1870 began"),
        ("en", "List the sea ports, and summarize what they're for", "sea ports"),
        ("nl", "Waarom moet ik over de vergoeding nadenken?", "vergoeding nadenken"),
        ("nl", "Leg uit hoe de raadpleging wordt betaald", "raadpleging betaald"),
        ("nl", "Vat de regels voor apotheken samen", "regels apotheken"),
        ("de", "Warum war die Schule geschlossen?", "schule geschlossen"),
        ("de", "Erklären Sie, für wen die Rente gilt", "rente gilt"),
        ("de", "Fasse den Beschluss zusammen", "beschluss"),
        ("fr", "Pourquoi la rente est-elle versée ?", "rente versée"),
        ("fr", "Expliquez comment on obtient l'indemnité d'été", "obtient indemnité été"),
        ("es", "¿Por qué se cerró la escuela?", "cerró escuela"),
        ("es", "Explique cuáles son los estados del sistema", "estados sistema"),
    ],
)
@pytest.mark.parametrize("written", [str, str.upper, str.title])
def test_what_is_left_of_a_query(language: str, query: str, rest: str, written: type[str]):
    asked = words(written(query))
    assert [word for word in asked if word not in stop_words(asked)] == rest.split()


def test_accents_may_be_characters_of_their_own():
    assert stop_words(words("Erkla\u0308re das fu\u0308r mich")) == {"erkläre", "das", "für", "mich"}


@pytest.mark.parametrize(
    ("rule", "query", "little"),
    [
        ("a word that says little in another language alone", "the war at sea", "the at"),
        ("the same word where it does", "was war das", "was war das"),
        ("two languages with as many: those of both", "in zee", "in"),
        ("none", "ferritin 250", ""),
        ("no form of such a word", "explained listing explanations", ""),
        ("no query", "", ""),
    ],
)
def test_one_language_says_which(rule: str, query: str, little: str):
    assert stop_words(words(query)) == set(little.split())


@pytest.mark.parametrize("code", LANGUAGES)
def test_lists_are_written_as_words_of_a_query_are(code: str):
    """Or they would never be found: in small letters, without signs, each once."""
    language = LANGUAGES[code]
    known = f"{language.stop_words} {language.question_words}".split()
    assert known == words(" ".join(known))
    assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "May I drink before a gastroscopy?"),
        ("nl", "Welke arts werkt op campus noord?"),
        ("nl", "Is de polikliniek van het OLVG open?"),
        ("de", "Wo ist die Praxis von der Leyen?"),
        ("fr", "Puis-je boire avant une gastroscopie ?"),
        ("es", "¿Dónde está el hospital de la Cruz?"),
        (None, "opening hours"),
        (None, "Dr. van der Berg phone number"),
        (None, "Ursula von der Leyen biography"),
        (None, "who sells in die hard trilogy"),
        (None, "В каком году открыт музей?"),
        (None, ""),
    ],
)
def test_the_language_of_a_question_is_known_by_its_function_words_or_not_at_all(language: str | None, text: str):
    assert guess_language(text) == language
