"""Against a real PostgreSQL: langchain-postgres as it is used, and its own SQL seen by SQLAlchemy's events."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import create_async_engine

from ctxassembly import AssemblyConfig, ChunkRef, Hit, MetadataKeys, assemble
from ctxassembly.errors import ConfigError, InputError, NothingToJoinWarning
from ctxassembly.testing import store_cases
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, PGVectorNeighbors
from langchain_samples import WordEmbeddings, chunks, document, documents, vector_store

HOSTILE = ("O'Brien", "x' OR '1'='1", '%(a)s :b "c" \\ $1 ✓')
CORPUS = [
    document(document_id, at, tenant="theirs" if at == 6 else "ours")
    for document_id in ("A", "B", *HOSTILE)
    for at in range(9)
]
KINDS = ["columns", "json", "old"]
FILTER = {"tenant": "ours"}


class Database:
    """Makes vector stores of each kind over one database, and disposes of their engines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engines: list[Any] = []

    def engine(self) -> PGEngine:
        engine = PGEngine.from_connection_string(self.url)
        self.engines.append(engine)
        return engine

    def store(self, kind: str, corpus: list[Document] = CORPUS, **options: Any) -> Any:
        if kind == "old":
            connection = create_engine(self.url)
            self.engines.append(connection)
            store: Any = PGVector(WordEmbeddings(), connection=connection, **options)
        else:
            engine = self.engine()
            columns = [Column("document_id", "text"), Column("chunk_index", "integer")] if kind == "columns" else []
            engine.init_vectorstore_table(
                "chunks", 64, id_column=Column("id", "text"), metadata_columns=list(columns),
                hybrid_search_config=options.get("hybrid_search_config"),
            )  # fmt: skip
            names = [column.name for column in columns]
            store = PGVectorStore.create_sync(
                engine, WordEmbeddings(), "chunks", id_column="id", metadata_columns=names, **options
            )
        store.add_documents(corpus)
        return store

    def dispose(self) -> None:
        for engine in self.engines:
            if isinstance(engine, PGEngine):
                asyncio.run(engine.close())
            else:
                engine.dispose()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.dispose()


@pytest.mark.parametrize("kind", KINDS)
async def test_it_answers_as_every_store_has_to(database: Database, kind: str) -> None:
    store = PGVectorNeighbors(database.store(kind))
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
async def test_one_statement_for_all_documents_and_the_embedding_stays_there(database: Database, kind: str) -> None:
    store = await asyncio.to_thread(database.store, kind)
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
def test_chunks_by_id_and_whole_documents_in_the_same_statement(database: Database, kind: str) -> None:
    store = database.store(kind)
    with statements(engine_of(store)) as seen:
        found = PGVectorNeighbors(store, filter=FILTER).fetch(
            [ChunkRef("A", 1), ChunkRef("A", chunk_id="A#2"), ChunkRef("A", chunk_id="A#6"), ChunkRef("B")]
        )
    assert len(seen) == 1
    assert {chunk.id for chunk in found} == {"A#1", "A#2", *(f"B#{at}" for at in range(9) if at != 6)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("document_id", HOSTILE)
def test_hostile_document_ids_are_values_and_nothing_else(database: Database, kind: str, document_id: str) -> None:
    neighbors = PGVectorNeighbors(database.store(kind), filter=FILTER)
    found = neighbors.fetch([ChunkRef(document_id, 3), ChunkRef(document_id, 6)])
    assert [(chunk.document_id, chunk.index) for chunk in found] == [(document_id, 3)]
    assert neighbors.fetch([ChunkRef(document_id + "'", 3)]) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["x' OR '1'='1", "ours' --", {"$in": ["x') OR ('1'='1"]}])
def test_hostile_filter_values_open_nothing(database: Database, kind: str, value: Any) -> None:
    neighbors = PGVectorNeighbors(database.store(kind), filter={"tenant": value})
    assert neighbors.fetch([*REFS, ChunkRef("A")]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_filter_holds_in_the_database(database: Database, kind: str) -> None:
    store = database.store(kind)
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
def test_json_may_hold_the_index_in_any_form_and_odd_values_beside_it(database: Database, kind: str) -> None:
    forms = [0, "1", 2.0, "3.0", "four", None, {"at": 6}, 7]
    corpus = [
        Document(id=f"c{at}", page_content=f"part {at}", metadata={"document_id": "A", "chunk_index": form})
        for at, form in enumerate(forms)
    ]
    neighbors = PGVectorNeighbors(database.store(kind, corpus))
    found = neighbors.fetch([ChunkRef("A", at) for at in range(9)])
    assert sorted(chunk.id for chunk in found) == ["c0", "c1", "c2", "c3", "c7"]


def test_a_row_without_text_is_left_out_and_costs_no_other_row(database: Database) -> None:
    neighbors = PGVectorNeighbors(database.store("old"))
    with psycopg.connect(database.url.replace("+psycopg", "", 1)) as connection:
        where = "cmetadata->>'document_id' = 'A' AND cmetadata->>'chunk_index' = '3'"
        connection.execute(f"UPDATE langchain_pg_embedding SET document = NULL WHERE {where}")
    config = AssemblyConfig(window=2, neighbors="unfiltered")
    context = assemble([Hit(chunk) for chunk in chunks([document("A", 4)])], config, store=neighbors)
    assert {decision.chunk_id for decision in context.trace.decisions} == {"A#2", "A#4", "A#5", "A#6"}
    assert any("A#3" in note and "left out" in note for note in context.trace.notes), context.trace.notes


@pytest.mark.parametrize("kind", ["json", "old"])
def test_other_keys_and_dotted_paths_can_be_set(database: Database, kind: str) -> None:
    metadata = [{"file": {"it's": "A"}, "no": at} for at in range(3)]
    if kind == "json":  # its own filter takes identifiers alone
        metadata = [{"file": {"key": "A"}, "no": at} for at in range(3)]
    corpus = [Document(id=str(at), page_content=f"part {at}", metadata=each) for at, each in enumerate(metadata)]
    keys = MetadataKeys(document_id="file.key" if kind == "json" else "file.it's", index="no")
    found = PGVectorNeighbors(database.store(kind, corpus), keys=keys).fetch([ChunkRef("A", 1)])
    assert [chunk.id for chunk in found] == ["1"]
    assert found[0].document_id == "A"


ODD: list[dict[str, Any]] = [
    {"document_id": "A", "chunk_index": 0, "tenant": "ours"},
    {"document_id": "A", "chunk_index": 1, "tenant": "theirs"},
    {"document_id": "A", "chunk_index": 2, "tenant": "ours", "n": 7},
    {"document_id": "A", "chunk_index": 2, "tenant": "ours", "n": 8},
    {"document_id": "A", "chunk_index": -1, "tenant": "ours"},
    {"document_id": "A", "chunk_index": None, "tenant": "ours"},
    {"document_id": None, "chunk_index": 2, "tenant": "ours"},
    {"document_id": "b", "chunk_index": 2, "tenant": None},
    {"document_id": "B", "chunk_index": 2},
    {"document_id": "B", "chunk_index": 2**31 - 1, "tenant": "ours"},
    {"document_id": "", "chunk_index": 0, "tenant": "ours"},
]
MORE_ODD: list[dict[str, Any]] = [
    {"document_id": "A", "chunk_index": form, "tenant": "ours"}
    for form in ("7.0", "x", "07", 7.5, 7.0, "7", True, [7], {"at": 7}, "1e1")
]
FILTERS: list[dict[str, Any] | None] = [
    None, FILTER, {"tenant": {"$ne": "ours"}}, {"tenant": {"$exists": False}}, {"tenant": {"$in": ["ours", "theirs"]}},
    {"$or": [{"tenant": "theirs"}, {"$not": {"tenant": {"$like": "o%"}}}]}, {"tenant": {"$between": ["o", "p"]}},
]  # fmt: skip


def by_its_own_interface(store: Any, refs: list[ChunkRef], condition: dict[str, Any] | None, in_columns: bool) -> Any:
    """The ids of the rows that `PGVectorStore.get` finds for `refs`, by an OR of ANDs."""
    wanted: list[dict[str, Any]] = []
    for ref in refs:
        if ref.index is not None:
            index: Any = ref.index if in_columns else {"$in": [f"{ref.index}", f"{ref.index}.0"]}
            wanted.append({"$and": [{"document_id": ref.document_id}, {"chunk_index": index}]})
        elif ref.chunk_id is not None:
            wanted.append({"id": ref.chunk_id})
        else:
            wanted.append({"document_id": ref.document_id})
    return sorted(store.get(where={"$and": [{"$or": wanted}, *([condition] if condition else [])]}, include=[])["ids"])


@pytest.mark.parametrize("kind", ["columns", "json"])
def test_what_is_found_is_what_the_stores_own_interface_finds(database: Database, kind: str) -> None:
    """Random questions under each filter, about rows that have odd values, or none."""
    rows = ODD if kind == "columns" else ODD + MORE_ODD
    corpus = [Document(id=f"row {at}", page_content=f"{each}", metadata=each) for at, each in enumerate(rows)]
    store = database.store(kind, corpus)
    random = Random(0)
    found_any = 0
    for condition in FILTERS:
        neighbors = PGVectorNeighbors(store, filter=condition)
        for _ in range(12):
            document_ids = random.choices(["A", "b", "B", "", "gone"], k=random.randint(1, 6))
            refs = [
                random.choice(
                    [ChunkRef(each, random.choice([-1, 0, 1, 2, 3, 7, 10, 2**31 - 1])) for _ in range(4)]
                    + [ChunkRef(each, chunk_id=f"row {random.randrange(len(rows))}"), ChunkRef(each)]
                )
                for each in document_ids
            ]
            found = {chunk.id: chunk for chunk in neighbors.fetch(refs)}
            assert sorted(found) == by_its_own_interface(store, refs, condition, kind == "columns"), (condition, refs)
            for id_, chunk in found.items():
                expected = rows[int(id_.split()[1])]
                assert {key: chunk.metadata[key] for key in expected} == expected
            found_any += len(found)
    assert found_any > 50


@pytest.mark.parametrize("kind", KINDS)
async def test_one_document_id_that_postgres_cannot_hold_costs_no_other_its_neighbors(
    database: Database, kind: str
) -> None:
    store = await asyncio.to_thread(database.store, kind)
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
def test_all_questions_are_one_statement_whatever_they_ask_and_the_filter_holds(database: Database, kind: str) -> None:
    """What SQLAlchemy compiles once, the driver can have prepared."""
    store = database.store(kind)
    with statements(engine_of(store)) as seen:
        for at, tenant in enumerate(("ours", "theirs", "x' OR '1'='1")):
            PGVectorNeighbors(store, filter={"tenant": tenant}).fetch(
                [ChunkRef(f"D{each}", each) for each in range(at + 1)]
            )
    assert len(seen) == 3
    assert len({statement for statement, _ in seen}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_on_document_and_place_is_used(database: Database, kind: str) -> None:
    """With the plan for any values, too, which a prepared statement is run by."""
    store = database.store(kind, [document("A", at, tenant="ours") for at in range(3)])
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
    with psycopg.connect(database.url.replace("+psycopg", "", 1), autocommit=True) as connection:
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


def test_collections_of_one_database_stay_apart(database: Database) -> None:
    first = database.store("old", documents("A"), collection_name="first")
    database.store("old", [document("B", 1)], collection_name="second")
    found = PGVectorNeighbors(first).fetch([ChunkRef("A", 1), ChunkRef("B", 1), ChunkRef("B", chunk_id="B#1")])
    assert [chunk.id for chunk in found] == ["A#1"]


# Set up for async use alone


@pytest.fixture
async def async_store(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    url = database.url
    if request.param == "old":
        engine = create_async_engine(url)
        store: Any = PGVector(WordEmbeddings(), connection=engine)
        await store.aadd_documents(CORPUS)
        # A fresh one, as a service would have it: its lazy set-up must not be missed.
        store = PGVector(WordEmbeddings(), connection=engine, create_extension=False)
    else:
        await asyncio.to_thread(database.store, "columns")
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
async def test_a_fetch_that_takes_too_long_is_cancelled_on_the_server_too(database: Database, kind: str) -> None:
    store = await asyncio.to_thread(database.store, kind)
    neighbors = PGVectorNeighbors(store, timeout_seconds=0.3)
    with locked(database.url, kind):
        for fetch in (lambda: asyncio.to_thread(neighbors.fetch, REFS), lambda: neighbors.afetch(REFS)):
            with pytest.raises(TimeoutError, match=r"no answer from Postgres within 0\.3 s"):
                await fetch()
        assert await asyncio.to_thread(nobody_waits_soon, database.url)
        with pytest.warns(NothingToJoinWarning, match="The store failed"):
            (found,) = await ContextAssembler(store=neighbors, neighbors="unfiltered").ainvoke([document("A", 4)])
        assert found.metadata["chunk_ids"] == ["A#4"]
        assert "TimeoutError" in found.metadata["trace"]["notes"][0]
    neighbors = PGVectorNeighbors(store)
    assert len(await neighbors.afetch(REFS)) == 3
    assert len(await asyncio.to_thread(neighbors.fetch, REFS)) == 3


@pytest.mark.parametrize("async_store", ["old", "asyncpg"], indirect=True)
async def test_an_async_store_times_out_and_goes_on(database: Database, async_store: Any) -> None:
    neighbors = PGVectorNeighbors(async_store)
    assert len(await neighbors.afetch(REFS)) == 3
    with locked(database.url, "old" if isinstance(async_store, PGVector) else "columns"):
        with pytest.raises(TimeoutError, match="no answer from Postgres"):
            await PGVectorNeighbors(async_store, timeout_seconds=0.3).afetch(REFS)
        assert await asyncio.to_thread(nobody_waits_soon, database.url)
    assert len(await neighbors.afetch(REFS)) == 3


def test_the_servers_own_errors_are_not_called_a_timeout(database: Database) -> None:
    neighbors = PGVectorNeighbors(database.store("old"), filter={"no field": 1})
    with pytest.raises(ValueError, match="Invalid field name"):
        neighbors.fetch(REFS)
    with pytest.warns(NothingToJoinWarning, match="The store failed"):
        (found,) = ContextAssembler(store=neighbors).invoke([document("A", 4)])
    assert "Invalid field name" in found.metadata["trace"]["notes"][0]


def test_wrong_parameters_are_errors_at_construction(database: Database) -> None:
    store = database.store("old")
    with pytest.raises(ConfigError, match="vectorstore must be a PGVectorStore, AsyncPGVectorStore or PGVector"):
        PGVectorNeighbors(vector_store([]))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="filter must be a dict"):
        PGVectorNeighbors(store, filter=lambda _: True)  # type: ignore[arg-type]
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ConfigError, match="timeout_seconds must be a number above 0"):
            PGVectorNeighbors(store, timeout_seconds=wrong)


# The retriever


@pytest.mark.parametrize("kind", KINDS)
async def test_from_vectorstore_takes_neighbors_and_filter_from_the_store_itself(database: Database, kind: str) -> None:
    store = await asyncio.to_thread(database.store, kind)
    retriever = ContextAssemblyRetriever.from_vectorstore(store, search_kwargs={"filter": FILTER}, hits=2)
    query = "In A the ember is described in paragraph 8."
    found = await asyncio.to_thread(retriever.invoke, query)
    if kind != "old":
        assert [each.page_content for each in await retriever.ainvoke(query)] == [each.page_content for each in found]
    best = found[0].metadata
    assert best["citation"]["document_id"] == "A"
    assert {"A#7", "A#8"} <= set(best["chunk_ids"])
    assert "A#6" not in {chunk_id for each in found for chunk_id in each.metadata["chunk_ids"]}
    # Distances became scores: the nearest has the highest.
    scores = [score for each in found for score in each.metadata["scores"].values()]
    assert best["citation"]["score"] == max(scores)
    assert 0 < max(scores) <= 1


def test_a_hybrid_search_keeps_its_scores_and_takes_each_query_afresh(database: Database) -> None:
    hybrid = HybridSearchConfig(
        tsv_lang="pg_catalog.simple",
        fusion_function=reciprocal_rank_fusion,
        fusion_function_parameters={"rrf_k": 60},
        primary_top_k=4,
        secondary_top_k=4,
    )
    store = database.store("columns", hybrid_search_config=hybrid)
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
