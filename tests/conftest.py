"""What the tests share: one PostgreSQL server a run, one database a test."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import vocabularies  # noqa: F401
from databases import TEMPLATE, execute, new_database, with_database
from hypothesis import HealthCheck, settings

from ctxassembly.stores.embedded_server import embedded_postgres

# An example takes as long as it takes: on a busy machine that says nothing of the code.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


def pytest_configure() -> None:
    """A shell has what it starts in the background ignore Ctrl-C, and so would all that tests start to interrupt it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the run's server: `make test-fast` leaves it out."""
    for item in items:
        if "server_url" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The SQLAlchemy URL of the run's server, which keeps a template database with the extensions that tests need."""
    with embedded_postgres(durable=False) as url:
        execute(url, f"CREATE DATABASE {TEMPLATE}")
        execute(with_database(url, TEMPLATE), "CREATE EXTENSION vector", "CREATE EXTENSION pg_trgm")
        yield url


@pytest.fixture
def database_url(server_url: str) -> Iterator[str]:
    """The SQLAlchemy URL (`postgresql+psycopg://`) of an empty database with pgvector, this test's own."""
    with new_database(server_url) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(server_url: str) -> Iterator[str]:
    """The same for all tests of a module: what one of them has stored the next ones find."""
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def servers() -> Callable[[Path], list[psutil.Process]]:
    """A function from a folder to the PostgreSQL servers at work below it."""

    def below(folder: Path) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter(["name", "cmdline", "status"]):
            named = any(str(folder) in argument for argument in process.info["cmdline"] or ())
            if process.info["name"] == "postgres" and named and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process)
        return found

    return below


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that PostgreSQL's own user may pass through, which as root is not so below `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as name:
        Path(name).chmod(0o711)
        yield Path(name).resolve()
