"""Folders for the embedded server. What a failed test leaves running there is killed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from langchain_postgres import PGEngine

from ctxassembly.stores.embedded import embedded_postgres
from owners import PATIENCE, Servers, query


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
    engine = PGEngine.from_connection_string(database_url)
    yield engine
    asyncio.run(engine.close())
