"""Rows from Postgres within a deadline that holds whatever the server, the pool and the driver do.

A synchronous statement runs in a thread that can't be stopped (see `calls`), so it is ended from its other end, in
three steps:

1. At the deadline the caller goes on. The connection never goes back to the pool.
2. The driver tells the server to cancel the statement. psycopg2's `cancel` would stop all threads until the server
   replies; there the server gets a `statement_timeout` of its own, sent with the statement.
3. If the thread hasn't ended `GRACE_SECONDS` later, its socket is shut down: it reads the end of the stream.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from ctxassembly.concurrency import DeadlineError, await_with_deadline, submit, wait_with_deadline
from ctxassembly.errors import missing_extra
from ctxassembly.safe_repr import pluralize

try:
    from sqlalchemy import Engine, QueuePool, Row, event
    from sqlalchemy.exc import TimeoutError as PoolTimeoutError
    from sqlalchemy.ext.asyncio import AsyncEngine
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("sqlalchemy",)) from error

T = TypeVar("T")
BoundStatement = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""

AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""Options without a transaction: BEGIN and ROLLBACK would be two more round trips."""
GRACE_SECONDS = 1.0
"""Time for the server to cancel a statement before its connection is cut."""


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
    """The same as `fetch_rows`, awaited."""
    with _run_with_deadline(_Fetch(get_engine, statement, timeout_seconds)) as future:
        return await await_with_deadline(timeout_seconds, future)


async def await_rows(rows: Awaitable[T] | Future[T], timeout_seconds: float) -> T:
    """Await `fetch`, which asks Postgres on this event loop or, as a future, on another one.

    If late, it is cancelled, and the driver tells the server. Nobody waits until it has.

    Raises:
        TimeoutError: there was no answer in time.
    """
    try:
        return await await_with_deadline(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_timeout_message(timeout_seconds)) from error


def wait_for_rows(rows: Future[T], timeout_seconds: float) -> T:
    """The same as `await_rows`, in a thread that waits for the event loop of another one."""
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
        self._has_begun = False
        self.busy_pool_size = 0
        """The size of the pool, if all of its connections were in use when this statement asked for one."""
        _waiting_fetches.add(self)
        self._queue_length = len(_waiting_fetches)

    def fetch(self) -> list[Row[Any]]:
        self._has_begun = True
        engine = self._get_engine()
        self.busy_pool_size = _busy_pool_size(engine)
        try:
            pooled = engine.connect()
        except PoolTimeoutError as error:
            raise TimeoutError(self.timeout_message()) from error
        finally:
            self.stop_waiting()
        with pooled as connection:
            connection.execution_options(**AUTOCOMMIT)
            if connection.dialect.driver == "psycopg2":
                event.listen(
                    connection, "before_cursor_execute", _server_timeout_hook(self.timeout_seconds), retval=True
                )
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

    def stop_waiting(self) -> None:
        """Wait for a connection no longer."""
        _waiting_fetches.discard(self)

    def timeout_message(self) -> str:
        """Return the message for a statement that is late. One that still waits for a connection never was sent."""
        # Not begun: all threads are taken, each by a statement that has a connection or waits for one.
        if self in _waiting_fetches and (self.busy_pool_size or not self._has_begun):
            return _queue_message(
                self.timeout_seconds, max(self._queue_length, len(_waiting_fetches)), self.busy_pool_size
            )
        return _timeout_message(self.timeout_seconds)

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


_waiting_fetches: set[_Fetch] = set()
"""The statements of this process that have no connection yet."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting_fetches.clear)


def _busy_pool_size(engine: Engine) -> int:
    """Return the size of the engine's pool if it has no connection left, else 0."""
    pool = engine.pool
    max_overflow = getattr(pool, "_max_overflow", -1)  # it has no public name; -1 is no limit
    if not isinstance(pool, QueuePool) or max_overflow < 0:
        return 0
    size = pool.size() + max_overflow
    return size if pool.checkedout() >= size else 0


@contextmanager
def _run_with_deadline(fetch: _Fetch) -> Iterator[Future[list[Row[Any]]]]:
    """Start `fetch`, and give it up if it isn't done at the end of the context."""
    future = submit(fetch.fetch)
    try:
        yield future
    except DeadlineError as error:
        raise TimeoutError(fetch.timeout_message()) from error
    finally:
        fetch.stop_waiting()
        if future.cancelled() or not future.done():
            fetch.cancel()


def _server_timeout_hook(timeout_seconds: float) -> Callable[..., tuple[str, Any]]:
    """A hook that sets the server's own deadline, shortly after ours, in the same round trip as the statement."""
    milliseconds = min(math.ceil(timeout_seconds * 1000) + 100, 2**31 - 1)
    # A stricter setting stays. The setting lasts for the transaction, which these statements make together.
    deadline = (
        f"SELECT set_config('statement_timeout', '{milliseconds}', true)"
        " WHERE current_setting('statement_timeout')::interval"
        f" NOT BETWEEN interval '1 ms' AND interval '{milliseconds} ms'; "
    )

    def add_timeout(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        return deadline + statement, parameters

    return add_timeout


def _can_cancel() -> bool:
    """True if psycopg's libpq can cancel without stopping all threads, which it can from version 17."""
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


def _queue_message(timeout_seconds: float, waiting: int, connections: int) -> str:
    connections_text = (
        f"the {pluralize(connections, 'connection')} of the pool" if connections else "connections of the pool"
    )
    return (
        f"no answer from Postgres within {timeout_seconds:g} s: {pluralize(waiting, 'query', 'queries')} waited for "
        f"{connections_text}, and this one was not sent; ask fewer at once, allow more "
        "time (timeout_seconds), or raise pool_size where the engine is your own"
    )
