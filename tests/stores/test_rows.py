"""Every store over PostgreSQL while the server says nothing, is busy, or has no connection left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.postgres import PGVectorStore as LlamaIndexPGVectorStore
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

import langchain_ctxassembly
import llamaindex_ctxassembly
from ctxassembly import Chunk, ChunkRef
from own_server import Server, server_of_ones_own

TIMEOUT = 0.4
REFS = [ChunkRef("A", 1), ChunkRef("A", 2)]
POOL: dict[str, Any] = {"pool_size": 1, "max_overflow": 0}
METADATA = [{"document_id": "A", "chunk_index": index} for index in range(4)]
TABLES = {"langchain": "chunks", "old": "langchain_pg_embedding", "llamaindex": "data_chunks"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_of_ones_own() as server:
        _fill(server)
        yield server


def _fill(server: Server) -> None:
    """The same four chunks in the table of each library."""
    engine = PGEngine.from_connection_string(server.url)
    engine.init_vectorstore_table(
        TABLES["langchain"], 4, id_column=Column("id", "text"),
        metadata_columns=[Column("document_id", "text"), Column("chunk_index", "integer")],
    )  # fmt: skip
    documents = [
        Document(id=f"A#{index}", page_content=f"Part {index}.", metadata=each) for index, each in enumerate(METADATA)
    ]
    _langchain(engine).add_documents(documents)
    asyncio.run(engine.close())
    old = create_engine(server.url)
    PGVector(DeterministicFakeEmbedding(size=4), connection=old).add_documents(documents)
    old.dispose()
    store = _llamaindex(server)
    store.add(
        [
            TextNode(
                id_=each.id, text=each.page_content, metadata=each.metadata, embedding=[1.0] * 4,
                relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="A")},
            )
            for each in documents
        ]
    )  # fmt: skip
    asyncio.run(store.close())


COLUMNS: dict[str, Any] = {"id_column": "id", "metadata_columns": ["document_id", "chunk_index"]}


def _langchain(engine: PGEngine) -> PGVectorStore:
    return PGVectorStore.create_sync(engine, DeterministicFakeEmbedding(size=4), TABLES["langchain"], **COLUMNS)


def _llamaindex(server: Server) -> LlamaIndexPGVectorStore:
    return LlamaIndexPGVectorStore(
        connection_string=server.with_driver("psycopg2"),
        async_connection_string=server.with_driver("asyncpg"),
        table_name="chunks",
        embed_dim=4,
        create_engine_kwargs=POOL,
        initialization_fail_on_error=True,
    )


Made = tuple[Any, Any]
"""A store of neighbors and the engine that it asks."""


async def _own_loop(server: Server, stack: AsyncExitStack, driver: str) -> Made:
    engine = PGEngine.from_connection_string(server.with_driver(driver), **POOL)
    stack.push_async_callback(engine.close)
    return await asyncio.to_thread(_langchain, engine), engine._pool


async def _callers_loop(server: Server, stack: AsyncExitStack, driver: str) -> Made:
    engine = create_async_engine(server.with_driver(driver), **POOL)
    stack.push_async_callback(engine.dispose)
    embeddings = DeterministicFakeEmbedding(size=4)
    store = await AsyncPGVectorStore.create(PGEngine.from_engine(engine), embeddings, TABLES["langchain"], **COLUMNS)
    return store, engine


async def _old(server: Server, stack: AsyncExitStack, driver: str) -> Made:
    engine = create_engine(server.with_driver(driver), **POOL)
    stack.callback(engine.dispose)
    return PGVector(DeterministicFakeEmbedding(size=4), connection=engine), engine


async def _old_async(server: Server, stack: AsyncExitStack, driver: str) -> Made:
    engine = create_async_engine(server.with_driver(driver), **POOL)
    stack.push_async_callback(engine.dispose)
    return PGVector(DeterministicFakeEmbedding(size=4), connection=engine, create_extension=False), engine


async def _llama(server: Server, stack: AsyncExitStack, driver: str) -> Made:
    store = _llamaindex(server)
    stack.push_async_callback(store.close)
    store._initialize()
    return store, store._engine if driver == "psycopg2" else store._async_engine


STORES = [
    ("langchain", _own_loop, "psycopg", "async"),
    ("langchain", _own_loop, "asyncpg", "sync"),
    ("langchain", _callers_loop, "asyncpg", "async"),
    ("old", _old, "psycopg", "sync"),
    ("old", _old_async, "psycopg", "async"),
    ("llamaindex", _llama, "psycopg2", "sync"),
    ("llamaindex", _llama, "asyncpg", "async"),
]


class Store:
    """A store of neighbors with the deadline of these tests, to be asked sync or async, and its one connection."""

    def __init__(self, kind: str, neighbors: Any, engine: Any, way: str) -> None:
        self.table, self.neighbors, self.engine, self.way = TABLES[kind], neighbors, engine, way

    async def fetch(self) -> list[Chunk]:
        if self.way == "sync":
            return await asyncio.to_thread(self.neighbors.fetch, REFS)
        return list(await self.neighbors.afetch(REFS))

    async def late(self) -> str:
        """What the error says of a fetch that must be late."""
        with pytest.raises(TimeoutError) as caught:
            await self.fetch()
        return str(caught.value)

    @asynccontextmanager
    async def no_connection_left(self) -> AsyncIterator[None]:
        """Somebody else has the only one of the pool."""
        if isinstance(self.engine, Engine):
            with self.engine.connect():
                yield
            return
        loop = getattr(getattr(self.neighbors, "vectorstore", None), "_engine", None)
        taken = self.engine.connect()
        await _on(getattr(loop, "_loop", None), taken.start())
        try:
            yield
        finally:
            await _on(getattr(loop, "_loop", None), taken.close())

    async def answers_again(self) -> None:
        """It answers, soon after the fault is over: a busy machine may need more than one attempt."""
        await _until(self._answers)

    async def _answers(self) -> bool:
        try:
            return {chunk.id for chunk in await self.fetch()} == {"A#1", "A#2"}
        except TimeoutError:
            return False


async def _on(loop: asyncio.AbstractEventLoop | None, call: Coroutine[Any, Any, Any]) -> None:
    """Await `call` on the event loop that the engine lives on, None if that is this one."""
    await (call if loop is None else asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop)))


async def _until(holds: Callable[[], Awaitable[bool]], seconds: float = 60) -> None:
    end = time.perf_counter() + seconds
    while not await holds():
        assert time.perf_counter() < end
        await asyncio.sleep(0.05)


@pytest.fixture(params=STORES, ids=lambda each: f"{each[0]}{each[1].__name__}-{each[2]}-{each[3]}")
async def store(server: Server, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    kind, make, driver, way = request.param
    package = llamaindex_ctxassembly if kind == "llamaindex" else langchain_ctxassembly
    async with AsyncExitStack() as stack:
        vectorstore, engine = await make(server, stack, driver)
        store = Store(kind, package.PGVectorNeighbors(vectorstore, timeout_seconds=TIMEOUT), engine, way)
        await store.answers_again()
        yield store


async def test_a_frozen_server_costs_the_timeout(server: Server, store: Store) -> None:
    with server.frozen():
        message = await store.late()
        # Now with no connection to be had: the first is being given up, and a new one isn't made.
        await store.late()
    assert f"no answer from Postgres within {TIMEOUT} s; the statement was given up" in message
    await store.answers_again()


async def test_the_server_gives_up_what_is_late_and_the_store_goes_on(server: Server, store: Store) -> None:
    async def nobody_waits() -> bool:
        return await asyncio.to_thread(server.waiting) == 0

    with server.locked(store.table):
        await store.late()
        await _until(nobody_waits)
    await store.answers_again()


async def test_the_timeout_covers_the_wait_for_a_connection(store: Store) -> None:
    async with store.no_connection_left():
        assert f"no answer from Postgres within {TIMEOUT} s" in await store.late()
        await store.late()
    await store.answers_again()
