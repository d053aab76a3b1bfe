"""`number_stored_chunks` over PostgreSQL, Chroma and Qdrant, filled as users fill them: under random ids."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_postgres import PGEngine, PGVector
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy import create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys, NothingToJoinWarning
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import (
    ContextAssemblyRetriever,
    PGVectorNeighbors,
    VectorStoreNeighbors,
    number_chunks,
    number_stored_chunks,
)
from langchain_samples import WordEmbeddings
from postgres_stores import KINDS as TABLES
from postgres_stores import PostgresStores
from vector_stores import Chroma, QdrantVectorStore, chroma, qdrant

HOSTILE = "O'Brien's \"x\" %(a)s :b.pdf"
YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(120)]
QUERY = "How many bales of wool did the weavers pay in year 12?"
KINDS = (*TABLES, "chroma", "qdrant")
ON_ALL = pytest.mark.parametrize("kind", KINDS)
Make = Callable[..., Any]


def split(*sources: str, offsets: bool = True) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=80, add_start_index=offsets)
    pages = [
        Document(" ".join(YEARS[40 * page : 40 * page + 40]), metadata={"source": source, "page": page})
        for source in sources
        for page in range(3)
    ]
    return splitter.split_documents(pages)


@pytest.fixture
def stores(database_url: str) -> Iterator[PostgresStores]:
    with PostgresStores(database_url) as made:
        yield made


@pytest.fixture
def stored(stores: PostgresStores) -> Make:
    """A function from a kind and documents to a vector store with them."""

    def make(kind: str, documents: list[Document], **options: Any) -> Any:
        if kind in TABLES:
            return stores.make(kind, documents, **{"table": "My Chunks", **options})
        return (chroma if kind == "chroma" else qdrant)(documents)

    return make


def neighbors(store: Any, **settings: Any) -> Any:
    make: Any = VectorStoreNeighbors if isinstance(store, (Chroma, QdrantVectorStore)) else PGVectorNeighbors
    return make(store, **settings)


def chunks_of(store: Any, source: str, **settings: Any) -> list[Any]:
    """The chunks of a document, in order, as neighbors are found."""
    found = neighbors(store, **settings).fetch([ChunkRef(source, index) for index in range(200)])
    return sorted(found, key=lambda chunk: chunk.index)


def places(store: Any, source: str) -> dict[int, str]:
    return {chunk.index: chunk.text for chunk in chunks_of(store, source)}


def over(store: Any) -> ContextAssemblyRetriever:
    config = AssemblyConfig(neighbors="unfiltered", cite="document")
    return ContextAssemblyRetriever.from_vectorstore(store, hits=3, config=config)


@ON_ALL
def test_an_ordinary_index_is_joined_once_it_is_numbered(stored: Make, kind: str) -> None:
    documents = split("a.pdf", HOSTILE)
    store = stored(kind, Random(7).sample(documents, len(documents)))
    planned = number_stored_chunks(store, dry_run=True)
    assert places(store, HOSTILE) == {}
    report = number_stored_chunks(store)
    assert report == planned
    assert (report.chunks, report.documents, report.unordered, report.nameless) == (len(documents), 2, (), 0)
    expected = dict(enumerate(each.page_content for each in documents if each.metadata["source"] == HOSTILE))
    assert places(store, HOSTILE) == expected
    place = {"document_id": "a.pdf", "chunk_index": 0}
    assert {**documents[0].metadata, **place}.items() <= chunks_of(store, "a.pdf")[0].metadata.items()
    found = over(store).invoke(QUERY)
    assert found[0].metadata["trace"]["missing"] is None
    assert max(len(each.metadata["chunk_ids"]) for each in found) >= 3
    assert number_stored_chunks(store).chunks == 0  # a second run changes nothing
    assert places(store, HOSTILE) == expected


@ON_ALL
def test_chunks_that_do_not_show_their_order_are_reported_and_left_alone(stored: Make, kind: str) -> None:
    twice = [*split("twice.pdf"), *split("twice.pdf")]
    store = stored(kind, [*split("a.pdf", offsets=False), *split("b.pdf"), *twice, Document("Alone.")])
    bare = stored(kind, split("a.pdf", offsets=False), **({"table": "bare"} if kind in TABLES else {}))
    in_order = r"number_stored_chunks\(vectorstore, trust_insertion_order=True\)"
    again = r"vectorstore.add_documents\(number_chunks\(documents, id_of=uuid_of\)\)"
    with pytest.warns(NothingToJoinWarning, match=f"Fix: {again if kind == 'qdrant' else in_order}"):
        over(bare).invoke(QUERY)
    report = number_stored_chunks(store)
    assert (report.documents, report.unordered, report.nameless) == (1, ("a.pdf", "twice.pdf"), 1)
    assert "2 documents could not be ordered" in str(report)
    assert "1 chunk names neither a document nor a source" in str(report)
    assert "trust_insertion_order=True" in str(report)
    assert places(store, "a.pdf") == {}
    if kind == "qdrant":
        with pytest.raises(ConfigError, match="trust_insertion_order must be False for Qdrant"):
            number_stored_chunks(store, trust_insertion_order=True)
        return
    number_stored_chunks(store, trust_insertion_order=True)
    assert places(store, "a.pdf") == dict(enumerate(each.page_content for each in split("a.pdf", offsets=False)))


@ON_ALL
@pytest.mark.parametrize("as_text", [False, True])
def test_indexes_that_are_there_stay(stored: Make, kind: str, as_text: bool) -> None:
    if kind == "columns" and as_text:
        pytest.skip("the column is of integers")
    indexes = [str(2 * at) if as_text else 2 * at for at in range(4)]
    given = [Document(f"Text {at}.", metadata={"source": "a.txt", "chunk_index": at}) for at in indexes]
    store = stored(kind, given)
    number_stored_chunks(store)
    assert places(store, "a.txt") == {2 * at: f"Text {2 * at}." for at in range(4)}


@pytest.mark.parametrize("kind", [*TABLES, "chroma"])
def test_a_short_overlap_is_recorded_as_number_chunks_records_it(stored: Make, kind: str) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=80, chunk_overlap=15)
    documents = splitter.split_documents([Document(" ".join(YEARS), metadata={"source": "a.txt"})])
    store = stored(kind, documents)
    number_stored_chunks(store, trust_insertion_order=True)
    recorded = [chunk.metadata.get("overlap_chars") for chunk in chunks_of(store, "a.txt")]
    assert recorded == [chunk.metadata.get("overlap_chars") for chunk in number_chunks(documents)]
    assert any(recorded)
    (found,) = over(store).invoke(QUERY)
    parts = found.page_content.partition("\n")[2].split("[...]")
    assert all(" ".join(part.split()) in " ".join(YEARS) for part in parts)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "columns"])
def test_the_callers_keys_are_written(stored: Make, kind: str) -> None:
    keys = MetadataKeys(document_id=("doc", "source"), index="seq")
    store = stored(kind, split("a.pdf"))
    number_stored_chunks(store, keys=keys)
    assert len(chunks_of(store, "a.pdf", keys=keys)) == len(split("a.pdf"))


@pytest.mark.parametrize("kind", ["json", "old"])
async def test_stores_that_are_async_alone_are_refused(database_url: str, kind: str) -> None:
    engine = create_async_engine(database_url)
    if kind == "old":
        store: Any = PGVector(WordEmbeddings(), connection=engine, async_mode=True)
    else:
        made = PGEngine.from_engine(engine)
        await made.ainit_vectorstore_table("chunks", 64)
        store = await AsyncPGVectorStore.create(made, WordEmbeddings(), "chunks")
    with pytest.raises(InputError, match=r"use one whose engine is made by PGEngine\.from_connection_string, or sync"):
        number_stored_chunks(store)
    await engine.dispose()


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
def test_a_run_that_was_interrupted_is_completed(stored: Make, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxassembly.stores.numbering.BATCH_SIZE", 8)
    documents = split("a.pdf")
    store = stored(kind, documents)
    target = (store._collection, "update") if kind == "chroma" else (store.client, "batch_update_points")
    write, calls = getattr(*target), []

    def fail_at_third(*arguments: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise ConnectionError
        write(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(*target, fail_at_third)
        with pytest.raises(ConnectionError):
            number_stored_chunks(store)
    assert number_stored_chunks(store).chunks == len(documents) - 16
    assert places(store, "a.pdf") == dict(enumerate(each.page_content for each in documents))


def test_a_failure_leaves_a_table_as_it_was(stored: Make, database_url: str) -> None:
    store = stored("json", split("a.pdf"))
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE \"My Chunks\" ADD CHECK (langchain_metadata ->> 'chunk_index' <> '5')"))
    engine.dispose()
    with pytest.raises(Exception, match="check constraint"):
        number_stored_chunks(store)
    assert places(store, "a.pdf") == {}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_gets_the_index_that_neighbors_are_found_by(stored: Make, database_url: str, kind: str) -> None:
    store = stored(kind, split("a.pdf"))
    for _ in range(2):
        number_stored_chunks(store)
    table = "langchain_pg_embedding" if kind == "old" else "My Chunks"
    wanted = f"SELECT indexdef FROM pg_indexes WHERE tablename = '{table}' AND indexname LIKE '%document_place'"
    with psycopg.connect(database_url.replace("+psycopg", "", 1)) as connection:
        ((index,),) = connection.execute(wanted.encode()).fetchall()
    assert ("document_id" if kind == "columns" else "->> 'document_id'") in index


def test_another_collection_stays_as_it_is(stored: Make) -> None:
    store, other = (stored("old", split("a.pdf"), table=name) for name in ("one", "two"))
    number_stored_chunks(store)
    assert places(store, "a.pdf")
    assert not places(other, "a.pdf")


def test_what_cannot_be_numbered_is_an_error(stored: Make) -> None:
    for other in (InMemoryVectorStore(WordEmbeddings()), "chunks"):
        with pytest.raises(ConfigError, match="PGVectorStore, AsyncPGVectorStore, PGVector, Chroma or Qdrant"):
            number_stored_chunks(other)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one whose table has a column 'document_id' or JSON metadata"):
        number_stored_chunks(stored("json", [Document("Text.")], store_metadata=False))


# Tables that name document and index in several ways

OLDER = [Document(f"Old {at}.", metadata={"source": "old.txt", "seq": at}) for at in range(5)]
NEWER = [Document(f"New {at}.", metadata={"doc": "new", "source": "new.txt", "n": at}) for at in range(5)]
SEVERAL = MetadataKeys(document_id=("doc", "source"), index=("n", "seq"))


@pytest.mark.parametrize("kind", ["json", "old"])
async def test_all_names_are_read_from_json_metadata(stored: Make, kind: str) -> None:
    store = PGVectorNeighbors(await asyncio.to_thread(stored, kind, [*OLDER, *NEWER]), keys=SEVERAL)
    refs = [ChunkRef("old.txt", 1), ChunkRef("old.txt", 2), ChunkRef("new", 3), ChunkRef("new", 9), ChunkRef("gone", 0)]
    for found in (store.fetch(refs), await store.afetch(refs)):
        assert sorted(each.text for each in found) == ["New 3.", "Old 1.", "Old 2."]
    whole = store.fetch([ChunkRef("old.txt"), ChunkRef("new"), ChunkRef("gone")])
    assert sorted(each.text for each in whole) == sorted(each.page_content for each in (*OLDER, *NEWER))


def test_rows_under_other_names_are_not_looked_at_where_the_first_has_the_document(
    stored: Make, database_url: str
) -> None:
    store = stored("json", [*OLDER, *NEWER])
    seen: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(store._engine._pool.sync_engine, "before_cursor_execute", note)
    for ref in (ChunkRef("new", 1), ChunkRef("old.txt", 1)):
        PGVectorNeighbors(store, keys=SEVERAL).fetch([ref])
    with psycopg.connect(database_url.replace("+psycopg", "", 1)) as connection:
        for (statement, parameters), is_first in zip(seen, (True, False), strict=True):
            plan = connection.execute(b"EXPLAIN ANALYZE " + statement.encode(), parameters).fetchall()
            assert any("never executed" in line for (line,) in plan) == is_first
