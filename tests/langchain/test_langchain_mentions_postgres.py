"""A document that a hit mentions by its title joins a chain's context from PostgreSQL, if the caller may read it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy import create_engine, event

from ctxassembly import AssemblyConfig, ChunkRef, MemoryIndex, MetadataKeys, PostgresIndex, RetrievalConfig
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    PGVectorNeighbors,
    number_chunks,
    number_stored_chunks,
)
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_samples import WordEmbeddings

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
CONFIG = AssemblyConfig(max_tokens=200)
KINDS = ["json", "columns", "old"]


def document(title: str, content: str, tenant: str) -> Document:
    return Document(content, metadata={"source": f"{tenant}/{title}.txt", "title": title, "tenant": tenant})


def corpus(tenant: str, born: str) -> list[Document]:
    return [
        document("Lighthouse Choir", "The founder of the Lighthouse Choir is Marta Quist.", tenant),
        document("Marta Quist (singer)", f"She came from {born}, and sang there as a child until she left.", tenant),
        *(
            document(f"{name} Choir", f"The {name} choir of the city has a founder, born in the city.", tenant)
            for name in ("Northern", "Southern")
        ),
    ]


SPLIT = number_chunks(
    RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=20, add_start_index=True).split_documents(
        [*corpus("north", "Aarhus"), *corpus("south", "Seville")]
    )
)


class Stores:
    """Makes vector stores of each kind over one database, and disposes of their engines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engines: list[Any] = []

    def make(self, kind: str, embeddings: Embeddings | None = None) -> Any:
        embeddings = embeddings or WordEmbeddings()
        if kind == "old":
            connection = create_engine(self.url)
            self.engines.append(connection)
            store: Any = PGVector(embeddings, connection=connection)
        else:
            engine = PGEngine.from_connection_string(self.url)
            self.engines.append(engine)
            named = {"document_id": "text", "chunk_index": "integer", "tenant": "text"} if kind == "columns" else {}
            columns = [Column(*each) for each in named.items()]
            engine.init_vectorstore_table("documents", 64, id_column=Column("id", "text"), metadata_columns=columns)
            store = PGVectorStore.create_sync(
                engine, embeddings, "documents", id_column="id", metadata_columns=list(named)
            )
        store.add_documents(SPLIT)
        return store

    def dispose(self) -> None:
        for engine in self.engines:
            asyncio.run(engine.close()) if isinstance(engine, PGEngine) else engine.dispose()


@pytest.fixture
def stores(database_url: str) -> Iterator[Stores]:
    made = Stores(database_url)
    yield made
    made.dispose()


def text_of(documents: list[Document]) -> str:
    return "\n\n".join(one.page_content for one in documents)


def chain(store: Any, tenant: str) -> ContextAssemblyRetriever:
    """An ordinary retriever with a user's filter, whose neighbors come from the vector store itself."""
    return ContextAssemblyRetriever.from_vectorstore(
        store, config=CONFIG, search_kwargs={"k": 3, "filter": {"tenant": tenant}}
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_the_named_document_joins_under_the_filter_of_the_search(stores: Stores, kind: str) -> None:
    store = stores.make(kind)
    assert "Aarhus" not in text_of(chain(store, "north").invoke(QUESTION))  # no index of titles yet
    number_stored_chunks(store)
    for tenant, own, other in (("north", "Aarhus", "Seville"), ("south", "Seville", "Aarhus")):
        found = text_of(chain(store, tenant).invoke(QUESTION))
        assert own in found
        assert other not in found
        if kind != "old":  # a PGVector made for sync calls
            assert text_of(await chain(store, tenant).ainvoke(QUESTION)) == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_the_filter_excludes_never_leaves_the_database(stores: Stores, kind: str) -> None:
    store = stores.make(kind)
    number_stored_chunks(store)
    seen: list[str] = []

    class Watched(PGVectorNeighbors):
        def _to_chunks(self, rows: Any) -> Any:
            rows = list(rows)
            seen.extend(content for _, content, *_ in rows)
            return super()._to_chunks(rows)

    assembler = ContextAssembler(config=CONFIG, store=Watched(store))
    retriever = ContextAssemblyRetriever.from_vectorstore(
        store, assembler=assembler, search_kwargs={"k": 3, "filter": {"tenant": "north"}}
    )
    assert "Aarhus" in text_of(retriever.invoke(QUESTION))
    assert any("Aarhus" in content for content in seen)
    assert not any("Seville" in content for content in seen)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_joins_where_the_filter_is_not_seen(stores: Stores, kind: str) -> None:
    store = stores.make(kind)
    number_stored_chunks(store)
    hits = store.as_retriever(search_kwargs={"k": 3, "filter": {"tenant": "north"}}).invoke(QUESTION)
    assembler = ContextAssembler(config=CONFIG, store=PGVectorNeighbors(store))
    found = text_of(assembler.invoke({"documents": hits, "query": QUESTION}))
    assert "Aarhus" not in found
    assert "Seville" not in found


def test_another_collection_of_the_same_table_is_not_read(stores: Stores) -> None:
    store = stores.make("old")
    number_stored_chunks(store)
    other = PGVector(WordEmbeddings(), connection=store._engine, collection_name="other")
    documents = [one for one in SPLIT if "Quist" not in one.metadata["title"]]
    other.add_documents(documents, ids=[f"other {one.id}" for one in documents])
    assert "Aarhus" not in text_of(chain(other, "north").invoke(QUESTION))
    assert "Aarhus" in text_of(chain(store, "north").invoke(QUESTION))


def test_a_table_without_the_index_is_not_read_for_titles(stores: Stores) -> None:
    store = stores.make("old")
    ref = ChunkRef("x", named_in="Marta Quist")
    sent: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        sent.append((statement, parameters))

    event.listen(store._engine, "before_cursor_execute", note)
    assert PGVectorNeighbors(store).fetch([ref]) == []
    event.remove(store._engine, "before_cursor_execute", note)
    ((statement, parameters),) = sent
    with store._engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN (ANALYZE) {statement}", parameters).scalars().all()
    assert any("One-Time Filter" in line for line in plan)
    scans = [line for line in plan if "on langchain_pg_embedding" in line]
    assert scans
    assert all("never executed" in line for line in scans)


def test_an_index_of_our_own_has_the_context_of_one_in_memory(database_url: str) -> None:
    index = PostgresIndex.create(database_url, dimensions=4)
    chunks = [chunk_from(one, MetadataKeys()) for one in SPLIT]
    index.add(chunks, progress=False)

    def context(of: Any) -> str:
        assembler = ContextAssembler(config=CONFIG)
        retriever = ContextRetriever(of, config=RetrievalConfig(strategy="keyword", limit=3), assembler=assembler)
        return text_of(retriever.with_filter({"tenant": "north"}).invoke(QUESTION))

    assert "Aarhus" in context(index)
    assert "Seville" not in context(index)
    assert context(index) == context(MemoryIndex(chunks))
