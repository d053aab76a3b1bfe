"""An index beside others: the other clients of its pooler, and those who hold locks on its table."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_postgres import PGEngine
from pooler import Pooler, pooler

from attached_samples import langchain_store, searched
from ctxassembly import ChunkRef, RetrievalConfig, retrieve
from ctxassembly.data.requests import SearchChunks
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.connection import get_engine
from owners import PATIENCE
from postgres_samples import chunks, embed, embed_query, execute, rows_of, vectors

HURRIED = 1.0
SETTINGS = "SELECT current_setting('jit'), current_setting('hnsw.ef_search', true), current_setting('plan_cache_mode')"


@pytest.fixture(scope="module")
def narrow(server_url: str) -> Iterator[Pooler]:
    """A pooler with one connection for each database: who comes next gets the one that was left."""
    with pooler(server_url, 1) as running:
        yield running


# Behind a pooler


@pytest.mark.parametrize("upkeep", ["query", "add", "check", "refresh"])
def test_no_setting_and_no_lock_reaches_the_next_client(narrow: Pooler, database_url: str, upkeep: str):
    url = narrow.url(database_url)
    before = rows_of(url, SETTINGS)
    index = PostgresIndex.create(url, dimensions=16)
    index.add(chunks(), embed=embed, progress=False)
    if upkeep == "query":
        assert retrieve("wheelchair", index=index, embed=embed_query).hits
        assert index.fetch([ChunkRef("lab", 1)])
    elif upkeep != "add":
        getattr(index, upkeep)()
    ((jit, ef_search, plans),) = rows_of(url, SETTINGS)
    assert (jit, plans) == (before[0][0], before[0][2])
    assert ef_search in (None, "", "40")  # as pgvector has it
    assert rows_of(database_url, "SELECT pid FROM pg_locks WHERE locktype = 'advisory'") == []


def test_a_limit_is_reached_after_the_pooler_has_renewed_its_connections(narrow: Pooler, database_url: str):
    url = narrow.url(database_url)
    index = PostgresIndex.create(url, dimensions=8, ef_search=40)
    index.add(chunks([f"text {at}" for at in range(400)]), vectors(400, 8), progress=False)
    name = rows_of(database_url, "SELECT current_database()")[0][0]
    execute(database_url, *(f"ALTER DATABASE {name} SET {one} = off" for one in ("enable_seqscan", "enable_sort")))
    request = SearchChunks(150, vectors(1, 8, seed=1)[0], None, None)
    for _ in range(3):
        narrow.tell("RECONNECT")
        assert len(index.search(request)) == 150


def test_a_query_is_two_round_trips_with_its_settings(database_url: str, tmp_path: Path):
    index = PostgresIndex.create(database_url, dimensions=16)
    index.add(chunks(), embed=embed, progress=False)
    config = RetrievalConfig(rescue="off")
    assert retrieve("wheelchair", config, index=index, embed=embed_query).hits
    with get_engine(index.server, index.timeout_seconds).connect() as connection:
        driver: Any = connection.connection.driver_connection
    with (tmp_path / "trace").open("w") as file:
        driver.pgconn.trace(file.fileno())
        retrieve("wheelchair", config, index=index, embed=embed_query)
        driver.pgconn.untrace()
    sent = re.findall(r"\tF\t\d+\t(Sync|Query)", (tmp_path / "trace").read_text())
    assert sent == ["Sync", "Sync"]


def test_twelve_clients_create_and_add_at_once(bouncer: Pooler, database_url: str):
    url = bouncer.url(database_url)

    def client(at: int) -> int:
        index = PostgresIndex.create(url, dimensions=16)
        return index.add(chunks(document_id=f"d{at}"), embed=embed, progress=False).added

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(client, range(12))) == [5] * 12
    index = PostgresIndex.create(database_url, dimensions=16)
    assert len(index.fetch([ChunkRef(f"d{at}") for at in range(12)])) == 60


KILLED = """
import os, sys
from ctxassembly import Chunk
from ctxassembly.stores.postgres import PostgresIndex, ingest
def killed(*_):
    print("written", flush=True)
    sys.stdin.read()
ingest.insert_words = killed
index = PostgresIndex.create(sys.argv[1], dimensions=2)
index.add([Chunk("d#0", "d", "text", 0)], [[1.0, 2.0]], progress=False)
"""


def test_a_killed_client_leaves_no_lock(bouncer: Pooler, database_url: str):
    adder = subprocess.Popen(
        [sys.executable, "-c", KILLED, bouncer.url(database_url)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert adder.stdout is not None
    assert adder.stdout.readline() == b"written\n"
    adder.kill()
    adder.communicate(timeout=PATIENCE)
    index = PostgresIndex.create(database_url, dimensions=2)
    assert index.add(chunks(["text"]), [[1.0, 2.0]], progress=False).added == 1


# Behind a lock


@contextmanager
def idle(url: str, statement: str) -> Iterator[None]:
    """Another client's transaction, in which nothing is done after `statement`."""
    with psycopg.connect(url.replace("+psycopg", "", 1), application_name="nightly report") as connection:
        connection.execute(statement.encode())
        yield


NAMED = r"is locked by process \d+ \(nightly report, idle in transaction since .*, for \d+ s\)"


def test_attach_gives_up_behind_an_idle_transaction_and_nobody_queues_behind_it(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    with idle(database_url, "SELECT count(*) FROM documents"), ThreadPoolExecutor(1) as thread:
        attaching = thread.submit(PostgresIndex.attach, store, timeout_seconds=4.0)
        while not attaching.done():  # the server ends the wait of whoever queues behind it for longer
            with psycopg.connect(database_url.replace("+psycopg", "", 1), options="-c lock_timeout=60s") as reader:
                reader.execute("SELECT count(*) FROM documents")
        with pytest.raises(TimeoutError, match=NAMED):
            attaching.result()
    assert searched(PostgresIndex.attach(store), "wheelchair") == ["lab#3"]


def test_enrichment_gives_up_behind_an_idle_transaction(engine: PGEngine, database_url: str):
    index = replace(PostgresIndex.attach(langchain_store(engine)), timeout_seconds=HURRIED)
    with idle(database_url, "SELECT count(*) FROM documents"), pytest.raises(TimeoutError, match=NAMED):
        index.with_enrichment()
    assert index.with_enrichment().table.has_notes


def test_an_index_built_concurrently_gives_up_behind_an_idle_transaction(engine: PGEngine, database_url: str):
    store = langchain_store(engine)
    PostgresIndex.attach(store, hnsw=False)
    with (
        idle(database_url, "UPDATE documents SET tenant = 'a' WHERE id = 'lab#0'"),
        pytest.raises(TimeoutError, match=NAMED),
    ):
        PostgresIndex.attach(store, timeout_seconds=HURRIED)
    assert PostgresIndex.attach(store).check().missing_indexes == ()


@pytest.mark.pooled
@pytest.mark.parametrize("call", ["add", "refresh", "check"])
def test_upkeep_gives_up_behind_a_lock(database_url: str, call: str):
    index = PostgresIndex.create(database_url, dimensions=16, timeout_seconds=HURRIED)
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: index.add(chunks(), embed=embed, progress=False),
        "refresh": index.refresh,
        "check": index.check,
    }
    with idle(database_url, "LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE"), pytest.raises(TimeoutError, match=NAMED):
        calls[call]()
    calls[call]()
