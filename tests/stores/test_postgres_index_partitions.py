"""A table in hash partitions: the same answers as one in one piece, and what PostgreSQL does otherwise for it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from index_cases import index_cases

from ctxassembly import Chunk, ChunkRef, ConfigError, RetrievalConfig, retrieve
from ctxassembly.data.requests import FindTerms
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import chunks, embed, embed_query, execute, rows_of

WORDS = ("ferritin", "iron", "wheelchair", "garage", "morning", "blood", "referral", "letter", "desk", "water", "the")


def made_chunks(documents: int = 40, each: int = 8) -> list[Chunk]:
    numbers = random.Random(3)

    def text(name: str) -> str:
        return " ".join([name, *numbers.choices(WORDS, range(1, len(WORDS) + 1), k=12), f"word{numbers.randrange(90)}"])

    return [
        Chunk(
            f"d{at}#{place}",
            f"d{at}",
            text(f"d{at}"),
            place,
            metadata={"tenant": "ab"[at % 2], "title": f"Leaflet {at}"},
        )
        for at in range(documents)
        for place in range(each)
    ]


@pytest.fixture
def index(database_url: str) -> PostgresIndex:
    return PostgresIndex.create(database_url, dimensions=16, partitions=4)


def test_a_table_in_partitions_passes_the_cases_of_an_index(module_database_url: str):
    numbers = count()

    def make_index(given: Sequence[Chunk], given_vectors: Any) -> Any:
        name = f"parts_{next(numbers)}"
        made = PostgresIndex.create(module_database_url, name, dimensions=8, partitions=2)
        made.add(given, given_vectors, progress=False)
        return made

    for case in index_cases(make_index):
        case.check()


def test_its_state_is_good_after_adding_and_its_statistics_are_of_all_partitions(
    index: PostgresIndex, database_url: str
):
    index.add(made_chunks(), embed=embed, progress=False)
    state = index.check(sample=10)
    assert (state.chunks, state.missing_indexes, state.remedies) == (320, (), {})
    assert state.changed_since_analyze == 0
    index.add(chunks(), embed=embed, progress=False)
    assert index.find_terms(FindTerms("wheelchair", 9, 0)).chunk_count == pytest.approx(325, abs=20)


def test_what_small_runs_add_up_to_is_analyzed_since_autovacuum_analyzes_no_whole(
    index: PostgresIndex, database_url: str
):
    index.add(made_chunks(), embed=embed, progress=False)
    analyzed = "SELECT reltuples FROM pg_class WHERE oid = 'chunks'::regclass"
    assert rows_of(database_url, analyzed) == [(320,)]
    for at in range(12):
        index.add(chunks(document_id=f"more{at}"), embed=embed, progress=False)
        execute(database_url, "ANALYZE chunks_p0", "ANALYZE chunks_p1", "ANALYZE chunks_p2", "ANALYZE chunks_p3")
    assert rows_of(database_url, analyzed) > [(340,)]


def test_a_chunk_of_another_document_keeps_its_id(index: PostgresIndex):
    """The key has the document, so PostgreSQL itself would take an id twice."""
    index.add([Chunk(f"c{at}", "one", "Ferritin.", at) for at in range(5)], progress=False)
    for document in ("two", "three", "four", "five"):
        with pytest.raises(ConfigError, match=r"c1.*stored for document 'one'"):
            index.add([Chunk("c1", document, "Iron.", 0)], progress=False)
    assert len(index.fetch([ChunkRef("one")])) == 5


def test_an_existing_table_has_the_partitions_that_it_has(database_url: str, index: PostgresIndex):
    for partitions in (None, 4):
        again = PostgresIndex.create(database_url, dimensions=16, partitions=partitions)
        assert again.table == index.table
    with pytest.raises(ConfigError, match=r"partitions must be as the existing table has them \(4\), got 8"):
        PostgresIndex.create(database_url, dimensions=16, partitions=8)
    PostgresIndex.create(database_url, "whole", dimensions=16)
    with pytest.raises(ConfigError, match=r"partitions must be as the existing table has them \(None\), got 4"):
        PostgresIndex.create(database_url, "whole", dimensions=16, partitions=4)
    for wrong in (1, 1_001, True, 2.0):
        with pytest.raises(ConfigError, match="partitions must be"):
            PostgresIndex.create(database_url, "other", dimensions=16, partitions=wrong)  # type: ignore[arg-type]


READER = "reader"


@pytest.fixture
def reader_url(database_url: str) -> Iterator[str]:
    execute(database_url, f"DROP ROLE IF EXISTS {READER}", f"CREATE ROLE {READER} LOGIN")
    yield database_url.replace("postgres@", f"{READER}@")
    execute(database_url, f"DROP OWNED BY {READER}", f"DROP ROLE {READER}")


def test_row_level_security_of_the_table_holds_in_all_partitions(
    index: PostgresIndex, database_url: str, reader_url: str
):
    index.add(made_chunks(), embed=embed, progress=False)
    execute(
        database_url,
        f"GRANT SELECT ON chunks TO {READER}",
        "ALTER TABLE chunks ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY tenant ON chunks FOR SELECT USING (metadata ->> 'tenant' = 'a')",
    )
    PostgresIndex.create(database_url, dimensions=16)
    reader = PostgresIndex.create(reader_url, dimensions=16)
    found = retrieve("wheelchair", RetrievalConfig(limit=100), index=reader, embed=embed_query)
    assert {hit.chunk.metadata["tenant"] for hit in found.chunks} == {"a"}
    assert reader.find_terms(FindTerms("wheelchar", 9, 4)).terms[0].variants == ()
    assert {chunk.document_id for chunk in reader.fetch([ChunkRef("d1"), ChunkRef("d2")])} == {"d2"}


# Tables of a vector store
