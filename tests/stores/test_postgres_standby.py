"""An index whose queries go to a standby, which replays what the primary server writes."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from dataclasses import replace

import pytest
from langchain_postgres import PGEngine
from sqlalchemy import make_url, text

from attached_samples import langchain_store, searched
from ctxassembly import ChunkRef, ConfigError, RetrievalConfig, StoreError, aretrieve, retrieve
from ctxassembly.data.requests import FindTerms
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.stores.postgres.connection import query_rows
from own_server import Server, server_of_ones_own
from owners import query
from postgres_samples import chunks, embed, embed_query
from standby import standby_of, wait_until_replayed


@pytest.fixture(scope="module")
def primary() -> Iterator[Server]:
    with server_of_ones_own() as server:
        yield server


@pytest.fixture(scope="module")
def standby_url(primary: Server) -> Iterator[str]:
    with standby_of(primary.url) as url:
        yield url


@pytest.fixture(scope="module")
def index(primary: Server, standby_url: str) -> PostgresIndex:
    index = PostgresIndex.create(primary.url, dimensions=16, read_url=standby_url)
    index.add(chunks(), embed=embed, progress=False)
    wait_until_replayed(primary.url, standby_url)
    return index


def pause_replay(primary: Server, standby_url: str) -> None:
    wait_until_replayed(primary.url, standby_url)
    query(standby_url, "SELECT pg_wal_replay_pause()")


async def test_queries_go_to_the_standby_and_writes_to_the_primary(
    primary: Server, standby_url: str, index: PostgresIndex
):
    """While the standby is behind, what was written is found on the primary alone."""
    on_primary = replace(index, read_server=None)
    pause_replay(primary, standby_url)
    try:
        assert index.add(chunks(["A tarsier sees."], "zoo"), embed=embed, progress=False).added == 1
        assert index.check().chunks == 6
        index.refresh()
        assert {one.document_id for one in index.enrichment.outlines()} == {"lab", "zoo"}
        for one, found in ((index, []), (on_primary, ["zoo#0"])):
            config = RetrievalConfig(strategy="keyword")
            hits = retrieve("tarsier", config, index=one).chunks
            awaited = (await aretrieve("tarsier", config, index=one)).chunks
            assert [hit.chunk.id for hit in hits] == [hit.chunk.id for hit in awaited] == found
            assert searched(one, "tarsier") == found
            assert [term.chunk_count for term in one.find_terms(FindTerms("tarsier", 9, 0)).terms] == [len(found)]
            assert [chunk.id for chunk in one.fetch([ChunkRef("zoo")])] == found
            assert [chunk.id for chunk in await one.afetch([ChunkRef("zoo")])] == found
    finally:
        query(standby_url, "SELECT pg_wal_replay_resume()")
    wait_until_replayed(primary.url, standby_url)
    assert searched(index.with_filter({"n": 0}), "tarsier") == ["zoo#0"]


def test_a_standby_answers_while_the_primary_is_frozen(primary: Server, index: PostgresIndex):
    with primary.frozen():
        assert (
            retrieve("wheelchair", RetrievalConfig(limit=1), index=index, embed=embed_query).hits[0].chunk.id == "lab#3"
        )


def test_a_standby_alone_is_opened_and_not_written_to(index: PostgresIndex, standby_url: str):
    alone = PostgresIndex.create(standby_url, dimensions=16)
    assert searched(alone, "wheelchair") == searched(index, "wheelchair") == ["lab#3"]
    with pytest.raises(StoreError, match="read-only transaction"):
        alone.add(chunks(["More."], "more"), embed=embed, progress=False)


def test_the_table_of_a_vector_store_is_searched_on_the_standby(primary: Server, standby_url: str):
    engine = PGEngine.from_connection_string(primary.url)
    store = langchain_store(engine)
    attached = PostgresIndex.attach(store, read_url=standby_url)
    pause_replay(primary, standby_url)
    try:
        query(primary.url, "DELETE FROM documents WHERE id = 'lab#3'")
        assert searched(attached, "wheelchair") == ["lab#3"]
    finally:
        query(standby_url, "SELECT pg_wal_replay_resume()")
    asyncio.run(engine.close())


def test_of_several_hosts_a_standby_is_preferred(primary: Server, standby_url: str):
    hosts = ",".join(str(make_url(url).query["host"]) for url in (primary.url, standby_url))
    query_options = {"host": hosts, "port": "5432,5432", "target_session_attrs": "prefer-standby"}
    url = make_url(standby_url).update_query_dict(query_options).render_as_string(hide_password=False)
    server = PostgresIndex.create(primary.url, dimensions=16, read_url=url).read_server
    assert server is not None
    assert query_rows(server, (text("SELECT pg_is_in_recovery()"), {}), 10.0) == [(True,)]


def test_neither_url_takes_its_password_into_a_pickle(primary: Server, standby_url: str):
    secret = make_url(standby_url).set(password="secret").render_as_string(hide_password=False)
    index = PostgresIndex.create(primary.url, dimensions=16, read_url=secret)
    assert "secret" not in repr(index)
    with pytest.raises(ConfigError, match="without a password"):
        pickle.dumps(index)
    kept = PostgresIndex.create(primary.url, dimensions=16, read_url=secret, pickle_password=True)
    assert pickle.loads(pickle.dumps(kept)) == kept
