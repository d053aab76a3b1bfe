"""Connections to Postgres: a pool for each process and server, rows within a deadline, and the errors of both.

Behind a pooler such as PgBouncer in transaction mode, each transaction may run on another connection of the server, and
the next transaction there may be another client's. So a query brings its settings along. They are set for its
transaction alone, and sent together with its statement in one round trip:

- `hnsw.ef_search` bounds how many rows an HNSW scan gives (40 by default: `LIMIT 100` gives 40), and
  `hnsw.iterative_scan` lets the scan continue until the limit is reached, also past rows that a filter excludes;
- no just-in-time compilation, which takes longer than these statements do;
- what a role may have set otherwise, and results depend on: `pg_trgm.similarity_threshold`, a limit of what a GIN index
  gives, and `row_security`, which as `off` refuses each table with a policy.

psycopg prepares no statement: a pooler would lose it, preparing would be another round trip for the fifth use of each,
and a plan made for any values doesn't know a rare word from a common one.

A deadline holds whatever the server, the pool and the driver do. A synchronous statement runs in a thread that can't be
stopped (see `concurrency`), so it is ended from its other end, in three steps:

1. At the deadline the caller continues. The connection never returns to the pool.
2. The driver asks the server to cancel the statement. psycopg2's `cancel` would stop all threads until the server
   replies; there the server gets a `statement_timeout` of its own, sent with the statement.
3. If the thread hasn't ended `GRACE_SECONDS` later, its socket is shut down: it reads the end of the stream.

A statement of `query_rows` is sent again once, in the time that is left, if its connection turns out to be dead, as
after a restart of the server. One that gets no answer isn't sent again.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import URL, Engine, NullPool, Row, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.concurrency import DeadlineError, await_with_deadline, submit, wait_with_deadline
from ctxassembly.errors import ConfigError, CtxAssemblyError, StoreError, missing_extra
from ctxassembly.safe_repr import describe_error
from ctxassembly.stores.simple_words import MIN_SIMILARITY

T = TypeVar("T")
BoundStatement = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""

CONNECT_SECONDS = 10
"""Connection timeout if the URL sets none. The driver's own 130 s would block a thread of ours for as long."""
GRACE_SECONDS = 1.0
"""Time for the server to cancel a statement before its connection is cut."""
AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""Options without a transaction: BEGIN and ROLLBACK would be two more round trips."""
_ASYNCPG_PARAMETERS = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback")
"""Parameters of a URL that psycopg doesn't know."""


_HINTS: Mapping[str | None, str] = {
    None: ": start the server, or correct host, port, user, password or database in the URL",
    "42P01": ": create the table by PostgresIndex.create(url, table, dimensions=...), or correct its name",
}
"""What to do about an error of the driver, by its SQLSTATE; a failed connection has none."""


class Server(NamedTuple):
    """A database, and how its connections are set up."""

    url: str
    ef_search: int
    pickles_password: bool = False
    """Whether a pickle may have the password of the URL."""

    def __repr__(self) -> str:
        return f"Server({make_url(self.url)!r}, {self.ef_search})"  # without the password

    def __reduce__(self) -> tuple[Any, ...]:
        if not self.pickles_password and make_url(self.url).password is not None:
            raise ConfigError(
                "url",
                "without a password where the index is pickled, since a pickle shows it: use "
                "PGPASSWORD, a password file or ?service= on each machine, or give pickle_password=True",
                "one with a password",
            )
        return Server, tuple(self)

    def __copy__(self) -> Server:
        return self

    def __deepcopy__(self, _: Any) -> Server:
        return self


def server_url(url: Any) -> str:
    """Convert a URL for any PostgreSQL driver to the SQLAlchemy URL for psycopg.

    Raises:
        ConfigError: it is not a PostgreSQL URL.
    """
    allowed = "a URL such as postgresql://user@host:5432/database"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number; the text may have a password
        given = "a string of another form" if isinstance(url, str) else type(url).__name__
        raise ConfigError.worded("url", f"url must be {allowed}, got {given}") from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise ConfigError("url", allowed, parsed.get_backend_name())
    query = {name: value for name, value in parsed.query.items() if name not in _ASYNCPG_PARAMETERS}
    if "ssl" in query:  # as asyncpg calls it
        query["sslmode"] = query.pop("ssl")
    psycopg_url: URL = parsed.set(drivername="postgresql+psycopg", query=query)
    return psycopg_url.render_as_string(hide_password=False)


_engines: dict[tuple[int, Server], Engine] = {}


def get_engine(server: Server) -> Engine:
    """Return the engine for `server` in this process. A fork gets its own: processes can't share a connection."""
    key = (os.getpid(), server)
    # Without a lock, since a fork would inherit it locked. If two are made at once, one is dropped before it connects.
    return _engines.get(key) or _engines.setdefault(key, make_engine(server))


def make_unpooled_engine(server: Server) -> Engine:
    """Return an engine for connections that are closed after use."""
    return make_engine(server, poolclass=NullPool)


def make_engine(server: Server, **options: Any) -> Engine:
    """Return an engine whose statements bring the settings of a search along."""
    # Python's texts are Unicode. psycopg would take the database's encoding: for SQL_ASCII it reads bytes.
    arguments: dict[str, Any] = {"prepare_threshold": None, "client_encoding": "UTF8"}
    if not ("connect_timeout" in make_url(server.url).query or "PGCONNECT_TIMEOUT" in os.environ):
        arguments["connect_timeout"] = CONNECT_SECONDS
    try:
        engine = create_engine(server.url, connect_args=arguments, **options)
    except ModuleNotFoundError as error:
        raise missing_extra("PostgresIndex", "postgres") from error
    event.listen(engine, "do_execute", partial(_execute_with_settings, settings_statement(server)))
    return engine


SQL_SETTINGS = "set_config('standard_conforming_strings', 'on', true), set_config('quote_all_identifiers', 'off', true)"
"""Sets for a transaction how texts are written in SQL, and names of types and indexes in what the server tells."""


def settings_statement(server: Server) -> tuple[str, tuple[str]]:
    """Return the statement that sets what a search needs until its transaction ends, and its values for psycopg."""
    # A pgvector without iterative scans refuses the setting once its library is loaded.
    return (
        "SELECT CASE WHEN current_setting('hnsw.ef_search', true) IS NULL"
        " OR current_setting('hnsw.iterative_scan', true) IS NOT NULL"
        " THEN set_config('hnsw.iterative_scan', 'relaxed_order', true) END,"
        " set_config('hnsw.ef_search', %s, true), set_config('jit', 'off', true),"
        f" set_config('row_security', 'on', true), set_config('gin_fuzzy_search_limit', '0', true), {SQL_SETTINGS},"
        f" set_config('pg_trgm.similarity_threshold', '{MIN_SIMILARITY}', true)"
    ), (str(server.ef_search),)


def _execute_with_settings(
    settings: tuple[str, tuple[str]], cursor: Any, statement: str, parameters: Any, _: Any
) -> bool:
    """Execute a statement of a query after its settings: in a pipeline both are one transaction and one round trip."""
    connection = cursor.connection
    # A transaction of more than one statement sets what it needs by itself.
    if not connection.autocommit or connection.pgconn.transaction_status:
        return False
    with connection.pipeline():
        connection.execute(*settings)
        cursor.execute(statement, parameters)
    return True


def query_rows(server: Server, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Return the rows of a statement, in one round trip. It is sent again once if its connection turns out to be dead.

    Raises:
        StoreError: the database failed.
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


def fetch_rows(get_engine: Callable[[], Engine], statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Fetch the rows of a statement in one round trip, on a connection of the engine that `get_engine` gives.

    The deadline covers `get_engine`, the connection and the answer.

    Raises:
        TimeoutError: there was no answer in time.
    """
    with _run_with_deadline(_Fetch(get_engine, statement, timeout_seconds)) as future:
        return wait_with_deadline(timeout_seconds, future)


async def afetch_rows(
    get_engine: Callable[[], Engine], statement: BoundStatement, timeout_seconds: float
) -> list[Row[Any]]:
    """Async version of `fetch_rows`."""
    with _run_with_deadline(_Fetch(get_engine, statement, timeout_seconds)) as future:
        return await await_with_deadline(timeout_seconds, future)


async def await_rows(rows: Awaitable[T] | Future[T], timeout_seconds: float) -> T:
    """Await `rows`, which are fetched on this event loop or, as a future, on another one.

    If late, the fetch is cancelled, and the driver notifies the server in the background.

    Raises:
        TimeoutError: there was no answer in time.
    """
    try:
        return await await_with_deadline(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_timeout_message(timeout_seconds)) from error


def wait_for_rows(rows: Future[T], timeout_seconds: float) -> T:
    """Do the same as `await_rows` from a thread that waits for an event loop in another thread."""
    try:
        return wait_with_deadline(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_timeout_message(timeout_seconds)) from error


async def execute_async(engine: AsyncEngine, statement: BoundStatement) -> list[Row[Any]]:
    """Fetch the rows of a statement in one round trip. `await_rows` and `wait_for_rows` give it a deadline."""
    async with engine.connect() as connection:
        return list((await (await connection.execution_options(**AUTOCOMMIT)).execute(*statement)).all())


class _Fetch:
    """A statement under way, which another thread may give up at any moment."""

    def __init__(self, get_engine: Callable[[], Engine], statement: BoundStatement, timeout_seconds: float) -> None:
        self._get_engine, self._statement, self.timeout_seconds = get_engine, statement, timeout_seconds
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_late = False
        self._driver_connection: Any = None
        self._has_connection = False

    def fetch(self) -> list[Row[Any]]:
        try:
            pooled = self._get_engine().connect()
        except PoolTimeoutError as error:
            raise TimeoutError(self.timeout_message()) from error
        self._has_connection = True
        with pooled as connection:
            connection.execution_options(**AUTOCOMMIT)
            if connection.dialect.driver == "psycopg2":
                hook = _server_timeout_hook(self.timeout_seconds)
                event.listen(connection, "before_cursor_execute", hook, retval=True)
            with self._lock:
                if self._is_late:
                    connection.invalidate()  # its pool may be gone, which would leave it open
                    raise TimeoutError(self.timeout_message())
                self._driver_connection = connection.connection.driver_connection
            try:
                return list(connection.execute(*self._statement).all())
            finally:
                with self._lock:
                    self._driver_connection = None
                    if self._is_late:  # a cancellation still under way must hit no other statement
                        connection.invalidate()
                self._ended.set()

    def timeout_message(self) -> str:
        """Return the message for a statement that is late."""
        if self._has_connection:
            return _timeout_message(self.timeout_seconds)
        return (
            f"no answer from Postgres within {self.timeout_seconds:g} s; the statement was given up while it waited "
            "for a connection and was not sent. If all connections of the pool are in use, run fewer queries at once, "
            "raise timeout_seconds, or raise pool_size if the engine is your own"
        )

    def cancel(self) -> None:
        with self._lock:
            self._is_late = True
            if self._driver_connection is not None:
                submit(partial(self._cancel_on_server, self._driver_connection))

    def _cancel_on_server(self, driver: Any) -> None:
        """Have the server cancel; if the thread doesn't end, shut its socket."""
        try:
            if hasattr(driver, "cancel_safe") and _can_cancel():
                driver.cancel_safe(timeout=GRACE_SECONDS)
        finally:
            if not self._ended.wait(GRACE_SECONDS):
                with self._lock:
                    if self._driver_connection is not None and hasattr(driver, "fileno"):
                        shut_socket(driver.fileno())


@contextmanager
def _run_with_deadline(fetch: _Fetch) -> Iterator[Future[list[Row[Any]]]]:
    """Start `fetch`, and give it up if it isn't done at the end of the context."""
    future = submit(fetch.fetch)
    try:
        yield future
    except DeadlineError as error:
        raise TimeoutError(fetch.timeout_message()) from error
    finally:
        if future.cancelled() or not future.done():
            fetch.cancel()


def _server_timeout_hook(timeout_seconds: float) -> Callable[..., tuple[str, Any]]:
    """Return a hook that sets the server's own deadline, shortly after ours, in the statement's round trip."""
    milliseconds = min(math.ceil(timeout_seconds * 1000) + 100, 2**31 - 1)
    # A stricter setting stays. The setting lasts for the transaction, which these statements make together.
    deadline = (
        f"SELECT set_config('statement_timeout', '{milliseconds}', true)"
        " WHERE current_setting('statement_timeout')::interval"
        f" NOT BETWEEN interval '1 ms' AND interval '{milliseconds} ms'; "
    )
    return lambda _connection, _cursor, statement, parameters, *_: (deadline + statement, parameters)


def _can_cancel() -> bool:
    """Return True if psycopg's libpq can cancel without stopping all threads, which it can from version 17."""
    from psycopg import capabilities

    return capabilities.has_cancel_safe()


def shut_socket(descriptor: int) -> None:
    """Shut a socket down, so that its reader finds the end of the stream: closing it would not wake the reader."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        connection.shutdown(socket.SHUT_RDWR)


def _timeout_message(timeout_seconds: float) -> str:
    return (
        f"no answer from Postgres within {timeout_seconds:g} s; the statement was given up and its connection dropped"
    )


def driver_error(error: BaseException) -> BaseException:
    """Return the driver's error inside SQLAlchemy's, or else `error` itself."""
    return getattr(error, "orig", None) or error


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the errors of the driver and of SQLAlchemy as ours.

    Their cause is the driver's own: SQLAlchemy's prints the statement with its parameters, which may be private.
    """
    try:
        yield
    except Exception as error:
        driver = driver_error(error)
        if isinstance(error, CtxAssemblyError) or not hasattr(driver, "sqlstate"):
            raise
        hint = _HINTS.get(driver.sqlstate, "")
        message = f"the database failed: {describe_error(driver, max_lines=1)}{hint}"
        raise StoreError(message) from driver
