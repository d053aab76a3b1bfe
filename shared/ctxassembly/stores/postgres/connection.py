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

A statement of a query has the server's own `statement_timeout`. A server that doesn't keep it, since it is frozen or
gone, is given up `GRACE_SECONDS` later: the connection is closed, by the thread that waits (`WatchedConnection`).

A statement of `query_rows` is sent again once if its connection turns out to be dead, as after a restart of the server.
One that gets no answer isn't sent again.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, Engine, NullPool, Row, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.concurrency import DeadlineError, submit, wait_with_deadline
from ctxassembly.errors import ConfigError, CtxAssemblyError, StoreError, missing_extra
from ctxassembly.safe_repr import describe_error
from ctxassembly.stores.simple_words import MIN_SIMILARITY

T = TypeVar("T")
BoundStatement = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""

GRACE_SECONDS = 1.0
"""Time for the server to end a statement that is late, before its connection is closed."""
CONNECTING: Mapping[str, Any] = {
    "prepare_threshold": None,
    "client_encoding": "UTF8",  # psycopg would take the database's: for SQL_ASCII it reads bytes
    "keepalives_idle": 30,  # a server whose machine is gone is noticed after a minute, and not after two hours
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Options of each connection but for those that the URL sets."""
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

    def __repr__(self) -> str:
        return f"Server({make_url(self.url)!r}, {self.ef_search})"  # without the password

    def __reduce__(self) -> tuple[Any, ...]:
        if make_url(self.url).password is not None:
            allowed = "without a password in an index that is pickled: use PGPASSWORD, a password file or ?service="
            raise ConfigError("url", allowed, "one with a password")
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


_engines: dict[tuple[int, Server, float], Engine] = {}


def get_engine(server: Server, timeout_seconds: float) -> Engine:
    """Return the engine for `server` in this process. A fork gets its own: processes can't share a connection."""
    key = (os.getpid(), server, timeout_seconds)
    # Without a lock, since a fork would inherit it locked. If two are made at once, one is dropped before it connects.
    return _engines.get(key) or _engines.setdefault(key, _make_engine(server, timeout_seconds))


def _make_engine(server: Server, timeout_seconds: float) -> Engine:
    """Return an engine whose statements bring the settings of a search along."""
    engine = make_unpooled_engine(server, timeout_seconds, pool_timeout=timeout_seconds, poolclass=None)
    settings, values = settings_statement(server)
    late = f", set_config('statement_timeout', '{_milliseconds(timeout_seconds)}', true)"
    event.listen(engine, "do_execute", partial(_execute_with_settings, (settings + late, values)))
    return engine


def make_unpooled_engine(server: Server, timeout_seconds: float, **options: Any) -> Engine:
    """Return an engine whose connections are closed after use. Connecting has a timeout, from 2 s on, too."""
    given = {"connect_timeout": math.ceil(timeout_seconds), **CONNECTING}
    if "PGCONNECT_TIMEOUT" in os.environ:
        del given["connect_timeout"]
    for name in make_url(server.url).query:
        given.pop(name, None)
    try:
        engine = create_engine(server.url, connect_args=given, **{"poolclass": NullPool, **options})
    except ModuleNotFoundError as error:
        raise missing_extra("PostgresIndex", "postgres") from error
    event.listen(engine, "do_connect", lambda _dialect, _record, cargs, cparams: _connect(*cargs, **cparams))
    return engine


def _connect(*given: Any, **named: Any) -> Any:
    return _connection_class().connect(*given, **named)


@lru_cache(maxsize=1)
def _connection_class() -> Any:
    from psycopg import Connection

    class WatchedConnection(Connection[Any]):
        """A connection that calls `on_silence` every tenth of a second while the server doesn't answer."""

        on_silence: Callable[[], None] | None = None

        def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
            if self.closed:  # given up: psycopg would wait for the end of a pipeline
                return None
            return super().wait(_watch(gen, self.on_silence) if self.on_silence else gen, *given, **named)

    return WatchedConnection


def _watch(gen: Any, on_silence: Callable[[], None]) -> Generator[Any, Any, Any]:
    """Do what `gen` does, a generator of psycopg's that yields what it waits for and is sent what is ready."""
    try:
        waiting_for = next(gen)
        while True:
            ready = yield waiting_for
            if not ready:
                on_silence()
            waiting_for = gen.send(ready)
    except StopIteration as ended:
        return ended.value


SQL_SETTINGS = "set_config('standard_conforming_strings', 'on', true), set_config('quote_all_identifiers', 'off', true)"
"""Sets for a transaction how texts are written in SQL, and names of types and indexes in what the server tells."""


def settings_statement(server: Server) -> tuple[str, tuple[str]]:
    """Return the statement that sets what a search needs until its transaction ends, and its values for psycopg."""
    return (
        "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),"
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
        TimeoutError: no connection was free, or there was no answer in time.
    """
    engine = get_engine(server, timeout_seconds)
    with translate_errors(), translate_timeouts(timeout_seconds):
        try:
            return watched_rows(engine, statement, timeout_seconds)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        return watched_rows(engine, statement, timeout_seconds)


def watched_rows(engine: Engine, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Return the rows of a statement, on an engine of ours. A connection that gets no answer is closed."""
    with engine.connect() as connection:
        driver: Any = connection.execution_options(**AUTOCOMMIT).connection.driver_connection
        deadline = time.monotonic() + timeout_seconds + GRACE_SECONDS

        def give_up() -> None:
            if time.monotonic() > deadline:
                driver.close()
                raise TimeoutError(no_answer(timeout_seconds))

        driver.on_silence = give_up
        try:
            return list(connection.execute(*statement).all())
        except TimeoutError:
            connection.invalidate()
            raise
        finally:
            driver.on_silence = None


def fetch_rows(engine: Engine, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Return the rows of a statement on a vector store's own engine, in one round trip.

    The server keeps the deadline. One that doesn't react to that either is left to a thread, with the connection: that
    belongs to the vector store.

    Raises:
        TimeoutError: no connection was free, or the server didn't answer in time.
    """
    is_late = threading.Event()
    try:
        call = submit(partial(_fetch_rows, engine, statement, timeout_seconds, is_late))
        return wait_with_deadline(timeout_seconds, call)
    except DeadlineError as error:
        is_late.set()
        raise TimeoutError(no_answer(timeout_seconds)) from error


def _fetch_rows(
    engine: Engine, statement: BoundStatement, timeout_seconds: float, is_late: threading.Event
) -> list[Row[Any]]:
    with translate_timeouts(timeout_seconds), engine.connect() as connection:
        try:
            return _execute_with_deadline(connection, statement, timeout_seconds)
        finally:
            if is_late.is_set():  # its pool may be gone by now: back there nobody would close it
                connection.invalidate()


def _execute_with_deadline(connection: Connection, statement: BoundStatement, timeout_seconds: float) -> list[Row[Any]]:
    """Return the rows of a statement that the server cancels when it is late."""
    connection.execution_options(**AUTOCOMMIT)
    driver: Any = connection.connection.driver_connection
    if connection.dialect.driver == "psycopg2":  # its cancel would stop all threads until the server replies
        event.listen(connection, "before_cursor_execute", _server_timeout_hook(timeout_seconds), retval=True)
        return list(connection.execute(*statement).all())
    timer = threading.Timer(timeout_seconds, driver.cancel_safe)
    timer.daemon = True
    timer.start()
    try:
        return list(connection.execute(*statement).all())
    finally:
        timer.cancel()
        timer.join()  # a cancel under way must hit no other statement


def _server_timeout_hook(timeout_seconds: float) -> Callable[..., tuple[str, Any]]:
    """Return a hook that sets the server's own deadline in the statement's round trip."""
    milliseconds = _milliseconds(timeout_seconds)
    # A stricter setting stays. The setting lasts for the transaction, which these statements make together.
    deadline = (
        f"SELECT set_config('statement_timeout', '{milliseconds}', true)"
        " WHERE current_setting('statement_timeout')::interval"
        f" NOT BETWEEN interval '1 ms' AND interval '{milliseconds} ms'; "
    )
    return lambda _connection, _cursor, statement, parameters, *_: (deadline + statement, parameters)


async def await_rows(rows: Awaitable[T], timeout_seconds: float) -> T:
    """Await `rows`. If late they are cancelled; that the driver then tells the server isn't waited for.

    Raises:
        TimeoutError: no connection was free, or there was no answer in time.
    """
    task = asyncio.ensure_future(rows)
    try:
        with translate_timeouts(timeout_seconds):
            await asyncio.wait([task], timeout=timeout_seconds)
            if task.done():
                return task.result()
    finally:
        task.cancel()
    raise TimeoutError(no_answer(timeout_seconds))


async def execute_async(engine: AsyncEngine, statement: BoundStatement) -> list[Row[Any]]:
    """Fetch the rows of a statement in one round trip. `await_rows` gives it a deadline."""
    async with engine.connect() as connection:
        return list((await (await connection.execution_options(**AUTOCOMMIT)).execute(*statement)).all())


def no_answer(timeout_seconds: float) -> str:
    """Return the message for a server that doesn't answer in time."""
    return f"no answer from Postgres within {timeout_seconds:g} s; the statement was given up"


def _milliseconds(seconds: float) -> int:
    return min(math.ceil(seconds * 1000), 2**31 - 1)


@contextmanager
def translate_timeouts(timeout_seconds: float) -> Iterator[None]:
    """Raise what the pool, the server or the driver says of a deadline as a TimeoutError."""
    try:
        yield
    except PoolTimeoutError as error:
        raise TimeoutError(
            "no connection to Postgres was free in time, and the statement was not sent: run fewer queries at once, "
            "raise timeout_seconds, or raise pool_size if the engine is your own"
        ) from error
    except DBAPIError as error:
        driver = driver_error(error)
        state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
        if state == _CANCELED or type(driver).__name__ == "ConnectionTimeout":
            raise TimeoutError(no_answer(timeout_seconds)) from driver
        raise


_CANCELED = "57014"
"""SQLSTATE of a statement that was canceled."""


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
