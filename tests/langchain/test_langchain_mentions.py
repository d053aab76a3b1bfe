"""A document that a hit mentions by its title joins a chain's context, if the caller may read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_postgres import PGVector
from langchain_text_splitters import RecursiveCharacterTextSplitter
from sqlalchemy import event

from ctxassembly import AssemblyConfig, ChunkRef, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    PGVectorNeighbors,
    number_chunks,
    number_stored_chunks,
)
from langchain_samples import WordEmbeddings, chunks, vector_store
from postgres_stores import KINDS, PostgresStores

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
CONFIG = AssemblyConfig(max_tokens=200)


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


COLUMNS = {"document_id": "text", "chunk_index": "integer", "tenant": "text"}


@pytest.fixture
def stores(database_url: str) -> Iterator[PostgresStores]:
    with PostgresStores(database_url) as made:
        yield made


def text_of(documents: list[Document]) -> str:
    return "\n\n".join(one.page_content for one in documents)


def chain(store: Any, tenant: str) -> ContextAssemblyRetriever:
    """An ordinary retriever with a user's filter, whose neighbors come from the vector store itself."""
    return ContextAssemblyRetriever.from_vectorstore(
        store, config=CONFIG, search_kwargs={"k": 3, "filter": {"tenant": tenant}}
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_the_named_document_joins_under_the_filter_of_the_search(stores: PostgresStores, kind: str) -> None:
    store = stores.make(kind, SPLIT, columns=COLUMNS)
    assert "Aarhus" not in text_of(chain(store, "north").invoke(QUESTION))  # no index of titles yet
    number_stored_chunks(store)
    for tenant, own, other in (("north", "Aarhus", "Seville"), ("south", "Seville", "Aarhus")):
        found = text_of(chain(store, tenant).invoke(QUESTION))
        assert own in found
        assert other not in found
        if kind != "old":  # a PGVector made for sync calls
            assert text_of(await chain(store, tenant).ainvoke(QUESTION)) == found


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_the_filter_excludes_never_leaves_the_database(stores: PostgresStores, kind: str) -> None:
    store = stores.make(kind, SPLIT, columns=COLUMNS)
    number_stored_chunks(store)
    seen: list[str] = []

    class Watched(PGVectorNeighbors):
        def _to_chunks(self, rows: Any, *more: Any) -> Any:
            rows = list(rows)
            seen.extend(content for _, content, *_ in rows)
            return super()._to_chunks(rows, *more)

    assembler = ContextAssembler(config=CONFIG, store=Watched(store))
    retriever = ContextAssemblyRetriever.from_vectorstore(
        store, assembler=assembler, search_kwargs={"k": 3, "filter": {"tenant": "north"}}
    )
    assert "Aarhus" in text_of(retriever.invoke(QUESTION))
    assert any("Aarhus" in content for content in seen)
    assert not any("Seville" in content for content in seen)


def test_another_collection_of_the_same_table_is_not_read(stores: PostgresStores) -> None:
    store = stores.make("old", SPLIT)
    number_stored_chunks(store)
    other = PGVector(WordEmbeddings(), connection=store._engine, collection_name="other")
    documents = [one for one in SPLIT if "Quist" not in one.metadata["title"]]
    other.add_documents(documents, ids=[f"other {one.id}" for one in documents])
    assert "Aarhus" not in text_of(chain(other, "north").invoke(QUESTION))
    assert "Aarhus" in text_of(chain(store, "north").invoke(QUESTION))


def test_a_table_without_the_index_is_not_read_for_titles(stores: PostgresStores) -> None:
    store = stores.make("old", SPLIT)
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


# In memory

INDEX = MemoryIndex(chunks(SPLIT))


async def test_in_memory_it_joins_under_the_filter_of_the_search_and_of_an_index() -> None:
    for tenant, own, other in (("north", "Aarhus", "Seville"), ("south", "Seville", "Aarhus")):
        made: Any = ContextAssemblyRetriever.from_vectorstore(
            vector_store(SPLIT),
            assembler=ContextAssembler(config=CONFIG, store=INDEX),
            search_kwargs={"k": 3, "filter": lambda one, tenant=tenant: one.metadata["tenant"] == tenant},
        )
        keyword = RetrievalConfig(strategy="keyword", limit=3)
        indexed = ContextRetriever(INDEX, config=keyword, assembler=ContextAssembler(config=CONFIG))
        for retriever in (made, indexed.with_filter({"tenant": tenant})):
            found = text_of(retriever.invoke(QUESTION))
            assert own in found
            assert other not in found
            assert text_of(await retriever.ainvoke(QUESTION)) == found


def test_nothing_joins_where_the_filter_is_not_seen() -> None:
    hits = [one for one in SPLIT if one.metadata["tenant"] == "north" and "Quist" not in one.metadata["title"]]
    assembler = ContextAssembler(config=CONFIG, store=INDEX)
    found = text_of(assembler.invoke({"documents": hits, "query": QUESTION}))
    assert "Aarhus" not in found
    assert "Seville" not in found
