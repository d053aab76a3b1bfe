"""`enrich` over tables in PostgreSQL: our own, langchain-postgres' and LlamaIndex's."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.postgres import PGVectorStore as LlamaIndexPGVectorStore
from sqlalchemy import NullPool, make_url

from ctxassembly import ConfigError, RetrievalConfig, assemble, retrieve
from ctxassembly.answering import AskModel
from ctxassembly.data.requests import FindTerms
from ctxassembly.enrichment import (
    EnrichmentConfig,
    enrich,
    estimate_enrichment,
)
from ctxassembly.stores.postgres import PostgresIndex
from enrichment_samples import TEXTS, Scripted, chunks, given, notes_on
from postgres_samples import embed, embed_query, execute

KEYWORD = RetrievalConfig(strategy="keyword")
HIDDEN = ("kontext", "frage", "Zusammenhang", "geprüft")


class Hashed(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


@pytest.fixture
def own(database_url: str) -> PostgresIndex:
    index = PostgresIndex.create(database_url, dimensions=16)
    index.add(chunks(), embed=embed, progress=False)
    return index


@pytest.fixture
def engine(database_url: str) -> Iterator[PGEngine]:
    engine = PGEngine.from_connection_string(database_url, connect_args={"prepare_threshold": None})
    yield engine
    asyncio.run(engine.close())


def langchain_store(engine: PGEngine, *, plain: bool = False) -> PGVectorStore:
    """With columns of document and place and ids of its own, or as it is by default: UUIDs, and all in JSON."""
    if plain:
        engine.init_vectorstore_table("documents", 16)
        store = PGVectorStore.create_sync(engine, Hashed(), "documents")
    else:
        columns = [Column("document_id", "text"), Column("chunk_index", "integer")]
        engine.init_vectorstore_table("documents", 16, id_column=Column("id", "text"), metadata_columns=columns)
        names = [column.name for column in columns]
        store = PGVectorStore.create_sync(engine, Hashed(), "documents", id_column="id", metadata_columns=names)
    store.add_documents([document(chunk, plain=plain) for chunk in chunks()])
    return store


def document(chunk: Any, *, plain: bool = False) -> Document:
    metadata = {**chunk.metadata, "document_id": chunk.document_id, "chunk_index": chunk.index}
    return Document(id=None if plain else chunk.id, page_content=chunk.text, metadata=metadata)


def llamaindex_store(database_url: str) -> LlamaIndexPGVectorStore:
    url = make_url(database_url)
    store = LlamaIndexPGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="chunks",
        embed_dim=16,
        create_engine_kwargs={"poolclass": NullPool},
    )
    nodes = [
        TextNode(
            id_=chunk.id,
            text=chunk.text,
            metadata={**chunk.metadata, "chunk_index": chunk.index},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.document_id)},
            embedding=embed_query(chunk.text),
        )
        for chunk in chunks()
    ]
    store.add(nodes)
    return store


Opened = Callable[[], PostgresIndex]


@pytest.fixture(params=["own", "langchain", "langchain plain", "llamaindex"])
def opened(request: pytest.FixtureRequest, database_url: str) -> Opened:
    """A function that gives the index over a table that is there, as another process would make it."""
    if request.param == "own":
        request.getfixturevalue("own")
        return lambda: PostgresIndex.create(database_url, dimensions=16)
    if request.param == "llamaindex":
        of_nodes = llamaindex_store(database_url)
        return lambda: PostgresIndex.attach(of_nodes)
    store = langchain_store(request.getfixturevalue("engine"), plain=request.param == "langchain plain")
    return lambda: PostgresIndex.attach(store)


def texts(index: PostgresIndex, query: str) -> list[str]:
    return [hit.chunk.text for hit in retrieve(query, KEYWORD, index=index).hits]


def stored(url: str, columns: str, table: str = "chunks") -> list[tuple[Any, ...]]:
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        return connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1".encode()).fetchall()


# Effect


@pytest.mark.parametrize("word", ["visitfrage2", "visitkontext2"])
def test_a_chunk_is_found_by_words_of_its_notes_alone(opened: Opened, word: str):
    index = opened().with_enrichment()
    assert texts(index, word) == []
    assert enrich(index, Scripted(), progress=False).documents == 3
    assert texts(index, word)[:1] == [TEXTS["visit"][1]]
    assert texts(opened(), word)[:1] == [TEXTS["visit"][1]]
    (term,) = index.find_terms(FindTerms(word, 9, 0)).terms
    assert term.chunk_count == 1


def test_a_chunk_is_found_by_the_vector_of_its_context(opened: Opened):
    index = opened().with_enrichment()
    config = RetrievalConfig(strategy="vector", min_similarity=0.1, limit=1)
    query = "zusammenhang: visitkontext2."

    def nearest() -> tuple[str, float]:
        [found] = retrieve(query, config, index=index, embed=embed_query).chunks
        return found.chunk.text, found.similarity or 0.0

    before = nearest()
    enrich(index, Scripted(), progress=False)
    assert nearest() == before
    result = enrich(index, Scripted(lambda _: "not asked"), embed=Hashed(), progress=False)
    assert (result.documents, result.estimate.calls) == (3, 0)
    text, similarity = nearest()
    assert text == TEXTS["visit"][1]
    expected = embed_query(f"Zusammenhang: visitkontext2.\n\n{text}")
    assert similarity == pytest.approx(sum(map(float.__mul__, expected, embed_query(query))), abs=1e-5)
    assert similarity > before[1]


def test_a_summary_stands_once_and_what_chunks_are_found_by_nowhere(opened: Opened):
    index = opened().with_enrichment()
    enrich(index, Scripted(), embed=Hashed(), progress=False)
    hits = retrieve("labkontext1 labfrage1", KEYWORD, index=index).hits
    context = assemble(hits[:1], store=index.with_filter(None), query="labkontext1")
    assert context.text.count("Überblick lab.") == 1
    assert context.text.index("Überblick lab.") < context.text.index(TEXTS["lab"][0])
    assert TEXTS["lab"][1] in context.text  # a neighbor, which brings no second summary
    for hidden in HIDDEN:
        assert hidden not in context.text
        # The words of the question itself are among the matches of a hit.
        shown = repr((context.citations, context.provenance, context.passages, [hit.chunk for hit in hits]))
        assert hidden not in shown.replace("labkontext1", "").replace("labfrage1", "")


# What must not act


def test_a_framework_goes_on_writing_to_its_table(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    index = PostgresIndex.attach(store).with_enrichment()
    enrich(index, Scripted(), progress=False)
    store.add_documents([Document(id="new", page_content="Juniper berries", metadata={"document_id": "new"})])
    assert texts(index, "juniper") == ["Juniper berries"]
    assert [one.id for one in store.similarity_search("Juniper berries", k=1)] == ["new"]
    model = Scripted()
    assert (enrich(index, model, progress=False).documents, len(model.requests)) == (1, 1)


# The columns


def test_a_table_without_columns_says_how_to_get_them(engine: PGEngine):
    store = langchain_store(engine)
    index = PostgresIndex.attach(store)
    for call in (lambda: enrich(index, Scripted(), progress=False), lambda: estimate_enrichment(index)):
        with pytest.raises(ConfigError, match=r"index = index\.with_enrichment\(\)"):
            call()
    assert index.with_enrichment().table == index.with_enrichment().table
    assert enrich(PostgresIndex.attach(store), Scripted(), progress=False).documents == 3
    assert PostgresIndex.attach(store, dry_run=True).steps == ()


def test_who_may_not_change_the_table_is_told_so(engine: PGEngine, database_url: str):
    index = PostgresIndex.attach(langchain_store(engine))
    execute(
        database_url,
        "DROP ROLE IF EXISTS notes_reader",
        "CREATE ROLE notes_reader LOGIN",
        "GRANT SELECT ON documents TO notes_reader",
    )
    theirs = replace(index, server=index.server._replace(url=database_url.replace("postgres@", "notes_reader@")))
    try:
        with pytest.raises(ConfigError, match="one whose table this user owns"):
            theirs.with_enrichment()
    finally:
        execute(database_url, "DROP OWNED BY notes_reader", "DROP ROLE notes_reader")


# Resuming and renewing


def _killed(url: str) -> None:
    """Dies amid its second document, as by SIGKILL: no handler runs."""

    def answer(request: AskModel) -> Any:
        if given(request)["title"] == "lab.pdf":
            os._exit(9)
        return notes_on(request)

    index = PostgresIndex.create(url, dimensions=16)
    enrich(index, Scripted(answer), EnrichmentConfig(concurrency=1), embed=embed, progress=False)


@pytest.mark.pooled
def test_a_run_that_was_killed_goes_on_where_it_was(own: PostgresIndex, database_url: str):
    process = multiprocessing.get_context("spawn").Process(target=_killed, args=(database_url,))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    marks = dict(stored(database_url, "id, ctxassembly_notes_mark"))
    assert [id_ for id_, mark in marks.items() if mark] == ["diet#0"]
    model = Scripted()
    assert enrich(own, model, embed=embed, progress=False).documents == 2
    assert model.titles == ["lab", "visit"]
    assert texts(own, "labfrage1")[:1] == [TEXTS["lab"][0]]


def test_a_document_that_changes_while_the_model_writes_is_left_alone(own: PostgresIndex, database_url: str):
    def answer(request: AskModel) -> Any:
        if given(request)["title"] == "lab.pdf":
            execute(database_url, "UPDATE chunks SET content = 'Other.' WHERE id = 'lab#1'")
        return notes_on(request)

    result = enrich(own, Scripted(answer), embed=embed, progress=False)
    assert (result.documents, result.failed) == (2, {"lab": "its chunks were changed meanwhile"})
    columns = dict(stored(database_url, "id, ctxassembly_notes_mark"))
    assert (columns["lab#0"], columns["lab#1"]) == (None, None)
    assert enrich(own, Scripted(), embed=embed, progress=False).documents == 1


def test_only_the_documents_under_a_filter_are_asked_for(opened: Opened):
    model = Scripted()
    enrich(opened().with_enrichment().with_filter({"source": "lab.pdf"}), model, progress=False)
    assert model.titles == ["lab"]


# At the same time


def test_notes_on_a_document_are_of_its_own_tenant_alone(own: PostgresIndex, engine: PGEngine):
    """In a table of our own, and in one of LangChain's, whose chunks have a column of the tenant or none."""
    made = [
        replace(chunk, id=f"{tenant} {chunk.id}", document_id="handbook.pdf", metadata={"tenant": tenant})
        for tenant in ("acme", "globex")
        for chunk in chunks({tenant: (f"{tenant} one.", f"{tenant} two.")})
    ]
    own.add(made, embed=embed, progress=False)
    store = langchain_store(engine, plain=True)
    store.add_documents([document(chunk, plain=True) for chunk in made])
    for index in (own, PostgresIndex.attach(store).with_enrichment()):
        model = Scripted()
        assert enrich(index, model, progress=False).estimate.split_by == ("tenant",)
        texts = [" ".join(one["text"] for one in given(request)["chunks"]) for request in model.requests]
        assert sorted(text for text in texts if "two" in text) == ["acme one. acme two.", "globex one. globex two."]
        assert enrich(index, model, progress=False).documents == 0  # with the notes in the rows, too
