"""Connections of an index: a pool for each process and server, and rows read from it within a deadline.

Behind a pooler such as PgBouncer in transaction mode, each transaction may run on another connection of the server, and
the next transaction there may be another client's. So a query brings its settings along. They are set for its
transaction alone, and sent together with its statement in one round trip:

- `hnsw.ef_search` bounds how many rows an HNSW scan gives (40 by default: `LIMIT 100` gives 40), and
  `hnsw.iterative_scan` lets the scan continue until the limit is reached, also past rows that a filter excludes;
- no just-in-time compilation, which takes longer than these statements do.

psycopg prepares no statement: a pooler would lose it, preparing would be another round trip for the fifth use of each,
and a plan made for any values doesn't know a rare word from a common one.
"""

from __future__ import annotations

import os
import time
from functools import cache, partial
from typing import Any, NamedTuple

from sqlalchemy import URL, Engine, NullPool, Row, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from ctxassembly.errors import ConfigError, missing_extra
from ctxassembly.safe_repr import describe_error
from ctxassembly.stores.postgres.deadline import BoundStatement, afetch_rows, fetch_rows
from ctxassembly.stores.postgres.failures import translate_errors

CONNECT_SECONDS = 10
"""Connection timeout if the URL sets none. The driver's own 130 s would block a thread of ours for as long."""
_ASYNCPG_PARAMETERS = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback")
"""Parameters of a URL that psycopg doesn't know."""
_PSYCOPG_PARAMETERS = ("autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory")
"""Parameters that psycopg takes itself; it hands all others to libpq."""


class Server(NamedTuple):
    """A database, and how its connections are set up."""

    url: str
    ef_search: int

    def __repr__(self) -> str:
        return f"Server({make_url(self.url)!r}, {self.ef_search})"  # without the password


def server_url(url: Any) -> str:
    """Convert a URL for any PostgreSQL driver to the SQLAlchemy URL for psycopg.

    Raises:
        ConfigError: it is not a PostgreSQL URL.
    """
    try:
        parsed = make_url(url)
        if parsed.host and not parsed.host.startswith("/"):  # a folder is no name
            parsed.host.encode("idna")  # as the driver does it
    except (ArgumentError, ValueError):  # a port that is no number, a host that is no name
        raise ConfigError("url", "a URL such as postgresql://user@host:5432/database", type(url).__name__) from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise ConfigError("url", "a URL such as postgresql://user@host/database", parsed.get_backend_name())
    if parsed.port is not None and not 0 < parsed.port < 2**16:
        raise ConfigError("url", "one with a port from 1 to 65535", parsed.port)
    query = {name: value for name, value in parsed.query.items() if name not in _ASYNCPG_PARAMETERS}
    if "ssl" in query:  # as asyncpg calls it
        query["sslmode"] = query.pop("ssl")
    psycopg_url: URL = parsed.set(drivername="postgresql+psycopg", query=query)
    return psycopg_url.render_as_string(hide_password=False)


def get_engine(server: Server) -> Engine:
    """Return the engine for `server` in this process. A fork gets its own: processes can't share a connection."""
    key = (os.getpid(), server)
    # Without a lock, since a fork would inherit it locked. If two are made at once, one is dropped before it connects.
    return _engines.get(key) or _engines.setdefault(key, _make_engine(server))


def query_rows(server: Server, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Return the rows of a statement, in one round trip. It is sent again once if its connection turns out to be dead.

    Raises:
        InputError: a text with characters that the database's encoding doesn't have.
        StoreError: the database failed. This is an error of the driver's class, too.
        TimeoutError: there was no answer in time.
    """
    deadline = time.monotonic() + timeout_seconds
    get_server_engine = partial(get_engine, server)
    with translate_errors():
        try:
            return fetch_rows(get_server_engine, statement, timeout_seconds)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        return fetch_rows(get_server_engine, statement, max(deadline - time.monotonic(), 0.001))


async def aquery_rows(server: Server, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Async version of `query_rows`."""
    deadline = time.monotonic() + timeout_seconds
    get_server_engine = partial(get_engine, server)
    with translate_errors():
        try:
            return await afetch_rows(get_server_engine, statement, timeout_seconds)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        return await afetch_rows(get_server_engine, statement, max(deadline - time.monotonic(), 0.001))


_engines: dict[tuple[int, Server], Engine] = {}


def make_unpooled_engine(server: Server) -> Engine:
    """Return an engine for connections that are closed after use."""
    return _make_engine(server, poolclass=NullPool)


def _make_engine(server: Server, **options: Any) -> Engine:
    # Python's texts are Unicode. psycopg would take the database's encoding: for SQL_ASCII it reads bytes.
    arguments: dict[str, Any] = {"prepare_threshold": None, "client_encoding": "UTF8"}
    if not ("connect_timeout" in make_url(server.url).query or "PGCONNECT_TIMEOUT" in os.environ):
        arguments["connect_timeout"] = CONNECT_SECONDS
    try:
        engine = create_engine(server.url, connect_args=arguments, **options)
    except ModuleNotFoundError as error:
        raise missing_extra(error, "PostgresIndex", "postgres", ("psycopg",)) from error
    _check_options(engine)
    event.listen(engine, "do_execute", partial(_execute_with_settings, settings_statement(server)))
    return engine


def _check_options(engine: Engine) -> None:
    """Check that the driver knows the options in the URL.

    Raises:
        ConfigError: it doesn't.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo, timeout_from_conninfo

    _, arguments = engine.dialect.create_connect_args(engine.url)
    options = {name: value for name, value in arguments.items() if name not in _PSYCOPG_PARAMETERS}
    try:
        make_conninfo(**options)
        timeout_from_conninfo(options)
    except ProgrammingError as error:
        given = sorted(engine.url.query)
        raise ConfigError(
            "url", "one whose options PostgreSQL knows", given, f": {describe_error(error, max_lines=1)}"
        ) from error


def settings_statement(server: Server) -> tuple[str, tuple[str]]:
    """Return the statement that sets what a search needs until its transaction ends, and its values for psycopg."""
    # A pgvector without iterative scans refuses the setting once its library is loaded.
    return (
        "SELECT CASE WHEN current_setting('hnsw.ef_search', true) IS NULL"
        " OR current_setting('hnsw.iterative_scan', true) IS NOT NULL"
        " THEN set_config('hnsw.iterative_scan', 'relaxed_order', true) END,"
        " set_config('hnsw.ef_search', %s, true), set_config('jit', 'off', true)"
    ), (str(server.ef_search),)


def _execute_with_settings(
    settings: tuple[str, tuple[str]], cursor: Any, statement: str, parameters: Any, _: Any
) -> bool:
    """Execute a statement of a query after its settings: in a pipeline both are one transaction and one round trip."""
    connection = cursor.connection
    # A transaction of more than one statement sets what it needs by itself.
    if not connection.autocommit or connection.pgconn.transaction_status:
        return False
    # libpq has pipelines from version 14 on; without them it takes four round trips.
    with connection.pipeline() if _has_pipelines() else connection.transaction():
        connection.execute(*settings)
        cursor.execute(statement, parameters)
    return True


@cache
def _has_pipelines() -> bool:
    from psycopg import Pipeline

    return Pipeline.is_supported()
