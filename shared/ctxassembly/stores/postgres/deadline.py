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

from ctxassembly.concurrency import DeadlineError, awaited_within, in_background, within
from ctxassembly.errors import missing_extra
from ctxassembly.safe_repr import counted

try:
    from sqlalchemy import Engine, QueuePool, Row, event
    from sqlalchemy.exc import TimeoutError as PoolTimeoutError
    from sqlalchemy.ext.asyncio import AsyncEngine
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("sqlalchemy",)) from error

Answer = TypeVar("Answer")
Asked = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""

AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""Options without a transaction: BEGIN and ROLLBACK would be two more round trips."""
GRACE_SECONDS = 1.0
"""Time for the server to cancel a statement before its connection is cut."""


def read(ready: Callable[[], Engine], asked: Asked, timeout_seconds: float) -> list[Row[Any]]:
    """Fetch the rows of a statement in one round trip, on a connection of the engine that `ready` gives.

    The deadline covers `ready`, the connection and the answer.

    Raises:
        TimeoutError: there was no answer in time.
    """
    with _deadline(_Fetch(ready, asked, timeout_seconds)) as future:
        return within(timeout_seconds, future)


async def read_in_background(ready: Callable[[], Engine], asked: Asked, timeout_seconds: float) -> list[Row[Any]]:
    """The same as `read`, awaited."""
    with _deadline(_Fetch(ready, asked, timeout_seconds)) as future:
        return await awaited_within(timeout_seconds, future)


async def awaited(rows: Awaitable[Answer] | Future[Answer], timeout_seconds: float) -> Answer:
    """Await `rows`, which asks Postgres on this event loop or, as a future, on another one.

    If late, it is cancelled, and the driver tells the server. Nobody waits until it has.

    Raises:
        TimeoutError: there was no answer in time.
    """
    try:
        return await awaited_within(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_given_up(timeout_seconds)) from error


def waited(rows: Future[Answer], timeout_seconds: float) -> Answer:
    """The same as `awaited`, in a thread that waits for the event loop of another one."""
    try:
        return within(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_given_up(timeout_seconds)) from error


async def arows(engine: AsyncEngine, asked: Asked) -> list[Row[Any]]:
    """Fetch the rows of a statement in one round trip. It has no deadline: `awaited` and `waited` give it one."""
    async with engine.connect() as connection:
        return list((await (await connection.execution_options(**AUTOCOMMIT)).execute(*asked)).all())


class _Fetch:
    """A statement under way, which another thread may give up at any moment."""

    def __init__(self, ready: Callable[[], Engine], asked: Asked, timeout_seconds: float) -> None:
        self._ready, self._asked, self.timeout_seconds = ready, asked, timeout_seconds
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._late = False
        self._driver: Any = None
        self._has_begun = False
        self.connections = 0
        """The size of the pool, if all of its connections were in use when this statement asked for one."""
        _waiting.add(self)
        self._queue = len(_waiting)

    def rows(self) -> list[Row[Any]]:
        self._has_begun = True
        engine = self._ready()
        self.connections = _all_in_use(engine)
        try:
            connecting = engine.connect()
        except PoolTimeoutError as error:
            raise TimeoutError(self.given_up()) from error
        finally:
            self.left()
        with connecting as connection:
            connection.execution_options(**AUTOCOMMIT)
            if connection.dialect.driver == "psycopg2":
                event.listen(connection, "before_cursor_execute", _timed(self.timeout_seconds), retval=True)
            with self._lock:
                if self._late:
                    connection.invalidate()  # its pool may be gone, which would leave it open
                    raise TimeoutError(self.given_up())
                self._driver = connection.connection.driver_connection
            try:
                return list(connection.execute(*self._asked).all())
            finally:
                with self._lock:
                    self._driver = None
                    if self._late:  # a cancellation still under way must hit no other statement
                        connection.invalidate()
                self._ended.set()

    def left(self) -> None:
        """Wait for a connection no longer."""
        _waiting.discard(self)

    def given_up(self) -> str:
        """Return the message for a statement that is late. One that still waits for a connection never was sent."""
        # Not begun: all threads are taken, each by a statement that has a connection or waits for one.
        if self in _waiting and (self.connections or not self._has_begun):
            return _queued(self.timeout_seconds, max(self._queue, len(_waiting)), self.connections)
        return _given_up(self.timeout_seconds)

    def give_up(self) -> None:
        with self._lock:
            self._late = True
            if self._driver is not None:
                in_background(partial(self._end, self._driver))

    def _end(self, driver: Any) -> None:
        """Have the server cancel; if the thread doesn't end, shut its socket."""
        try:
            if hasattr(driver, "cancel_safe") and _can_cancel():
                driver.cancel_safe(timeout=GRACE_SECONDS)
        finally:
            if not self._ended.wait(GRACE_SECONDS):
                with self._lock:
                    if self._driver is not None and hasattr(driver, "fileno"):
                        shut(driver.fileno())


_waiting: set[_Fetch] = set()
"""The statements of this process that have no connection yet."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)


def _all_in_use(engine: Engine) -> int:
    """Return the size of the engine's pool if it has no connection left, else 0."""
    pool = engine.pool
    most_more = getattr(pool, "_max_overflow", -1)  # it has no public name; -1 is no limit
    if not isinstance(pool, QueuePool) or most_more < 0:
        return 0
    size = pool.size() + most_more
    return size if pool.checkedout() >= size else 0


@contextmanager
def _deadline(fetch: _Fetch) -> Iterator[Future[list[Row[Any]]]]:
    """Start `fetch`, and give it up if it isn't done at the end of the context."""
    future = in_background(fetch.rows)
    try:
        yield future
    except DeadlineError as error:
        raise TimeoutError(fetch.given_up()) from error
    finally:
        fetch.left()
        if future.cancelled() or not future.done():
            fetch.give_up()


def _timed(timeout_seconds: float) -> Callable[..., tuple[str, Any]]:
    """A hook that sets the server's own deadline, shortly after ours, in the same round trip as the statement."""
    milliseconds = min(math.ceil(timeout_seconds * 1000) + 100, 2**31 - 1)
    # A stricter setting stays. The setting lasts for the transaction, which these statements make together.
    deadline = (
        f"SELECT set_config('statement_timeout', '{milliseconds}', true)"
        " WHERE current_setting('statement_timeout')::interval"
        f" NOT BETWEEN interval '1 ms' AND interval '{milliseconds} ms'; "
    )

    def prefixed(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        return deadline + statement, parameters

    return prefixed


def _can_cancel() -> bool:
    """True if psycopg's libpq can cancel without stopping all threads, which it can from version 17."""
    from psycopg import capabilities

    return capabilities.has_cancel_safe()


def shut(descriptor: int) -> None:
    """Shut a socket down, so that its reader finds the end of the stream: closing it would not wake the reader."""
    with socket.socket(fileno=os.dup(descriptor)) as shut:
        shut.shutdown(socket.SHUT_RDWR)


def _given_up(timeout_seconds: float) -> str:
    return (
        f"no answer from Postgres within {timeout_seconds:g} s; the statement was given up and its connection dropped"
    )


def _queued(timeout_seconds: float, waiting: int, connections: int) -> str:
    known = f"the {counted(connections, 'connection')} of the pool" if connections else "connections of the pool"
    return (
        f"no answer from Postgres within {timeout_seconds:g} s: {counted(waiting, 'query', 'queries')} waited for "
        f"{known}, and this one was not sent; ask fewer at once, allow more "
        "time (timeout_seconds), or raise pool_size where the engine is your own"
    )
