"""Against a real PostgreSQL: langchain-postgres as it is used, and its own SQL seen by SQLAlchemy's events."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_postgres import PGEngine, PGVector
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from sqlalchemy import Engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from ctxassembly import AssemblyConfig, ChunkRef, Hit, MetadataKeys, assemble
from ctxassembly.errors import InputError, NothingToJoinWarning
from ctxassembly.testing import store_cases
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, PGVectorNeighbors
from langchain_samples import WordEmbeddings, chunks, document
from postgres_stores import KINDS, PostgresStores

HOSTILE = ("O'Brien", "x' OR '1'='1", '%(a)s :b "c" \\ $1 ✓')
CORPUS = [
    document(document_id, at, tenant="theirs" if at == 6 else "ours")
    for document_id in ("A", "B", *HOSTILE)
    for at in range(9)
]
FILTER = {"tenant": "ours"}


@pytest.fixture
def stores(database_url: str) -> Iterator[PostgresStores]:
    with PostgresStores(database_url) as made:
        yield made


@pytest.mark.parametrize("kind", KINDS)
async def test_it_answers_as_every_store_has_to(stores: PostgresStores, kind: str) -> None:
    store = PGVectorNeighbors(stores.make(kind, CORPUS))
    for case in store_cases(chunks(CORPUS)):
        case.check(store.fetch(case.refs))
        if kind != "old":  # a PGVector made for sync calls
            case.check(await store.afetch(case.refs))


def engine_of(store: Any) -> Engine:
    return store._engine if isinstance(store, PGVector) else store._engine._pool.sync_engine


@contextmanager
def statements(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """What goes to the database, statement and parameters."""
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


@contextmanager
def locked(url: str, kind: str) -> Iterator[None]:
    """Nobody can read the chunks meanwhile."""
    table = "langchain_pg_embedding" if kind.startswith("old") else "chunks"
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def nobody_waits_soon(url: str) -> bool:
    """Whether no statement waits for a lock, within a minute."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    end = time.monotonic() + 60
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        while connection.execute(waiting).fetchone() != (0,):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
    return True


REFS = [ChunkRef("A", 1), ChunkRef("A", 6), ChunkRef("B", 8), ChunkRef("B", 9), ChunkRef("C", 1)]


@pytest.mark.parametrize("kind", KINDS)
async def test_one_statement_for_all_documents_and_the_embedding_stays_there(stores: PostgresStores, kind: str) -> None:
    store = await asyncio.to_thread(stores.make, kind, CORPUS)
    neighbors = PGVectorNeighbors(store)
    with statements(engine_of(store)) as seen:
        found = await asyncio.to_thread(neighbors.fetch, REFS)
        assert {chunk.id for chunk in found} == {"A#1", "A#6", "B#8"}
        assert len(seen) == 1
        again = await neighbors.afetch(REFS)
        assert {chunk.id for chunk in again} == {"A#1", "A#6", "B#8"}
        assert len(seen) == 2
        assert not any("embedding" in statement.split("FROM")[0].replace("_pg_embedding", "") for statement, _ in seen)
        assert neighbors.fetch([]) == []
        assert await neighbors.afetch([]) == []
        assert len(seen) == 2
    chunk = next(chunk for chunk in found if chunk.id == "A#1")
    assert (chunk.document_id, chunk.index, chunk.text) == ("A", 1, CORPUS[1].page_content)
    assert chunk.metadata == CORPUS[1].metadata


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("document_id", HOSTILE)
def test_hostile_document_ids_are_values_and_nothing_else(stores: PostgresStores, kind: str, document_id: str) -> None:
    neighbors = PGVectorNeighbors(stores.make(kind, CORPUS), filter=FILTER)
    found = neighbors.fetch([ChunkRef(document_id, 3), ChunkRef(document_id, 6)])
    assert [(chunk.document_id, chunk.index) for chunk in found] == [(document_id, 3)]
    assert neighbors.fetch([ChunkRef(document_id + "'", 3)]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["x' OR '1'='1", "ours' --", {"$in": ["x') OR ('1'='1"]}])
def test_hostile_filter_values_open_nothing(stores: PostgresStores, kind: str, value: Any) -> None:
    neighbors = PGVectorNeighbors(stores.make(kind, CORPUS), filter={"tenant": value})
    assert neighbors.fetch([*REFS, ChunkRef("A")]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_holds_in_the_database(stores: PostgresStores, kind: str) -> None:
    store = stores.make(kind, CORPUS)
    for condition in (FILTER, {"$and": [{"tenant": {"$in": ["ours"]}}, {"source": {"$like": "A%"}}]}):
        with statements(engine_of(store)) as seen:
            found = PGVectorNeighbors(store, filter=condition).fetch([ChunkRef("A", 5), ChunkRef("A", 6)])
        assert [chunk.id for chunk in found] == ["A#5"]
        assert len(seen) == 1
    assert len(PGVectorNeighbors(store).fetch([ChunkRef("A", 5), ChunkRef("A", 6)])) == 2
    # A second filter is added to the statement, even one that only the database can evaluate.
    both = ContextAssembler(store=PGVectorNeighbors(store, filter=FILTER), filter={"source": {"$like": "B%"}})
    found, _ = both.invoke([document("B", 5), document("A", 5)])
    assert found.metadata["chunk_ids"] == ["B#4", "B#5"]


@pytest.mark.parametrize("kind", ["json", "old"])
def test_json_may_hold_the_index_in_any_form_and_odd_values_beside_it(stores: PostgresStores, kind: str) -> None:
    forms = [0, "1", 2.0, "3.0", "four", None, {"at": 6}, 7]
    corpus = [
        Document(id=f"c{at}", page_content=f"part {at}", metadata={"document_id": "A", "chunk_index": form})
        for at, form in enumerate(forms)
    ]
    neighbors = PGVectorNeighbors(stores.make(kind, corpus))
    found = neighbors.fetch([ChunkRef("A", at) for at in range(9)])
    assert sorted(chunk.id for chunk in found) == ["c0", "c1", "c2", "c3", "c7"]


def test_a_row_without_text_is_left_out_and_costs_no_other_row(stores: PostgresStores) -> None:
    neighbors = PGVectorNeighbors(stores.make("old", CORPUS))
    with psycopg.connect(stores.url.replace("+psycopg", "", 1)) as connection:
        where = "cmetadata->>'document_id' = 'A' AND cmetadata->>'chunk_index' = '3'"
        connection.execute(f"UPDATE langchain_pg_embedding SET document = NULL WHERE {where}")
    config = AssemblyConfig(window=2, neighbors="unfiltered")
    context = assemble([Hit(chunk) for chunk in chunks([document("A", 4)])], config, store=neighbors)
    assert {decision.chunk_id for decision in context.trace.decisions} == {"A#2", "A#4", "A#5", "A#6"}
    assert any("A#3" in note and "left out" in note for note in context.trace.notes), context.trace.notes


@pytest.mark.parametrize("kind", ["json", "old"])
def test_other_keys_and_dotted_paths_can_be_set(stores: PostgresStores, kind: str) -> None:
    metadata = [{"file": {"it's": "A"}, "no": at} for at in range(3)]
    if kind == "json":  # its own filter takes identifiers alone
        metadata = [{"file": {"key": "A"}, "no": at} for at in range(3)]
    corpus = [Document(id=str(at), page_content=f"part {at}", metadata=each) for at, each in enumerate(metadata)]
    keys = MetadataKeys(document_id="file.key" if kind == "json" else "file.it's", index="no")
    found = PGVectorNeighbors(stores.make(kind, corpus), keys=keys).fetch([ChunkRef("A", 1)])
    assert [chunk.id for chunk in found] == ["1"]
    assert found[0].document_id == "A"


@pytest.mark.parametrize("kind", KINDS)
async def test_one_document_id_that_postgres_cannot_hold_costs_no_other_its_neighbors(
    stores: PostgresStores, kind: str
) -> None:
    store = await asyncio.to_thread(stores.make, kind, CORPUS)
    neighbors = PGVectorNeighbors(store)
    impossible = [ChunkRef("\0", 1), ChunkRef("A\0", chunk_id="A#1"), ChunkRef("\ud800"), ChunkRef("B", chunk_id="\0")]
    refs = [*impossible, ChunkRef("A", 2**63), ChunkRef("A", 1)]
    assert [chunk.id for chunk in await asyncio.to_thread(neighbors.fetch, refs)] == ["A#1"]
    assert [chunk.id for chunk in await neighbors.afetch(refs)] == ["A#1"]
    assert await neighbors.afetch(impossible) == []
    hits = [document("A", 4, tenant="ours"), document("B\0", 4)]
    found = await ContextAssembler(store=neighbors, neighbors="unfiltered").ainvoke(hits)
    assert [each.metadata["chunk_ids"] for each in found] == [["A#3", "A#4", "A#5"], ["B\0#4"]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_on_document_and_place_is_used(stores: PostgresStores, kind: str) -> None:
    """With the plan for any values, too, which a prepared statement is run by."""
    store = stores.make(kind, [document("A", at, tenant="ours") for at in range(3)])
    table, place = "chunks", "document_id, chunk_index"
    if kind == "json":
        place = "(langchain_metadata ->> 'document_id'), (langchain_metadata ->> 'chunk_index')"
    elif kind == "old":
        table, place = "langchain_pg_embedding", "(cmetadata ->> 'document_id'), (cmetadata ->> 'chunk_index')"
    copied = {
        "columns": "id, content, embedding, document_id, chunk_index) SELECT 'n' || n, 'x', embedding,"
        " 'D' || n / 50, n % 50",
        "json": "id, content, embedding, langchain_metadata) SELECT 'n' || n, 'x', embedding,"
        " json_build_object('document_id', 'D' || n / 50, 'chunk_index', n % 50)",
        "old": "id, document, embedding, collection_id, cmetadata) SELECT 'n' || n, 'x', embedding, collection_id,"
        " jsonb_build_object('document_id', 'D' || n / 50, 'chunk_index', n % 50)",
    }[kind]
    with psycopg.connect(stores.url.replace("+psycopg", "", 1), autocommit=True) as connection:
        connection.execute(f"INSERT INTO {table} ({copied} FROM {table}, generate_series(1, 20000) n WHERE id = 'A#0'")
        connection.execute(f"CREATE INDEX place ON {table} ({place})")
        connection.execute(f"ANALYZE {table}")
        with statements(engine_of(store)) as seen:
            refs = [ChunkRef(f"D{each}", at) for each in range(10) for at in (3, 4, 5)]
            assert len(PGVectorNeighbors(store, timeout_seconds=600).fetch(refs)) == 30
        (statement, parameters), *_ = seen
        for mode in ("force_custom_plan", "force_generic_plan"):
            connection.execute(f"SET plan_cache_mode = {mode}")
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN ANALYZE " + statement, parameters, prepare=True)
                plan = "\n".join(line for (line,) in cursor.fetchall())
            assert " using place on " in plan or "Bitmap Index Scan on place" in plan, plan
            # What other names hold is read only of documents that aren't there under the first ones.
            scans = [line for line in plan.splitlines() if f"Seq Scan on {table}" in line]
            assert all("never executed" in line for line in scans), plan


# Set up for async use alone


@pytest.fixture
async def async_store(stores: PostgresStores, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    url = stores.url
    if request.param == "old":
        engine = create_async_engine(url)
        store: Any = PGVector(WordEmbeddings(), connection=engine)
        await store.aadd_documents(CORPUS)
        # A fresh one, as a service would have it: its lazy set-up must not be missed.
        store = PGVector(WordEmbeddings(), connection=engine, create_extension=False)
    else:
        await asyncio.to_thread(stores.make, "columns", CORPUS)
        engine = create_async_engine(url.replace("+psycopg", "+asyncpg") if request.param == "asyncpg" else url)
        store = await AsyncPGVectorStore.create(
            PGEngine.from_engine(engine), WordEmbeddings(), "chunks", id_column="id",
            metadata_columns=["document_id", "chunk_index"],
        )  # fmt: skip
    yield store
    await engine.dispose()


@pytest.mark.parametrize("async_store", ["old", "async", "asyncpg"], indirect=True)
async def test_async_stores_answer_async_and_say_so_when_asked_otherwise(async_store: Any) -> None:
    neighbors = PGVectorNeighbors(async_store, filter=FILTER)
    found = await neighbors.afetch([*REFS, ChunkRef("O'Brien", 2), ChunkRef("B", chunk_id="B#0")])
    assert {chunk.id for chunk in found} == {"A#1", "B#8", "O'Brien#2", "B#0"}
    with pytest.raises(InputError, match="use the async methods"):
        neighbors.fetch(REFS)


# Time


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fetch_that_takes_too_long_is_cancelled_on_the_server_too(stores: PostgresStores, kind: str) -> None:
    store = await asyncio.to_thread(stores.make, kind, CORPUS)
    neighbors = PGVectorNeighbors(store, timeout_seconds=0.3)
    with locked(stores.url, kind):
        for fetch in (lambda: asyncio.to_thread(neighbors.fetch, REFS), lambda: neighbors.afetch(REFS)):
            with pytest.raises(TimeoutError, match=r"no answer from Postgres within 0\.3 s"):
                await fetch()
        assert await asyncio.to_thread(nobody_waits_soon, stores.url)
        with pytest.warns(NothingToJoinWarning, match="The store failed"):
            (found,) = await ContextAssembler(store=neighbors, neighbors="unfiltered").ainvoke([document("A", 4)])
        assert found.metadata["chunk_ids"] == ["A#4"]
        assert "TimeoutError" in found.metadata["trace"]["notes"][0]
    neighbors = PGVectorNeighbors(store)
    assert len(await neighbors.afetch(REFS)) == 3
    assert len(await asyncio.to_thread(neighbors.fetch, REFS)) == 3


def test_the_servers_own_errors_are_not_called_a_timeout(stores: PostgresStores) -> None:
    neighbors = PGVectorNeighbors(stores.make("old", CORPUS), filter={"no field": 1})
    with pytest.raises(ValueError, match="Invalid field name"):
        neighbors.fetch(REFS)
    with pytest.warns(NothingToJoinWarning, match="The store failed"):
        (found,) = ContextAssembler(store=neighbors).invoke([document("A", 4)])
    assert "Invalid field name" in found.metadata["trace"]["notes"][0]


# The retriever


def test_a_hybrid_search_keeps_its_scores_and_takes_each_query_afresh(stores: PostgresStores) -> None:
    hybrid = HybridSearchConfig(
        tsv_lang="pg_catalog.simple",
        fusion_function=reciprocal_rank_fusion,
        fusion_function_parameters={"rrf_k": 60},
        primary_top_k=4,
        secondary_top_k=4,
    )
    store = stores.make("columns", CORPUS, hybrid_search_config=hybrid)
    retriever = ContextAssemblyRetriever.from_vectorstore(store, hits=4, config=AssemblyConfig(window=0))
    with statements(engine_of(store)) as seen:
        for query in ("the lantern in A", "the willow in B"):
            found = retriever.invoke(query)
            scores = [score for each in found for score in each.metadata["scores"].values()]
            assert found[0].metadata["citation"]["score"] == max(scores)
            assert max(scores) <= 2 / 60  # reciprocal ranks, not turned around
    asked = [parameters["fts_query"] for _, parameters in seen if "fts_query" in parameters]
    assert asked == ["the lantern in A", "the willow in B"]
    assert hybrid.fts_query == ""
