"""An index in memory finds what one on PostgreSQL finds: the same words, the same scores, the same near words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest

from ctxassembly import Chunk, MemoryIndex, Term, Vocabulary
from ctxassembly.data.requests import SearchChunks
from ctxassembly.text.lexemes import NEAR, NearWords, lexemes

TEXTS = [
    "Wie behandelt epilepsie bij kinderen? Bel 088-1234567, of mail: poli@ziekenhuis.nl (ma-vr 8.30-17.00 uur).",
    "COVID-19-tests zijn gratis; zie https://www.rivm.nl/covid-19/testen?taal=nl en www.who.int.",
    "Ärztinnen und Ärzte: Größe 1,80 m, 75.5 kg, am 2024-05-01. Well-known and/or so-called x-rays; e.g. 24/7.",
    "L'hôpital n'ouvre qu'à 9h. <b>Gras</b> &amp; <i>italique</i> snake_case foo.bar() v1.2 3D 5-HT3 50 %.",
    "No. It's the patients' choice -- isn't it? 'Quoted' \"words\"... and (bracketed) [ones], C++ and C#.",
]


@pytest.fixture(scope="module")
def connection(module_database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(module_database_url.replace("+psycopg", "", 1), autocommit=True) as open_connection:
        yield open_connection


@pytest.mark.parametrize("text", TEXTS)
def test_the_words_of_ordinary_text(connection: psycopg.Connection, text: str):
    counted = "SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('simple', %s))"
    assert Counter(dict(connection.execute(counted, (text,)).fetchall())) == Counter(lexemes(text))


@pytest.mark.parametrize("times", [1, 2, 3, 10, 300, 20_000])
def test_the_score_of_a_word(connection: psycopg.Connection, times: int):
    text = "water " * times
    (rank,) = connection.execute("SELECT ts_rank(to_tsvector('simple', %s), 'water')", (text,)).fetchone() or ()
    vocabulary = Vocabulary(1, (Term("water", 1),))
    (found,) = MemoryIndex([Chunk("A0", "A", text)]).search(SearchChunks(1, None, vocabulary, None))
    assert found.keyword_score == pytest.approx(rank * vocabulary.weights["water"], rel=1e-5)


def test_the_similarity_of_words(connection: psycopg.Connection):
    words = sorted({word for text in TEXTS for word in lexemes(text)})
    near = NearWords(words)
    similar = "SELECT similarity(word, %s), word FROM unnest(%s::text[]) AS word"
    for word in ("epilepsei", "patient", "behandelen", "ziekenhuizen", "well-know"):
        rows = connection.execute(similar, (word, words)).fetchall()
        wanted = sorted((word not in other, -value, other) for value, other in rows if value >= NEAR or word in other)
        assert near.to(word, 10) == [other for _, _, other in wanted][:10]
        assert wanted
