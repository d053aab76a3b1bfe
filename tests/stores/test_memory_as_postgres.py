"""An index in memory finds what one on PostgreSQL finds: the same words, the same scores, the same near words."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import psycopg
import pytest
from chinese import HANDBOOK
from index_cases import index_cases

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.data.requests import SearchChunks
from ctxassembly.retrieval import QueryVocabulary, TermStats
from ctxassembly.stores.postgres.schema import separate_sql
from ctxassembly.stores.simple_words import MIN_SIMILARITY, NearWords, lexemes

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


@pytest.mark.parametrize(
    "text",
    [
        *HANDBOOK.values(),
        "東京タワーの高さは３３３メートル／ＴＯＫＹＯ。ﾃﾞｰﾀは一九五八年12月。",
        "按照ISO27001认证,见https://zh.x.org/wiki/水 或 a@b.cn;（人 口）一 二,《三》",
        "".join(random.Random(7).choices("水火土 木金a1,。、日\n月Ａ９ｱ㐀𠀀", k=2_000)),
        "ผลเลือด IgE",
        "水",
        "水火",
        "Größe Foo™",
        "",
    ],
)
def test_the_words_of_scripts_without_spaces(connection: psycopg.Connection, text: str):
    query = (
        f"SELECT lexeme, cardinality(positions) FROM unnest(to_tsvector('simple', {separate_sql('%(text)s', 10_000)}))"
    )
    found = connection.execute(query.encode(), {"text": text}).fetchall()
    assert Counter(dict(found)) == Counter(lexemes(text))


@pytest.mark.parametrize("times", [1, 2, 3, 10, 300, 20_000])
def test_the_score_of_a_word(connection: psycopg.Connection, times: int):
    text = "water " * times
    (rank,) = connection.execute("SELECT ts_rank(to_tsvector('simple', %s), 'water')", (text,)).fetchone() or ()
    vocabulary = QueryVocabulary(1, (TermStats("water", 1),))
    (found,) = MemoryIndex([Chunk("A0", "A", text)]).search(SearchChunks(1, None, vocabulary, None))
    assert found.keyword_score == pytest.approx(rank * vocabulary.weights["water"], rel=1e-5)


def test_the_similarity_of_words(connection: psycopg.Connection):
    words = sorted({word for text in TEXTS for word in lexemes(text)})
    near = NearWords(words)
    similar = "SELECT similarity(word, %s), word FROM unnest(%s::text[]) AS word"
    for word in ("epilepsei", "patient", "behandelen", "ziekenhuizen", "well-know"):
        rows = connection.execute(similar, (word, words)).fetchall()
        wanted = sorted(
            (word not in other, -value, other) for value, other in rows if value >= MIN_SIMILARITY or word in other
        )
        assert near.find(word, 10) == [other for _, _, other in wanted][:10]
        assert wanted


# The index itself

DOCUMENTS = {
    "epilepsie": "Kinderepilepsie behandelt de kinderneuroloog. Epilepsie is een aandoening. Bel 088-1234567.",
    "hart": "Hartfalen behandelt de cardioloog. Een ECG (hartfilmpje) doet geen pijn. De cardioloog, de cardioloog!",
    "bezoek": "Parkeren kan in de garage, of op P3. De route is well-known; zie www.ziekenhuis.nl/route.",
    "规定": "本院按照ISO27001认证. 饭后半小时吃药,每天三次. 东京的水",
    "lab": "Ferritine wordt 's ochtends nuchter bepaald. Eén uur voor de afspraak niets eten. Ferritine < 30 is laag.",
}
STORED = [
    Chunk(
        f"{name}#{at}",
        name,
        f"{sentence.removesuffix('.')}.",
        at,
        metadata={
            "title": name.title(),
            "tenant": "noord" if at % 2 else "zuid",
            "level": at,
            **({"questions": [f"Wat is {name}?", 'Wie "doet" dat?']} if at == 0 else {}),
        },
    )
    for name, text in DOCUMENTS.items()
    for at, sentence in enumerate(text.split(". "))
]
VECTORS = [[math.sin(place * 3 + step * 7 + 1) for step in range(8)] for place in range(len(STORED))]


def test_the_one_on_postgresql_passes_all_cases_of_an_index(module_database_url: str):
    postgres = pytest.importorskip("ctxassembly.stores.postgres")
    numbers = count()

    def make_index(chunks: Sequence[Chunk], vectors: Any) -> Any:
        index = postgres.PostgresIndex.create(module_database_url, f"case_{next(numbers)}", dimensions=8)
        index.add(chunks, vectors, progress=False)
        return index

    for case in index_cases(make_index):
        case.check()


CANONICAL = "chunk_metadata.canonical_questions"
ASKED = ["Wat is ferritine?", "Waarom nuchter?"]


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"chunk_metadata": {"canonical_questions": ASKED}}, ["d#0"]),
        ({"chunk_metadata": {"canonical_questions": ASKED[1]}}, ["d#0"]),
        ({CANONICAL: ASKED, "chunk_metadata": {"canonical_questions": "water"}}, ["d#0"]),  # the whole key goes first
        ({CANONICAL: None, "chunk_metadata": {"canonical_questions": ASKED}}, ["d#0"]),
        ({"chunk_metadata": [{"canonical_questions": ASKED}]}, []),
        ({"chunk_metadata": "nuchter", "canonical_questions": ASKED}, []),
        ({"chunk_metadata": {"canonical_questions": None}}, []),
    ],
)
def test_both_find_canonical_questions_by_default(database_url: str, metadata: dict[str, Any], found: list[str]):
    """The published rule: canonical questions under `chunk_metadata.canonical_questions` are searched by default."""
    postgres = pytest.importorskip("ctxassembly.stores.postgres")
    chunks = [Chunk("d#0", "d", "Bepaling 's ochtends.", 0, metadata=metadata), Chunk("d#1", "d", "De garage.", 1)]
    stored = postgres.PostgresIndex.create(database_url, dimensions=8)
    stored.add(chunks, progress=False)
    both = (MemoryIndex(chunks), stored)
    config = replace(RetrievalConfig.published(), strategy="keyword", rescue="off")
    assert [[hit.chunk.id for hit in retrieve("nuchter", config, index=index).hits] for index in both] == [found] * 2
