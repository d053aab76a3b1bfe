"""Each language in each format: what is written, asked for, read and recognized. The words here are known by heart."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.text.words import words
from ctxassembly.wording.languages import LANGUAGES, guess_language, stop_words

CITED = {"numbered": "[1][3]", "source": "[SOURCE 1]", "xml": "[1]"}
"""The formats with labels, each with what a prompt asks an answer to cite."""
HEADERS = {
    "en": ("[1] Source: a.pdf, pages 3-4", "[SOURCE 1] a.pdf § S Row 7", "[1] Source: unknown"),
    "nl": ("[1] Uit a.pdf (pagina's 3-4):", "[SOURCE 1] a.pdf § S Rij 7", "[1] Uit onbekend:"),
    "de": ("[1] Quelle: a.pdf, Seiten 3-4", "[SOURCE 1] a.pdf § S Zeile 7", "[1] Quelle: unbekannt"),
    "fr": ("[1] Source : a.pdf, pages 3-4", "[SOURCE 1] a.pdf § S Ligne 7", "[1] Source : inconnue"),
    "es": ("[1] Fuente: a.pdf, páginas 3-4", "[SOURCE 1] a.pdf § S Fila 7", "[1] Fuente: desconocida"),
}
PROMPTS = {
    "en": ("Answer the question|enough information|has no label|no reference marks|Context:|Question:"),
    "nl": ("Beantwoord de|niet genoeg informatie|geen label|verwijzingstekens|Contextdocumenten:|Vraag:"),
    "de": ("Beantworten Sie|nicht genügend|haben kein Label|keine Verweiszeichen|Kontext:|Frage:"),
    "fr": ("Répondez à|pas assez d'informations|pas d'étiquette|marque de renvoi|Contexte :|Question :"),
    "es": ("Responda a la|suficiente información|no tiene etiqueta|No escriba marcas|Contexto:|Pregunta:"),
}
"""The task, no answer, the rules for a supplement and without labels, and the words of the user message."""


@pytest.mark.parametrize("code", HEADERS)
def test_headers(code: str):
    place = {"source": "a.pdf", "sheet": "S", "row_number": 7}
    hits = hits_of([Chunk(f"a{n}", "A", f"Text {n}.", n, metadata={**place, "page": 3 + n}) for n in range(2)])
    numbered, source, unknown = HEADERS[code]
    assert assemble(hits, AssemblyConfig(language=code)).text.partition("\n")[0] == numbered
    assert assemble(hits, AssemblyConfig(language=code, format="source")).text.partition("\n")[0] == source
    nameless = hits_of([Chunk("a", "A", "Text.")])
    assert assemble(nameless, AssemblyConfig(language=code)).text == f"{unknown}\nText."
    xml = assemble(nameless, AssemblyConfig(language=code, format="xml"))
    assert xml.text == '<chunk index="1">\nText.\n</chunk>'


@pytest.mark.parametrize(("code", "form"), list(product(HEADERS, CITED)))
def test_an_answer_may_cite_in_any_language(code: str, form: str):
    hits = hits_of([Chunk(name, name.upper(), f"Text {name}.") for name in "ab"])
    context = assemble(hits, AssemblyConfig(language=code, format=form))
    for word in ("Source", "Bron", "BRONNEN", "Quelle", "quellen", "Sources", "Fuente", "FUENTES"):
        for mark, labels in ((f"[{word} 2]", "2"), (f"[{word}: 2; {word} 1]", "21"), (f"【{word} 1-2】", "12")):
            resolved = context.resolve(f"So {mark}.")
            assert "".join(citation.label for citation in resolved.citations) == labels
            assert "".join(context.stream(list(f"So {mark}."), "remove")) == "So."


@pytest.mark.parametrize(("code", "form"), list(product(HEADERS, [*CITED, "grouped", "minimal"])))
def test_the_prompt_is_in_the_language_and_cites_as_the_format_does(code: str, form: Any):
    config = AssemblyConfig(language=code, format=form)
    context = assemble(hits_of([Chunk("a", "A", "Text.")]), config, supplement="Facts.")
    task, not_enough, supplement, no_labels, above, question = PROMPTS[code].split("|")
    system, user = (message["content"] for message in context.to_messages("Why?", "strict"))
    assert system.startswith(task)
    assert all(rule in system for rule in (not_enough, supplement, CITED.get(form, no_labels)))
    assert user == f"{above}\n{context.text}\n\n---\n\n{question} Why?"


@pytest.mark.parametrize(
    ("code", "query", "rest"),
    [
        ("en", "What is explained about ferritin?", "explained ferritin"),
        ("nl", "Waarom moet ik over de vergoeding nadenken?", "vergoeding nadenken"),
        ("de", "WARUM WAR DIE SCHULE GESCHLOSSEN?", "schule geschlossen"),
        ("de", "Erkla\u0308ren Sie, fu\u0308r wen die Rente gilt", "rente gilt"),
        ("fr", "Expliquez comment on obtient l'indemnité d'été", "obtient indemnité été"),
        ("es", "¿Por qué se cerró la escuela?", "cerró escuela"),
        ("a word that says little in another language alone", "the war at sea", "war sea"),
        ("two languages with as many: those of both", "in zee", "zee"),
        ("none", "explained listing explanations 250", "explained listing explanations 250"),
    ],
)
def test_which_words_of_a_query_say_little(code: str, query: str, rest: str):
    asked = words(query)
    assert [word for word in asked if word not in stop_words(asked)] == rest.split()


@pytest.mark.parametrize("code", LANGUAGES)
def test_lists_are_written_as_words_of_a_query_are(code: str):
    """Or they would never be found: in small letters, without signs, each once."""
    known = f"{LANGUAGES[code].stop_words} {LANGUAGES[code].question_words}".split()
    assert known == words(" ".join(known))
    assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "May I drink before a gastroscopy?"),
        ("nl", "Is de polikliniek van het OLVG open?"),
        ("de", "Wo ist die Praxis von der Leyen?"),
        ("fr", "Puis-je boire avant une gastroscopie ?"),
        ("es", "¿Dónde está el hospital de la Cruz?"),
        (None, "opening hours"),
        (None, "Dr. van der Berg phone number"),
        (None, "В каком году открыт музей?"),
        (None, ""),
    ],
)
def test_the_language_of_a_question_is_known_by_its_function_words_or_not_at_all(code: str | None, text: str):
    assert guess_language(text) == code
