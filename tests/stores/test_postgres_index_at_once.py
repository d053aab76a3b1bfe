"""One table used by many at once: threads, processes, event loops, and callers that leave."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from langchain_postgres import PGEngine

from attached_samples import langchain_store, names, searched
from ctxassembly import ChunkRef, InputError, RetrievalConfig, StoreError, aretrieve, retrieve
from ctxassembly.data.requests import SearchChunks
from ctxassembly.stores.ingest import IngestReport
from ctxassembly.stores.postgres import PostgresIndex, ingest
from ctxassembly.stores.postgres.connection import get_engine
from postgres_samples import TEXTS, chunks, embed, embed_query, rows_of, vectors


def together(*calls: Callable[[], Any]) -> list[Any]:
    """The results of `calls`, begun at the same moment."""
    ready = threading.Barrier(len(calls))

    def begin(call: Callable[[], Any]) -> Any:
        ready.wait(60)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(begin, calls))


@contextmanager
def held(url: str, statement: str) -> Any:
    """Hold what `statement` locks until the context ends."""
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        connection.execute(statement.encode())
        yield


# The table made ready


@pytest.mark.pooled
def test_two_threads_attach_a_new_table(engine: PGEngine):
    store = langchain_store(engine)
    for index in together(*[lambda: PostgresIndex.attach(store)] * 4):
        assert searched(index, "wheelchair") == ["lab#3"]
    assert PostgresIndex.attach(store, dry_run=True).steps == ()


def test_who_finds_nothing_missing_waits_for_nobody(engine: PGEngine, database_url: str):
    """Workers that start while another index is built on the table."""
    store = langchain_store(engine)
    PostgresIndex.attach(store)
    with held(database_url, """SELECT pg_advisory_xact_lock(hashtext('"public"."documents"'))"""):
        assert searched(PostgresIndex.attach(store), "wheelchair") == ["lab#3"]


@pytest.mark.pooled
def test_threads_create_the_same_table(database_url: str):
    made = together(*[lambda: PostgresIndex.create(database_url, dimensions=16)] * 4)
    assert {index.table.name for index in made} == {"chunks"}
    assert made[0].add(chunks(), progress=False).added == 5


# Chunks written


@pytest.mark.pooled
def test_the_same_documents_are_added_twice_at_once(index: PostgresIndex, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ingest, "BATCH_SIZE", 7)
    stored = [one for name in "abcd" for one in chunks([f"{name} {at}" for at in range(40)], name)]
    added = together(*[lambda: index.add(stored, vectors(160, 16), progress=False)] * 3)
    assert all((one.added + one.unchanged, one.deleted) == (160, 0) for one in added)
    assert len(index.fetch([ChunkRef(name) for name in "abcd"])) == 160
    assert index.add(stored, vectors(160, 16), progress=False) == IngestReport(0, 160, 0)


def test_of_two_versions_of_a_document_one_stands_whole(index: PostgresIndex):
    """Each run deletes what the other has written of the document: one of them would have left nothing."""
    first, second = ([replace(one, id=f"{side}{one.id}") for one in chunks()] for side in "ab")
    both_wrote = threading.Barrier(2)
    written = ingest._write_rows

    def write(*given: Any) -> None:
        written(*given)
        both_wrote.wait(60)

    def outcome(mine: Any) -> IngestReport | StoreError:
        try:
            return index.add(mine, replace=True, progress=False)
        except StoreError as error:
            return error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "_write_rows", write)
        outcomes = together(lambda: outcome(first), lambda: outcome(second))
    assert {type(one) for one in outcomes} == {IngestReport, StoreError}
    (error,) = (one for one in outcomes if isinstance(one, StoreError))
    assert "another run" in str(error)
    assert "'lab'" in str(error)
    assert {chunk.id[0] for chunk in index.fetch([ChunkRef("lab")])} in ({"a"}, {"b"})
    assert len(index.fetch([ChunkRef("lab")])) == len(TEXTS)


def test_two_loaders_of_halves_of_a_document_are_refused_and_both_halves_are_kept(index: PostgresIndex):
    both_wrote = threading.Barrier(2)
    written = ingest._write_rows

    def write(*given: Any) -> None:
        written(*given)
        both_wrote.wait(60)

    def load(half: Any) -> None:
        with pytest.raises(InputError, match="document 'lab' has stored chunks"):
            index.add(half, progress=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "_write_rows", write)
        together(lambda: load(chunks()[:2]), lambda: load(chunks()[2:]))
    assert len(index.fetch([ChunkRef("lab")])) == len(TEXTS)
    assert index.add(chunks(), progress=False) == IngestReport(0, 5, 0)


def load_shuffled(url: str, loader: int, queue: Any) -> None:
    """Add documents that all have the same new words, in an order of their own."""
    ingest.BATCH_SIZE = 10
    words = [f"word{at}" for at in range(2_000)]
    numbers = random.Random(loader)
    texts = [" ".join(numbers.sample(words, len(words))) for _ in range(3)]
    texts += [f"only{loader}x{at} " + " ".join(numbers.sample(words, 50)) for at in range(57)]
    index = PostgresIndex.create(url, dimensions=16, hnsw=False)
    queue.put(index.add(chunks(texts, f"d{loader}"), vectors(60, 16), progress=False).added)


def test_two_processes_that_load_lose_no_words(database_url: str):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    loaders = [context.Process(target=load_shuffled, args=(database_url, loader, queue)) for loader in range(2)]
    for loader in loaders:
        loader.start()
    assert [queue.get(timeout=120) for _ in loaders] == [60] * 2
    for process in loaders:
        process.join(60)
    stored = {word for (word,) in rows_of(database_url, "SELECT word FROM chunks_lexemes")}
    in_texts = {word for (word,) in rows_of(database_url, "SELECT unnest(string_to_array(content, ' ')) FROM chunks")}
    assert stored == in_texts
    assert len(stored) == 2_000 + 2 * 57


def test_indexes_are_made_after_loading(database_url: str):
    loading = PostgresIndex.create(database_url, dimensions=16, hnsw=False)
    loading.add(chunks(), embed=embed, progress=False)
    loading.refresh()
    hnsw = "SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%USING hnsw%'"
    assert rows_of(database_url, hnsw) == [(0,)]
    assert loading.check().missing_indexes == ()
    loaded = PostgresIndex.create(database_url, dimensions=16)
    assert loaded.check().missing_indexes == ("HNSW on the vectors",)
    loaded.refresh()
    assert rows_of(database_url, hnsw) == [(1,)]


# Event loops


def asked_in_a_loop(index: PostgresIndex, times: int = 5) -> list[list[str]]:
    async def ask() -> list[list[str]]:
        found = await asyncio.gather(
            *(aretrieve("wheelchair", RetrievalConfig(limit=1), index=index, embed=embed_query) for _ in range(times))
        )
        return [names(one.hits) for one in found]

    return asyncio.run(ask())


def test_two_loops_one_after_the_other_and_four_at_once(index: PostgresIndex):
    assert asked_in_a_loop(index) == asked_in_a_loop(index) == [["lab#3"]] * 5
    assert together(*[lambda: asked_in_a_loop(index)] * 4) == [[["lab#3"]] * 5] * 4


@pytest.mark.pooled
def test_eight_threads_ask_for_all_at_once(index: PostgresIndex):
    def asks() -> list[str]:
        found = retrieve("wheelchair", RetrievalConfig(limit=1), index=index, embed=embed_query)
        return names([*found.hits, *index.fetch([ChunkRef("lab", 4)])])

    assert together(*[asks] * 8) == [["lab#3", "lab#4"]] * 8
    assert get_engine(index.server, index.timeout_seconds).pool.checkedout() == 0  # type: ignore[attr-defined]


async def test_a_search_that_is_cancelled_leaves_no_broken_connection(index: PostgresIndex, database_url: str):
    index = replace(index, timeout_seconds=1.0)
    request = SearchChunks(5, embed_query("water"), None, None)
    pool: Any = get_engine(index.server, index.timeout_seconds).pool
    with held(database_url, "LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE"):
        searches = [asyncio.ensure_future(index.asearch(request)) for _ in range(5)]
        while pool.checkedout() < len(searches):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for search in searches:
            search.cancel()
        assert [type(one) for one in await asyncio.gather(*searches, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * len(searches)
        while pool.checkedout():  # noqa: ASYNC110 - the server was told, though the lock still stands
            await asyncio.sleep(0.01)
    for _ in range(3):
        assert all(len(found) == 5 for found in await asyncio.gather(*(index.asearch(request) for _ in range(8))))


# Other processes


def asked_in_fork(index: PostgresIndex, queue: Any) -> None:
    own = retrieve("wheelchair", RetrievalConfig(limit=1), index=index, embed=embed_query)
    queue.put(
        (names(own.hits), asked_in_a_loop(index, 2), together(*[lambda: names(index.fetch([ChunkRef("lab", 0)]))] * 2))
    )


@pytest.mark.filterwarnings("ignore:This process")  # it has threads, as every process that has asked has
def test_workers_forked_from_a_process_that_has_asked(index: PostgresIndex):
    """As gunicorn does it with --preload; parent and children go on asking at the same time."""
    assert asked_in_a_loop(index) == [["lab#3"]] * 5
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    workers = [context.Process(target=asked_in_fork, args=(index, queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
        assert asked_in_a_loop(index, 1) == [["lab#3"]]
    assert [queue.get(timeout=60) for _ in workers] == [(["lab#3"], [["lab#3"]] * 2, [["lab#0"]] * 2)] * 3
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert asked_in_a_loop(index) == [["lab#3"]] * 5
