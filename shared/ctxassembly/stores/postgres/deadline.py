"""Rows from Postgres within a deadline that holds whatever the server, the pool and the driver do.

A synchronous statement runs in a thread that can't be stopped (see `concurrency`), so it is ended from its other end,
in three steps:

1. At the deadline the caller continues. The connection never returns to the pool.
2. The driver asks the server to cancel the statement. psycopg2's `cancel` would stop all threads until the server
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

from sqlalchemy import Engine, Row, event
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.concurrency import DeadlineError, await_with_deadline, submit, wait_with_deadline

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
    """Async version of `fetch_rows`."""
    with _run_with_deadline(_Fetch(get_engine, statement, timeout_seconds)) as future:
        return await await_with_deadline(timeout_seconds, future)


async def await_rows(rows: Awaitable[T] | Future[T], timeout_seconds: float) -> T:
    """Await `fetch`, which asks Postgres on this event loop or, as a future, on another one.

    If late, it is cancelled, and the driver notifies the server in the background.

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

    def add_timeout(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        return deadline + statement, parameters

    return add_timeout


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
