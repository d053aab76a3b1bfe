"""`PostgresIndex.attach` on the tables of langchain-postgres and of LlamaIndex's PGVectorStore."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVectorStore
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from attached_samples import Hashed, langchain_store, llamaindex_store, names, searched
from ctxassembly import AssemblyConfig, ChunkRef, ConfigError, InputError, RetrievalConfig, assemble, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.protocols import OffsetRange
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.connection import get_engine
from ctxassembly.stores.postgres.schema import Plan
from langchain_ctxassembly import number_stored_chunks
from postgres_samples import TEXTS, embed_query, execute


@pytest.mark.parametrize("columns", [True, False])
def test_a_langchain_table_is_searched_as_it_is(engine: PGEngine, columns: bool):
    store = langchain_store(engine, columns=columns)
    index = PostgresIndex.attach(store)

    retrieved = retrieve("When is ferritin measured?", index=index, embed=Hashed())
    assert retrieved.hits[0].chunk.id == "lab#0"
    assert (retrieved.hits[0].chunk.document_id, retrieved.hits[0].chunk.index) == ("lab", 0)
    assert retrieved.hits[0].chunk.metadata["tenant"] == "a"
    assert names(index.fetch([ChunkRef("lab", 1), ChunkRef("lab", 2), ChunkRef("lab", 99)])) == ["lab#1", "lab#2"]
    context = assemble(retrieved.hits[:1], AssemblyConfig(window=1), store=index.with_filter(None))
    assert TEXTS[1] in context.text
    # The store goes on as before, and what it adds is found.
    store.add_documents([Document(id="new", page_content="Juniper berries", metadata={"document_id": "new"})])
    assert searched(index, "juniper") == ["new"]


def test_a_langchain_table_as_it_is_by_default_is_searched_too(engine: PGEngine):
    # Ids are UUIDs, metadata are JSON, and the names of columns are other ones.
    engine.init_vectorstore_table("plain", 16)
    store = PGVectorStore.create_sync(engine, Hashed(), "plain")
    metadatas = [{"source": "lab.pdf", "start_index": at * 100, "tenant": "ab"[at % 2]} for at in range(len(TEXTS))]
    ids = store.add_texts(list(TEXTS), metadatas)
    index = PostgresIndex.attach(store)
    found = retrieve("wheelchair", index=index, embed=Hashed(), filter={"tenant": "b"}).hits
    assert [hit.chunk.id for hit in found][:1] == [ids[3]]
    assert (found[0].chunk.document_id, found[0].chunk.start) == ("lab.pdf", 300)
    assert {hit.chunk.metadata["tenant"] for hit in found} == {"b"}
    assert names(index.fetch([ChunkRef("lab.pdf", chunk_id=ids[1])])) == [ids[1]]
    assert len(index.fetch([ChunkRef("lab.pdf")])) == len(TEXTS)
    assert index.finds_offsets
    beside = index.fetch([ChunkRef("lab.pdf", around_offset=OffsetRange(300, 1))])
    assert names(beside) == sorted(ids[2:5])


@pytest.mark.parametrize("settings", [{}, {"questions": "chunk_metadata.canonical_questions"}], ids=str)
@pytest.mark.parametrize("kind", ["jsonb", "json", None])
def test_questions_under_a_dotted_key_are_found(engine: PGEngine, kind: str | None, settings: Any):
    """They are in the column of the first part of the key, if there is one, else in the metadata."""
    columns = [Column("chunk_metadata", kind)] if kind else []
    engine.init_vectorstore_table("documents", 16, id_column=Column("id", "text"), metadata_columns=columns)
    names = [column.name for column in columns]
    store = PGVectorStore.create_sync(engine, Hashed(), "documents", id_column="id", metadata_columns=names)
    asked: Any = {"canonical_questions": ["Why fasting?"]}
    metadatas = [{"chunk_metadata": json.dumps(asked) if kind else asked}, {}]
    store.add_texts(["In the morning.", "The garage."], metadatas, ids=["a", "b"])
    assert searched(PostgresIndex.attach(store, **settings), "fasting") == ["a"]


LANGCHAIN_FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"tenant": "a"}, [0, 2, 4]),
    ({"tenant": {"$ne": "a"}}, [1, 3]),
    ({"tenant": {"$in": ["a", "x"]}}, [0, 2, 4]),
    ({"tenant": {"$nin": ["a"]}}, [1, 3]),
    ({"tenant": {"$like": "a%"}}, [0, 2, 4]),
    ({"tenant": {"$exists": False}}, []),
    ({"n": {"$between": [1, 3]}}, [1, 2, 3]),
    ({"chunk_index": {"$gte": 3}}, [3, 4]),
    ({"chunk_index": {"$in": [0, 4]}}, [0, 4]),
    ({"$and": [{"tenant": "a"}, {"n": {"$gt": 1}}]}, [2, 4]),
    ({"$or": [{"tenant": "b"}, {"n": 0}]}, [0, 1, 3]),
    ({"$not": {"tenant": "a"}}, [1, 3]),
    ({"tenant": "x' OR '1'='1"}, []),
]


@pytest.mark.parametrize("columns", [True, False])
def test_a_filter_means_what_it_means_to_the_langchain_store(engine: PGEngine, columns: bool):
    store = langchain_store(engine, columns=columns)
    index = PostgresIndex.attach(store)
    for condition, expected in LANGCHAIN_FILTERS:
        wanted = [f"lab#{at}" for at in expected]
        assert sorted(one.id or "" for one in store.similarity_search("x", k=10, filter=condition)) == wanted, condition
        assert names(index.search(SearchChunks(10, embed_query("x"), None, condition))) == wanted, condition
        assert searched(index, " ".join(TEXTS), condition) == wanted, condition
        assert names(index.with_filter(condition).fetch([ChunkRef("lab")])) == wanted, condition


def test_a_second_attach_changes_nothing(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    plan = PostgresIndex.attach(store, dry_run=True)
    assert isinstance(plan, Plan)
    written = str(plan)
    assert "-- rewrites the table; nobody reads or writes it meanwhile\nALTER TABLE" in written
    assert "STORAGE MAIN" in written
    assert "CREATE INDEX CONCURRENTLY" in written
    assert '("document_id", "chunk_index")' in written
    with get_engine(PostgresIndex.create(database_url, "other").server, 10.0).connect() as connection:
        columns = "SELECT count(*) FROM information_schema.columns WHERE table_name = 'documents'"
        before = connection.exec_driver_sql(columns).scalar()
        PostgresIndex.attach(store)
        assert connection.exec_driver_sql(columns).scalar() == (before or 0) + 1
    again = PostgresIndex.attach(store, dry_run=True)
    assert again.steps == ()
    with pytest.raises(ConfigError, match="what the table was indexed with"):
        PostgresIndex.attach(store, language="english")


def test_what_attach_makes_is_what_check_wants(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    plan = str(PostgresIndex.attach(store, dry_run=True))
    assert 'CREATE INDEX CONCURRENTLY IF NOT EXISTS "documents_ctxassembly_hnsw"' in plan
    assert PostgresIndex.attach(store).check().missing_indexes == ()
    execute(database_url, "DROP INDEX documents_ctxassembly_hnsw")
    number_stored_chunks(store)
    plan = str(PostgresIndex.attach(store, dry_run=True, hnsw=False))
    assert plan == "-- nothing is missing"
    state = PostgresIndex.attach(store, hnsw=False).check()
    assert (state.missing_indexes, state.recall) == (("HNSW on the vectors",), None)
    assert "or attach(...), by the table's owner" in str(state)


@pytest.mark.parametrize(
    "instead",
    [
        "CREATE VIEW documents AS SELECT * FROM kept",
        "CREATE TABLE documents (LIKE kept) PARTITION BY HASH (id)",
        "CREATE MATERIALIZED VIEW documents AS SELECT * FROM kept",
    ],
)
def test_what_is_no_ordinary_table_is_an_error(engine: PGEngine, database_url: str, instead: str):
    store = langchain_store(engine)
    execute(database_url, "ALTER TABLE documents RENAME TO kept", instead)
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="vectorstore must be one of an ordinary table"):
            PostgresIndex.attach(store, dry_run=dry_run)


def test_an_index_left_unfinished_is_made_anew(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    PostgresIndex.attach(store)
    execute(
        database_url,
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'documents_ctxassembly_tsv'::regclass",
    )
    assert [step.sql.split()[0] for step in PostgresIndex.attach(store, dry_run=True).steps][:2] == ["DROP", "CREATE"]
    PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()


def test_who_may_not_change_the_table_is_told_so(engine: PGEngine, database_url: str):
    langchain_store(engine)
    execute(
        database_url,
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON documents TO reader",
    )
    theirs = PGEngine.from_connection_string(database_url.replace("postgres@", "reader@"))
    store = PGVectorStore.create_sync(theirs, Hashed(), "documents", id_column="id")
    try:
        with pytest.raises(ConfigError, match=r"one whose table this user owns; attach\(..., dry_run=True\) prints"):
            PostgresIndex.attach(store)
        assert PostgresIndex.attach(store, dry_run=True).steps
    finally:
        asyncio.run(theirs.close())
        execute(database_url, "DROP OWNED BY reader", "DROP ROLE reader")


CHINESE = ("糖尿病患者每年检查一次眼底。", "按照ISO27001认证。", "饭后吃药。")


def test_a_parser_that_knows_words_gets_the_text_as_it_is(engine: PGEngine, database_url: str):
    store = langchain_store(engine, texts=CHINESE)
    execute(
        database_url,
        "CREATE TEXT SEARCH PARSER own (START = prsd_start, GETTOKEN = prsd_nexttoken, END = prsd_end,"
        " LEXTYPES = prsd_lextype)",
        "CREATE TEXT SEARCH CONFIGURATION own (PARSER = own)",
        "ALTER TEXT SEARCH CONFIGURATION own ADD MAPPING FOR word, asciiword, numword WITH simple",
    )
    assert "normalize" not in PostgresIndex.attach(store, dry_run=True, language="own").steps[0].sql
    index = PostgresIndex.attach(store, language="own")
    assert (searched(index, "饭后吃药"), searched(index, "吃药")) == (["lab#2"], [])
    assert PostgresIndex.attach(store, dry_run=True, language="own").steps == ()


@pytest.mark.parametrize("store", [None, object(), "postgresql://", []])
def test_another_vector_store_is_an_error(store: Any):
    with pytest.raises(InputError, match="vectorstore must be a PGVectorStore"):
        PostgresIndex.attach(store)


@pytest.mark.parametrize(("jsonb", "halfvec"), [(False, False), (True, True)])
def test_a_llamaindex_table_is_searched_as_it_is(database_url: str, jsonb: bool, halfvec: bool):
    store = llamaindex_store(database_url, jsonb=jsonb, halfvec=halfvec)
    index = PostgresIndex.attach(store)

    retrieved = retrieve("When is ferritin measured?", index=index, embed=embed_query)
    first = retrieved.hits[0].chunk
    assert (first.id, first.document_id, first.index, first.text) == ("lab#0", "lab", 0, TEXTS[0])
    assert (first.metadata["tenant"], first.hidden_from_model) == ("a", {"n"})
    assert names(index.fetch([ChunkRef("lab", 1), ChunkRef("lab", chunk_id="lab#4")])) == ["lab#1", "lab#4"]
    assert not index.finds_offsets
    assert retrieve("epilepsie", RetrievalConfig(strategy="keyword"), index=index).chunks[0].chunk.id == "lab#2"
    assert PostgresIndex.attach(store, dry_run=True).steps == ()


def one(key: str, value: Any, operator: FilterOperator = FilterOperator.EQ) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=operator)


def group(condition: FilterCondition, *filters: Any) -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=condition)


A, LATE = one("tenant", "a"), one("n", 1, FilterOperator.GT)


@pytest.fixture(scope="module")
def of_llamaindex(module_database_url: str) -> PostgresIndex:
    return PostgresIndex.attach(llamaindex_store(module_database_url))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (group(FilterCondition.AND, A, LATE), [2, 4]),
        (group(FilterCondition.OR, A, one("n", 3)), [0, 2, 3, 4]),
        (group(FilterCondition.NOT, A), [1, 3]),
        (group(FilterCondition.NOT, A, one("n", 1)), [3]),
        (group(FilterCondition.AND, LATE, group(FilterCondition.NOT, A)), [3]),
        (group(FilterCondition.OR, group(FilterCondition.AND, A, LATE), one("n", 1)), [1, 2, 4]),
        (MetadataFilters(filters=[one("tenant", "a", FilterOperator.NE)]), [1, 3]),
        (MetadataFilters(filters=[one("tenant", ["a"], FilterOperator.IN)]), [0, 2, 4]),
        (MetadataFilters(filters=[one("tenant", ["a"], FilterOperator.NIN)]), [1, 3]),
        (MetadataFilters(filters=[one("unknown", None, FilterOperator.IS_EMPTY)]), [0, 1, 2, 3, 4]),
        (MetadataFilters(filters=[one("unknown", "x", FilterOperator.NE)]), []),
        (MetadataFilters(filters=[one("tenant", "x' OR '1'='1")]), []),
        *(
            (group(FilterCondition.NOT, one("unknown", value, operator)), [])
            for value, operator in (
                ("x", FilterOperator.EQ),
                ("x", FilterOperator.NE),
                (7, FilterOperator.GT),
                (["x"], FilterOperator.IN),
                ([], FilterOperator.IN),
                (["x"], FilterOperator.NIN),
                ([], FilterOperator.NIN),
                (["x"], FilterOperator.ANY),
                (["x"], FilterOperator.ALL),
                ("x", FilterOperator.CONTAINS),
                ("x", FilterOperator.TEXT_MATCH),
                ("x", FilterOperator.TEXT_MATCH_INSENSITIVE),
            )
        ),
        (MetadataFilters(filters=[]), [0, 1, 2, 3, 4]),
        ({"tenant": "a", "n": {"$gt": 1}}, [2, 4]),
    ],
    ids=str,
)
def test_a_filter_of_llamaindex_holds_in_every_channel(
    of_llamaindex: PostgresIndex, condition: Any, expected: list[int]
):
    wanted = [f"lab#{at}" for at in expected]
    assert names(of_llamaindex.search(SearchChunks(10, embed_query("x"), None, condition))) == wanted
    assert searched(of_llamaindex, " ".join(TEXTS), condition) == wanted
    assert names(of_llamaindex.with_filter(condition).fetch([ChunkRef("lab")])) == wanted


@pytest.mark.parametrize(
    "condition",
    ["tenant", [A], MetadataFilters(filters=[one("n", "x", FilterOperator.IN)]), {"tenant": {"$regex": "x"}}],
    ids=str,
)
def test_a_filter_of_llamaindex_that_cannot_be_read_is_an_error(of_llamaindex: PostgresIndex, condition: Any):
    with pytest.raises(ConfigError, match="filter"):
        of_llamaindex.search(SearchChunks(10, embed_query("x"), None, condition))


def test_a_table_dropped_and_made_anew_gets_its_own_words(engine: PGEngine, database_url: str) -> None:
    PostgresIndex.attach(langchain_store(engine, texts=("Ferritin is measured.",)))
    execute(database_url, "DROP TABLE documents")
    index = PostgresIndex.attach(langchain_store(engine, texts=("Insulin is cooled.",)))
    assert index.find_terms(FindTerms("insuline", 8, 4)).terms[0].variants == ("insulin",)
    assert index.find_terms(FindTerms("ferritine", 8, 4)).terms[0].variants == ()


@pytest.mark.parametrize(
    ("there", "made"),
    [
        ("CREATE UNIQUE INDEX ON documents (document_id, chunk_index)", []),
        ("CREATE INDEX ON documents (document_id)", ["documents_ctxassembly_place"]),
        ("CREATE INDEX ON documents (document_id, chunk_index) WHERE tenant = 'a'", ["documents_ctxassembly_place"]),
    ],
)
def test_an_index_on_document_and_place_is_not_made_twice(
    there: str, made: list[str], engine: PGEngine, database_url: str
) -> None:
    store = langchain_store(engine)
    execute(database_url, there)
    steps = PostgresIndex.attach(store, dry_run=True).steps
    assert [step.name for step in steps if step.name.endswith("place")] == made
