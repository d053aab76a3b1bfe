"""Databases of the tests on the run's server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import make_url

TEMPLATE = "with_extensions"


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def with_database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def new_database(server_url: str, template: str = TEMPLATE) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    execute(server_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield with_database(server_url, name)
    execute(server_url, f"DROP DATABASE {name} WITH (FORCE)")
