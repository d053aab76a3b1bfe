"""Errors of the driver as this package's own: with parameter, range and value, and without statements."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_postgres import Column, PGEngine, PGVectorStore

from ctxassembly import (
    Chunk,
    ChunkRef,
    ConfigError,
    CtxAssemblyError,
    InputError,
    RetrievalConfig,
    StoreError,
    aretrieve,
    retrieve,
)
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.connection import get_engine
from postgres_samples import chunks, embed, embed_query, execute

KEYWORD, VECTOR = RetrievalConfig(strategy="keyword"), RetrievalConfig(strategy="vector")


@pytest.mark.parametrize("number", ["a", "0.5", None, 1e300, -1e39, float("inf"), float("nan"), 10**400])
def test_vectors_of_what_the_column_can_not_hold(index: PostgresIndex, number: Any):
    vector: Sequence[Any] = [number] * 16
    new = chunks(["new"], document_id="new")
    for named in ({"vectors": [vector]}, {"embed": lambda texts: [vector for _ in texts]}):
        with pytest.raises(ConfigError, match=r"embed must be a function that gives finite numbers.*, got \["):
            index.add(new, progress=False, **named)
    if number != "0.5":  # a text that is a number is read as one
        with pytest.raises((ConfigError, StoreError), match=r"embed must|convert"):
            retrieve("water", VECTOR, index=index, embed=lambda _: vector)
    assert index.fetch([ChunkRef("new", 0)]) == []


def test_half_precision_has_a_smaller_range(database_url: str):
    index = PostgresIndex.create(database_url, dimensions=2500)
    with pytest.raises(ConfigError, match="from -65504 to 65504"):
        index.add(chunks(["new"]), vectors=[[70_000.0] * 2500], progress=False)
    with pytest.raises(ConfigError, match="from -65504 to 65504"):
        retrieve("water", VECTOR, index=index, embed=lambda _: [70_000.0] * 2500)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, "x", 1.5])
@pytest.mark.parametrize("name", ["index", "start"])
def test_a_place_that_a_column_has_no_room_for(index: PostgresIndex, name: str, number: Any):
    given: dict[str, Any] = {"index": 0, name: number}
    with pytest.raises(InputError, match=rf"^{name} of a chunk must be an integer from -2\*\*63 to 2\*\*63 - 1, got "):
        index.add([Chunk("new#0", "new", "new", **given)], embed=embed, progress=False)
    assert index.add([Chunk("new#0", "new", "new", 2**63 - 1)], embed=embed, progress=False).added == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://localhost:abc/db", "url must be a URL such as"),
        ("nonsense", "url must be a URL such as"),
    ],
)
def test_a_url_that_no_server_can_have(url: str, said: str):
    with pytest.raises(ConfigError, match=said):
        PostgresIndex.create(url)


def test_a_language_is_looked_up_with_its_schema(database_url: str):
    for language in ("a.b", "public.english", "pg_catalog.nope"):
        with pytest.raises(ConfigError, match=rf"language must be .*\(arabic.*got '{language}'"):
            PostgresIndex.create(database_url, language=language)
    assert PostgresIndex.create(database_url, dimensions=16, language="pg_catalog.english").check().chunks == 0
    engine = PGEngine.from_connection_string(database_url)
    engine.init_vectorstore_table("theirs", 16, id_column=Column("id", "text"))
    embeddings = DeterministicFakeEmbedding(size=16)
    store = PGVectorStore.create_sync(engine, embeddings, "theirs", id_column="id")
    with pytest.raises(ConfigError, match=r"language must be .*got 'a.b'"):
        PostgresIndex.attach(store, language="a.b")
    asyncio.run(engine.close())


def test_an_error_has_no_statement_and_no_parameters(database_url: str, index: PostgresIndex):
    execute(database_url, "DROP TABLE chunks")
    with pytest.raises(StoreError) as of_store:
        index.fetch([ChunkRef("a private name", 0)])
    with pytest.raises(StoreError) as of_search:
        retrieve("a private question", index=index, embed=embed_query)
    with pytest.raises(StoreError) as awaited:
        asyncio.run(aretrieve("a private question", index=index, embed=embed_query))
    with pytest.raises(StoreError) as of_upkeep:
        index.check()
    assert isinstance(of_store.value.__cause__, psycopg.errors.UndefinedTable)
    for caught in (of_store, of_search, awaited, of_upkeep):
        error: BaseException | None = caught.value
        assert isinstance(error, CtxAssemblyError)
        assert 'relation "public.chunks" does not exist' in str(error)
        assert len(str(error)) < 700
        while error is not None:
            assert "[SQL" not in str(error)
            assert "private" not in str(error)
            assert "sqlalche.me" not in str(error)
            error = error.__cause__


def test_a_reference_that_no_column_can_hold_finds_nothing(index: PostgresIndex):
    assert index.fetch([ChunkRef("lab", 2**70), ChunkRef("lab\0")]) == []


def test_queries_that_wait_for_a_connection_do_not_blame_the_server(index: PostgresIndex):
    hurried = replace(index, timeout_seconds=0.5)
    hurried.fetch([ChunkRef("lab", 0)])
    with ExitStack() as stack:
        for _ in range(15):
            stack.enter_context(get_engine(hurried.server, hurried.timeout_seconds).connect())
        with pytest.raises(TimeoutError, match=r"no connection to Postgres was free in time.* pool_size"):
            hurried.fetch([ChunkRef("lab", 0)])
    assert hurried.fetch([ChunkRef("lab", 0)])
