"""What the tests share: one PostgreSQL server a run, one database a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import make_url

from ctxassembly.stores.embedded import embedded_postgres

TEMPLATE = "with_extensions"


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def with_database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


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
    name = f"test_{uuid.uuid4().hex}"
    execute(server_url, f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    yield with_database(server_url, name)
    execute(server_url, f"DROP DATABASE {name} WITH (FORCE)")
