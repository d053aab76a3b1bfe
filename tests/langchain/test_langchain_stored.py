"""`number_stored_chunks` over a real PostgreSQL: tables as langchain-postgres makes them, filled as users fill them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys, NothingToJoinWarning
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import (
    ContextAssemblyRetriever,
    PGVectorNeighbors,
    anumber_stored_chunks,
    number_chunks,
    number_stored_chunks,
)
from langchain_samples import WordEmbeddings

HOSTILE = "O'Brien's \"x\" %(a)s :b.pdf"
YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(120)]
QUERY = "How many bales of wool did the weavers pay in year 12?"
UNFILTERED = AssemblyConfig(neighbors="unfiltered")
KINDS = ["json", "columns", "old"]


def pages(source: str, **metadata: Any) -> list[Document]:
    return [
        Document(
            " ".join(YEARS[40 * page : 40 * page + 40]),
            metadata={"source": source, "page": page, "page_label": ("iv", "1", "2")[page], **metadata},
        )
        for page in range(3)
    ]


def split(*sources: str, offsets: bool = True) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=80, add_start_index=offsets)
    return splitter.split_documents([page for source in sources for page in pages(source)])


class Database:
    """Makes vector stores of each kind, with random ids, and disposes of their engines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engines: list[Any] = []

    def store(self, kind: str, documents: list[Document], table: str = "My Chunks", **options: Any) -> Any:
        ids = [str(uuid.uuid4()) for _ in documents]
        if kind == "old":
            connection = create_engine(self.url)
            self.engines.append(connection)
            store: Any = PGVector(WordEmbeddings(), connection=connection, collection_name=table)
        else:
            engine = PGEngine.from_connection_string(self.url)
            self.engines.append(engine)
            columns = {"json": [], "columns": [Column("document_id", "text"), Column("chunk_index", "integer")]}[kind]
            engine.init_vectorstore_table(table, 64, metadata_columns=list(columns), **options)
            names = [column.name for column in columns]
            made = {"metadata_json_column": None} if not options.get("store_metadata", True) else {}
            store = PGVectorStore.create_sync(engine, WordEmbeddings(), table, metadata_columns=names, **made)
        store.add_documents(documents, ids=ids)
        return store

    def dispose(self) -> None:
        for engine in self.engines:
            asyncio.run(engine.close()) if isinstance(engine, PGEngine) else engine.dispose()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    yield made
    made.dispose()


def over(store: Any) -> ContextAssemblyRetriever:
    return ContextAssemblyRetriever.from_vectorstore(store, hits=3, config=UNFILTERED)


def rows(database: Database, query: str) -> list[Any]:
    with psycopg.connect(database.url.replace("+psycopg", "", 1)) as connection:
        return connection.execute(query.encode()).fetchall()


def places(store: Any, source: str) -> dict[int, str]:
    """The text at each index of a document, as neighbors are found."""
    found = PGVectorNeighbors(store).fetch([*map(of_document(source), range(200))])
    return {chunk.index: chunk.text for chunk in found if chunk.index is not None}


def recorded(store: Any, source: str) -> list[int | None]:
    """The overlap that the metadata of each chunk of a document have, in order."""
    found = PGVectorNeighbors(store).fetch([*map(of_document(source), range(200))])
    return [chunk.metadata.get("overlap_chars") for chunk in sorted(found, key=lambda chunk: chunk.index or 0)]


def of_document(source: str) -> Any:
    return lambda index: ChunkRef(source, index)


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_table_is_joined_once_it_is_numbered(database: Database, kind: str) -> None:
    documents = split("a.pdf", HOSTILE)
    shuffled = Random(7).sample(documents, len(documents))
    store = database.store(kind, shuffled)

    told = number_stored_chunks(store)

    assert (told.chunks, told.documents, told.unordered, told.nameless) == (len(documents), 2, (), 0)
    expected = dict(enumerate(each.page_content for each in documents if each.metadata["source"] == HOSTILE))
    assert places(store, HOSTILE) == expected
    found = over(store).invoke(QUERY)
    assert found[0].metadata["trace"]["missing"] is None
    assert max(len(each.metadata["chunk_ids"]) for each in found) >= 3
    # A second run changes nothing.
    assert number_stored_chunks(store).chunks == 0
    assert places(store, HOSTILE) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_table_says_what_it_lacks_once(database: Database, kind: str) -> None:
    made = over(database.store(kind, split("a.pdf", offsets=False)))
    with pytest.warns(NothingToJoinWarning, match=r"number_stored_chunks\(vectorstore\)"):
        made.invoke(QUERY)
    assert "number_stored_chunks(vectorstore)" in made.invoke(QUERY)[0].metadata["trace"]["missing"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_gets_the_index_that_neighbors_are_found_by(database: Database, kind: str) -> None:
    store = database.store(kind, split("a.pdf"))
    number_stored_chunks(store)
    number_stored_chunks(store)
    table = "langchain_pg_embedding" if kind == "old" else "My Chunks"
    found = rows(
        database, f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' AND indexname LIKE '%document_place'"
    )
    assert len(found) == 1
    document = "document_id" if kind == "columns" else "->> 'document_id'"
    assert document in found[0][0]


async def test_awaited_it_is_the_same(database: Database) -> None:
    stores = [await asyncio.to_thread(database.store, kind, split("a.pdf"), f"{kind}_chunks") for kind in KINDS]
    for store in stores:
        assert (await anumber_stored_chunks(store)).documents == 1
        assert len(places(store, "a.pdf")) == len(split("a.pdf"))


async def test_over_stores_that_are_async_alone(database_url: str) -> None:
    engine = create_async_engine(database_url)
    made = PGEngine.from_engine(engine)
    await made.ainit_vectorstore_table("chunks", 64)
    store = await AsyncPGVectorStore.create(made, WordEmbeddings(), "chunks")
    await store.aadd_documents(split("a.pdf"))
    with pytest.raises(InputError, match="use anumber_stored_chunks"):
        number_stored_chunks(store)
    assert (await anumber_stored_chunks(store)).documents == 1
    old = PGVector(WordEmbeddings(), connection=create_async_engine(database_url), async_mode=True)
    await old.aadd_documents(split("a.pdf"))
    with pytest.raises(InputError, match="use anumber_stored_chunks"):
        number_stored_chunks(old)
    assert (await anumber_stored_chunks(old)).documents == 1
    for each in (engine, old._async_engine):
        assert each is not None
        await each.dispose()


def test_what_cannot_be_ordered_is_told_and_left_alone(database: Database) -> None:
    store = database.store("json", [*split("a.pdf", offsets=False), *split("b.pdf"), Document("Alone.")])

    told = number_stored_chunks(store)

    assert (told.documents, told.unordered, told.unordered_count, told.nameless) == (1, ("a.pdf",), 1, 1)
    assert "1 document could not be ordered" in str(told)
    assert "trust_insertion_order=True" in str(told)
    assert "1 chunk names neither a document nor a source" in str(told)
    assert places(store, "a.pdf") == {}

    assert number_stored_chunks(store, trust_insertion_order=True).documents == 2
    assert places(store, "a.pdf") == dict(enumerate(each.page_content for each in split("a.pdf", offsets=False)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_dry_run_changes_nothing(database: Database, kind: str) -> None:
    store = database.store(kind, split("a.pdf"))
    planned = number_stored_chunks(store, dry_run=True)
    assert planned.chunks == len(split("a.pdf"))
    assert places(store, "a.pdf") == {}
    assert number_stored_chunks(store) == planned


def test_a_document_that_was_stored_twice_is_not_ordered(database: Database) -> None:
    told = number_stored_chunks(database.store("json", [*split("a.pdf"), *split("a.pdf")]))
    assert (told.chunks, told.unordered) == (0, ("a.pdf",))


def test_indexes_that_are_there_stay_and_get_the_document_beside_them(database: Database) -> None:
    given = [Document(f"Text {at}.", metadata={"source": "a.txt", "chunk_index": 2 * at}) for at in range(4)]
    store = database.store("json", given)
    told = number_stored_chunks(store)
    assert (told.chunks, told.documents) == (4, 1)
    assert sorted(places(store, "a.txt")) == [0, 2, 4, 6]


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_overlap_is_read_once(database: Database, kind: str) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=80, chunk_overlap=15)
    documents = splitter.split_documents([Document(" ".join(YEARS), metadata={"source": "a.txt"})])
    store = database.store(kind, documents)
    number_stored_chunks(store, trust_insertion_order=True)
    assert recorded(store, "a.txt") == [chunk.metadata.get("overlap_chars") for chunk in number_chunks(documents)]
    (found,) = over(store).invoke(QUERY)
    assert len(found.metadata["chunk_ids"]) >= 3
    assert all(
        " ".join(block.split()) in " ".join(YEARS) for block in found.page_content.partition("\n")[2].split("[...]")
    )
    # A second run changes nothing.
    assert number_stored_chunks(store).chunks == 0


def test_rows_of_a_table_are_ordered_by_their_number(database: Database) -> None:
    given = [Document(f"Row {at}.", metadata={"source": "a.csv", "row": at}) for at in range(12)]
    store = database.store("json", Random(3).sample(given, len(given)))
    number_stored_chunks(store)
    assert places(store, "a.csv") == {at: f"Row {at}." for at in range(12)}


def test_another_collection_stays_as_it_is(database: Database) -> None:
    store, other = (database.store("old", split("a.pdf"), name) for name in ("one", "two"))
    number_stored_chunks(store)
    assert places(store, "a.pdf")
    assert not places(other, "a.pdf")


def test_metadata_that_were_there_are_there_still(database: Database) -> None:
    given = split("a.pdf")[:2]
    store = database.store("json", given)
    number_stored_chunks(store)
    found = store.similarity_search(given[0].page_content, k=1)[0].metadata
    assert found == {**given[0].metadata, "document_id": "a.pdf", "chunk_index": 0}


def test_keys_of_ones_own(database: Database) -> None:
    keys = MetadataKeys(document_id=("doc", "source"), index="seq")
    store = database.store("json", split("a.pdf"))
    number_stored_chunks(store, keys=keys)
    assert len(PGVectorNeighbors(store, keys=keys).fetch([*map(of_document("a.pdf"), range(3))])) == 3


def test_what_cannot_be_numbered_is_an_error(database: Database) -> None:
    with pytest.raises(
        ConfigError,
        match="vectorstore must be a PGVectorStore, AsyncPGVectorStore, PGVector, Chroma or QdrantVectorStore, got",
    ):
        number_stored_chunks("chunks")  # type: ignore[arg-type]
    store = database.store("json", [Document("Text.")], store_metadata=False)
    with pytest.raises(ConfigError, match="one whose table has a column 'document_id' or JSON metadata"):
        number_stored_chunks(store)


def test_a_failure_leaves_the_table_as_it_was(database: Database) -> None:
    store = database.store("json", split("a.pdf"))
    engine = create_engine(database.url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE \"My Chunks\" ADD CHECK (langchain_metadata ->> 'chunk_index' <> '5')"))
    engine.dispose()
    with pytest.raises(Exception, match="check constraint"):
        number_stored_chunks(store)
    assert places(store, "a.pdf") == {}


# Tables that name document and index in several ways


OLDER = [Document(f"Old {at}.", metadata={"source": "old.txt", "seq": at}) for at in range(5)]
NEWER = [Document(f"New {at}.", metadata={"doc": "new", "source": "new.txt", "n": at}) for at in range(5)]
SEVERAL = MetadataKeys(document_id=("doc", "source"), index=("n", "seq"))


@pytest.mark.parametrize("kind", ["json", "old"])
async def test_all_names_are_read_from_json_metadata(database: Database, kind: str) -> None:
    store = await asyncio.to_thread(database.store, kind, [*OLDER, *NEWER])
    neighbors = PGVectorNeighbors(store, keys=SEVERAL)
    refs = [*map(of_document("old.txt"), (1, 2)), *map(of_document("new"), (3, 4, 9)), *map(of_document("gone"), (0,))]
    for found in (neighbors.fetch(refs), await neighbors.afetch(refs)):
        assert sorted(each.text for each in found) == ["New 3.", "New 4.", "Old 1.", "Old 2."]
    whole = neighbors.fetch([ChunkRef("old.txt"), ChunkRef("new"), ChunkRef("gone")])
    assert sorted(each.text for each in whole) == sorted(each.page_content for each in (*OLDER, *NEWER))


def test_the_source_serves_where_nothing_else_is_there(database: Database) -> None:
    given = [Document(f"Text {at}.", metadata={"source": "a.txt", "chunk_index": at}) for at in range(5)]
    for kind in ("json", "old", "columns"):
        store = database.store(kind, given, f"{kind} chunks")
        assert [each.index for each in PGVectorNeighbors(store).fetch([ChunkRef("a.txt", 3)])] == {
            "columns": [],  # of such a table the column is the document
        }.get(kind, [3])


def test_rows_under_other_names_are_not_looked_at_where_the_first_has_the_document(database: Database) -> None:
    store = database.store("json", [*OLDER, *NEWER])
    plan = explained(database, store, [ChunkRef("new", 1)])
    assert "never executed" in plan
    assert "never executed" not in explained(database, store, [ChunkRef("old.txt", 1)])


def explained(database: Database, store: Any, refs: list[ChunkRef]) -> str:
    """How Postgres answers a fetch."""
    seen: list[tuple[str, Any]] = []
    engine = store._engine._pool.sync_engine

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    PGVectorNeighbors(store, keys=SEVERAL).fetch(refs)
    event.remove(engine, "before_cursor_execute", note)
    (statement, parameters), *_ = seen
    with psycopg.connect(database.url.replace("+psycopg", "", 1)) as connection:
        return "\n".join(line for (line,) in connection.execute(b"EXPLAIN ANALYZE " + statement.encode(), parameters))
