"""A table in hash partitions: the same answers as one in one piece, and what PostgreSQL does otherwise for it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from index_cases import index_cases
from langchain_core.documents import Document
from langchain_postgres import PGEngine, PGVectorStore

from attached_samples import Hashed, searched
from ctxassembly import Chunk, ChunkRef, ConfigError, RetrievalConfig, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.ingest import IngestReport
from langchain_ctxassembly import number_stored_chunks
from postgres_samples import chunks, embed, embed_query, execute, rows_of, vectors

WORDS = ("ferritin", "iron", "wheelchair", "garage", "morning", "blood", "referral", "letter", "desk", "water", "the")
QUESTIONS = ("ferritin and iron", "the wheelchair at the desk", "referral leter", "word7 blood", "d3 garage water")


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


@pytest.fixture
def both(database_url: str, index: PostgresIndex) -> list[PostgresIndex]:
    """A table in one piece and one in partitions, with the same chunks."""
    indexes = [PostgresIndex.create(database_url, "whole", dimensions=16), index]
    for each in indexes:
        assert each.add(made_chunks(), embed=embed, progress=False) == IngestReport(320, 0, 0)
    return indexes


def test_the_best_20_are_the_same_as_of_one_table(both: list[PostgresIndex], database_url: str):
    assert [size for (size,) in rows_of(database_url, "SELECT count(*) FROM chunks_p0")] != [320]
    for strategy in ("hybrid", "vector", "keyword"):
        for question in QUESTIONS:
            for condition in (None, {"tenant": "a"}, {"document_id": "d3"}):
                config = RetrievalConfig(limit=20, strategy=strategy)
                whole, parts = (
                    retrieve(question, config, index=one, embed=embed_query, filter=condition).chunks for one in both
                )
                assert [(hit.chunk.id, hit.channels, hit.terms) for hit in whole] == [
                    (hit.chunk.id, hit.channels, hit.terms) for hit in parts
                ]
                assert [hit.score for hit in whole] == pytest.approx([hit.score for hit in parts])


def test_words_titles_and_neighbors_are_the_same_as_of_one_table(both: list[PostgresIndex]):
    for question in QUESTIONS:
        whole, parts = (one.find_terms(FindTerms(question, 32, 4)) for one in both)
        assert whole == parts
        assert parts.chunk_count == 320
    refs = [ChunkRef("d3", 2), ChunkRef("d4"), ChunkRef("x", named_in="See leaflet 12.")]
    whole_chunks, part_chunks = (sorted(one.fetch(refs), key=lambda chunk: chunk.id) for one in both)
    assert whole_chunks == part_chunks
    assert "d12#0" in {chunk.id for chunk in part_chunks}


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
    ((pending,),) = rows_of(
        database_url,
        "SELECT count(*) FROM pg_class WHERE relkind = 'i' AND relam = (SELECT oid FROM pg_am WHERE amname = 'gin')"
        " AND relname LIKE 'chunks_p%' AND gin_clean_pending_list(oid) > 0",
    )
    assert pending == 0


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


def partitioned_store(engine: PGEngine, database_url: str, texts: Sequence[str]) -> PGVectorStore:
    """A store whose table was made by hand: partitioned by its key, since the store writes by ON CONFLICT (id)."""
    execute(
        database_url,
        "CREATE TABLE documents (id text PRIMARY KEY, content text NOT NULL, embedding vector(16) NOT NULL,"
        " document_id text, chunk_index integer, tenant text, langchain_metadata json) PARTITION BY HASH (id)",
        *(
            f"CREATE TABLE documents_{at} PARTITION OF documents FOR VALUES WITH (MODULUS 3, REMAINDER {at})"
            for at in range(3)
        ),
    )
    columns = ["document_id", "chunk_index", "tenant"]
    store = PGVectorStore.create_sync(engine, Hashed(), "documents", id_column="id", metadata_columns=columns)
    add_texts(store, texts)
    return store


def add_texts(store: PGVectorStore, texts: Sequence[str], document_id: str = "lab") -> None:
    store.add_documents(
        [
            Document(
                id=f"{document_id}#{at}",
                page_content=text,
                metadata={
                    "document_id": document_id,
                    "chunk_index": at,
                    "tenant": "ab"[at % 2],
                    "title": f"About {document_id} animals",
                },
            )
            for at, text in enumerate(texts)
        ]
    )


def test_a_partitioned_table_is_attached_leaf_by_leaf(engine: PGEngine, database_url: str):
    store = partitioned_store(engine, database_url, [chunk.text for chunk in made_chunks(5)])
    plan = str(PostgresIndex.attach(store, dry_run=True))
    assert plan.count("CREATE INDEX CONCURRENTLY") == 9
    assert 'CREATE INDEX CONCURRENTLY IF NOT EXISTS "documents_0_ctxassembly_tsv" ON "public"."documents_0"' in plan
    index = PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()
    assert rows_of(
        database_url,
        "SELECT count(*), bool_and(indisvalid) FROM pg_index WHERE indrelid IN"
        " (SELECT relid FROM pg_partition_tree('documents'))",
    ) == [(16, True)]  # key, words, place and HNSW of the whole and of three leaves: none is there twice
    assert rows_of(
        database_url,
        "SELECT DISTINCT attstorage::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid"
        " WHERE attname = 'ctxassembly_tsv' AND relkind IN ('r', 'p')",
    ) == [("m",)]
    assert index.check().missing_indexes == ()

    add_texts(store, ["A tarsier sees by night."], "zoo")
    index.refresh()
    assert searched(index, "tarsier") == ["zoo#0"]
    assert searched(index, "tarsiers", {"tenant": "a"}) == []
    assert index.find_terms(FindTerms("tarsiers", 9, 4)).terms[0].variants == ("tarsier",)
    number_stored_chunks(store)
    assert {chunk.id for chunk in index.fetch([ChunkRef("x", named_in="It is in about zoo animals.")])} == {"zoo#0"}
    found = retrieve("tarsier", RetrievalConfig(limit=5), index=index, embed=embed_query).hits
    assert found[0].chunk.id == "zoo#0"


def test_what_an_interrupted_attach_left_invalid_is_made_again(engine: PGEngine, database_url: str):
    store = partitioned_store(engine, database_url, [chunk.text for chunk in made_chunks(2)])
    PostgresIndex.attach(store, hnsw=False)
    execute(
        database_url,
        "CREATE INDEX documents_1_ctxassembly_hnsw ON documents_1 USING hnsw (embedding vector_cosine_ops)",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'documents_1_ctxassembly_hnsw'::regclass",
    )
    plan = PostgresIndex.attach(store, dry_run=True)
    assert plan.steps[0].sql == 'DROP INDEX CONCURRENTLY IF EXISTS "public"."documents_1_ctxassembly_hnsw"'
    index = PostgresIndex.attach(store)
    assert index.check().missing_indexes == ()
    assert index.search(SearchChunks(3, vectors(1, 16)[0], None, None))


def test_partitions_below_partitions_are_attached(engine: PGEngine, database_url: str):
    store = partitioned_store(engine, database_url, [])
    execute(
        database_url,
        "DROP TABLE documents_2",
        "CREATE TABLE deep PARTITION OF documents FOR VALUES WITH (MODULUS 3, REMAINDER 2) PARTITION BY HASH (id)",
        *(f"CREATE TABLE deep_{at} PARTITION OF deep FOR VALUES WITH (MODULUS 2, REMAINDER {at})" for at in range(2)),
    )
    add_texts(store, [chunk.text for chunk in made_chunks(5)])
    index = PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()
    assert rows_of(
        database_url,
        "SELECT count(*), bool_and(indisvalid) FROM pg_index WHERE indrelid IN"
        " (SELECT relid FROM pg_partition_tree('documents'))",
    ) == [(24, True)]
    assert index.check().chunks == index.find_terms(FindTerms("iron", 9, 0)).chunk_count == 40


def test_columns_for_notes_are_added_to_all_partitions(engine: PGEngine, database_url: str):
    store = partitioned_store(engine, database_url, [chunk.text for chunk in made_chunks(2)])
    index = PostgresIndex.attach(store).with_enrichment()
    assert len(index.enrichment.outlines()) == 2  # one for each tenant
