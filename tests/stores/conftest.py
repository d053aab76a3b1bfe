"""Folders for the embedded server, and the ways to the run's server: directly, and behind PgBouncer.

What a failed test leaves running in a folder is killed.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from databases import TEMPLATE, new_database
from langchain_postgres import PGEngine
from pooler import Pooler, pooler
from sqlalchemy import make_url

from ctxassembly.stores.embedded_server import embedded_postgres
from ctxassembly.stores.postgres import PostgresIndex
from owners import PATIENCE, Servers, query
from postgres_samples import chunks, embed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test marked `pooled`, of settings, locks and transactions, directly and behind a pooler."""
    if "way" in metafunc.fixturenames and metafunc.definition.get_closest_marker("pooled"):
        metafunc.parametrize("way", ["direct", "pooled"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def way(request: pytest.FixtureRequest) -> str:
    """The way to the server: direct, or pooled."""
    return getattr(request, "param", "direct")


@pytest.fixture(scope="session")
def bouncer(server_url: str) -> Iterator[Pooler]:
    """The run's PgBouncer."""
    with pooler(server_url) as running:
        yield running


@pytest.fixture(scope="session")
def stocked(server_url: str) -> Iterator[PostgresIndex]:
    """An index over the chunks of the samples, whose database others are copied from: adding them takes longer."""
    with new_database(server_url) as url:
        index = PostgresIndex.create(url, dimensions=16)
        index.add(chunks(), embed=embed, progress=False)
        yield index


@pytest.fixture
def database_url(server_url: str, way: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The SQLAlchemy URL of a database with pgvector, this test's own, by way of the pooler if that is asked.

    It is empty, or has the chunks of `index`, if the test takes that.
    """
    template = TEMPLATE
    if "index" in request.fixturenames and not hasattr(request.module, "index"):
        template = str(make_url(request.getfixturevalue("stocked").server.url).database)
    with new_database(server_url, template) as url:
        yield url if way == "direct" else request.getfixturevalue("bouncer").url(url)


@pytest.fixture
def index(database_url: str, stocked: PostgresIndex) -> PostgresIndex:
    """An index over the chunks of the samples."""
    server = stocked.server._replace(url=database_url)
    return replace(stocked, server=server)


@pytest.fixture(scope="module")
def module_database_url(server_url: str, way: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a database that the tests of a module share, one for each way.

    Tests of both ways may alternate, which sets up module fixtures again: they must find an empty database.
    """
    with new_database(server_url) as url:
        yield url if way == "direct" else request.getfixturevalue("bouncer").url(url)


def end_all(servers: list[psutil.Process]) -> None:
    for server in servers:
        server.kill()
    psutil.wait_procs(servers, timeout=PATIENCE)


@pytest.fixture
def new_folder(open_folder: Path, servers: Servers) -> Iterator[Path]:
    """An empty one."""
    yield open_folder
    end_all(servers(open_folder))


@pytest.fixture(scope="session")
def used_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as name:
        folder = Path(name).resolve()
        with embedded_postgres(folder, durable=False) as url:
            query(url, "CREATE TABLE kept AS SELECT 0 AS value")
        yield folder


@pytest.fixture
def folder(used_folder: Path, servers: Servers) -> Iterator[Path]:
    """One that other tests have used, with what `store` needs."""
    assert not servers(used_folder)
    yield used_folder
    end_all(servers(used_folder))


@pytest.fixture
def engine(database_url: str) -> Iterator[PGEngine]:
    """The engine of a PGVectorStore of LangChain's."""
    # Behind a pooler psycopg may prepare nothing, whoever uses it.
    engine = PGEngine.from_connection_string(database_url, connect_args={"prepare_threshold": None})
    yield engine
    asyncio.run(engine.close())
