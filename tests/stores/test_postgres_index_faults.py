"""`PostgresIndex` while the server is stopped, started anew or frozen, and after its own process was killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import Chunk, ChunkRef, Hit, RetrievalConfig, Retrieved, StoreError, aretrieve, retrieve
from ctxassembly.stores.ingest import IngestReport
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.ingest import BATCH_SIZE
from own_server import Server, server_of_ones_own
from owners import PATIENCE, wait_until
from postgres_samples import chunks, embed, embed_query

TIMEOUT = 0.4
CONFIG = RetrievalConfig(limit=1, rescue="off")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_of_ones_own() as server:
        yield server


@pytest.fixture(scope="module")
def index(server: Server) -> PostgresIndex:
    index = PostgresIndex.create(server.url, dimensions=16)
    index.add(chunks(), embed=embed, progress=False)
    return index


def asked(index: PostgresIndex) -> list[str]:
    return [hit.chunk.id for hit in retrieve("wheelchair", CONFIG, index=index, embed=embed_query).hits]


def asked_by_eight(index: PostgresIndex) -> list[list[str]]:
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(asked, [index] * 16))


def test_the_pool_survives_a_restart_of_the_server(server: Server, index: PostgresIndex):
    assert asked_by_eight(index) == [["lab#3"]] * 16  # there are several connections in the pool
    server.stop()
    with pytest.raises(StoreError, match=r"no channel answered: .*OperationalError"):
        asked(index)
    with pytest.raises(StoreError, match="OperationalError"):
        index.fetch([ChunkRef("lab", 1)])
    with pytest.raises(StoreError, match="OperationalError"):
        index.check()
    server.start()
    assert asked_by_eight(index) == [["lab#3"]] * 16


def elsewhere(query: str, limit: int, condition: Any) -> list[Hit]:
    """A keyword channel that needs no server."""
    return [Hit(Chunk("other", "other", query), 1.0)]


def in_a_loop(*given: Any, **named: Any) -> Retrieved:
    return asyncio.run(aretrieve(*given, **named))


@pytest.mark.parametrize("ask", [retrieve, in_a_loop])
def test_a_frozen_server_costs_its_channel(server: Server, index: PostgresIndex, ask: Callable[..., Retrieved]):
    hurried = replace(index, timeout_seconds=TIMEOUT)
    assert ask("wheelchair", CONFIG, index=index, embed=embed_query).hits
    with server.frozen():
        left = ask("wheelchair", CONFIG, index=hurried, embed=embed_query, channels={"keyword": elsewhere})
        with pytest.raises(StoreError, match=f"no answer from Postgres within {TIMEOUT} s"):
            ask("wheelchair", replace(CONFIG, strategy="keyword"), index=hurried)
    assert [hit.chunk.id for hit in left.hits] == ["other"]
    (note,) = (note for note in left.trace.notes if "failed" in note)
    assert note.startswith("vector: failed (TimeoutError: no answer from Postgres within 0.4 s")
    wait_until(lambda: len(index.fetch([ChunkRef("lab", 1)])) == 1)
    assert asked_by_eight(index) == [["lab#3"]] * 16


def test_upkeep_does_not_wait_for_ever_for_a_connection(server: Server, index: PostgresIndex):
    with server.frozen(), pytest.raises(TimeoutError, match="no answer from Postgres within 1 s"):
        replace(index, timeout_seconds=1.0).check()


ADDER = """
import sys, time
from ctxassembly import Chunk
from ctxassembly.stores.postgres import PostgresIndex, ingest
batches = 0
def embed(texts):
    global batches
    batches += 1
    if batches == 3:
        print("embedding", flush=True)
        time.sleep(600)
    return [[1.0, float(len(text))] for text in texts]
index = PostgresIndex.create(sys.argv[1], "resumed", dimensions=2)
index.add([Chunk(f"d#{at}", "d", f"text {at}", at) for at in range(int(sys.argv[2]))], embed=embed, progress=False)
"""


def test_a_run_that_was_killed_goes_on_where_it_was(server: Server):
    stored = [Chunk(f"d#{at}", "d", f"text {at}", at) for at in range(3 * BATCH_SIZE + 5)]
    adder = subprocess.Popen(
        [sys.executable, "-c", ADDER, server.url, str(len(stored))], stdout=subprocess.PIPE, text=True
    )
    assert adder.stdout is not None
    assert adder.stdout.readline() == "embedding\n"  # two batches were written
    adder.kill()
    adder.communicate(timeout=PATIENCE)
    texts: list[str] = []

    def embedded(given: list[str]) -> list[list[float]]:
        texts.extend(given)
        return [[1.0, float(len(text))] for text in given]

    index = PostgresIndex.create(server.url, "resumed", dimensions=2)
    assert index.add(stored, embed=embedded, progress=False) == IngestReport(BATCH_SIZE + 5, 2 * BATCH_SIZE, 0)
    assert texts == [chunk.text for chunk in stored[2 * BATCH_SIZE :]]
    state = index.check(sample=5)
    assert (state.chunks, state.without_vector, state.missing_indexes) == (len(stored), 0, ())
