"""Rows from Postgres on time: a deadline that holds whatever the server, the pool and the driver do."""

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

from ctxassembly.calls import DeadlineError, awaited_within, in_background, within
from ctxassembly.errors import missing_extra

try:
    from sqlalchemy import Engine, Row, event
    from sqlalchemy.ext.asyncio import AsyncEngine
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("sqlalchemy",)) from error

Answer = TypeVar("Answer")
Asked = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""

AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""No transaction: BEGIN and ROLLBACK would be two more round trips."""
GRACE_SECONDS = 1.0
"""For a server to answer to being told to give up, before its connection is cut."""


def read(ready: Callable[[], Engine], asked: Asked, timeout_seconds: float) -> list[Row[Any]]:
    """The rows of what is `asked`, in one round trip, on a connection of the engine that `ready` gives.

    The deadline holds for all of it: `ready`, the connection and the answer. It runs in a thread that is left behind
    when it is late; its connection then never goes back to the pool.

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
    """What `rows` comes to, which asks Postgres on this event loop or, as a future, on another one.

    It is cancelled when it is late, and the driver tells the server; what takes its time there is not waited for.

    Raises:
        TimeoutError: there was no answer in time.
    """
    try:
        return await awaited_within(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_given_up(timeout_seconds)) from error


def waited(rows: Future[Answer], timeout_seconds: float) -> Answer:
    """The same as `awaited`, for a thread that waits for another one's event loop."""
    try:
        return within(timeout_seconds, rows)
    except DeadlineError as error:
        raise TimeoutError(_given_up(timeout_seconds)) from error


async def arows(engine: AsyncEngine, asked: Asked) -> list[Row[Any]]:
    """The rows of what is `asked`, in one round trip; for `awaited` and `waited`, since it has no deadline."""
    async with engine.connect() as connection:
        return list((await (await connection.execution_options(**AUTOCOMMIT)).execute(*asked)).all())


class _Fetch:
    """One statement on its way, which another thread may give up at any moment."""

    def __init__(self, ready: Callable[[], Engine], asked: Asked, timeout_seconds: float) -> None:
        self._ready, self._asked, self.timeout_seconds = ready, asked, timeout_seconds
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._late = False
        self._driver: Any = None

    def rows(self) -> list[Row[Any]]:
        with self._ready().connect() as connection:
            connection.execution_options(**AUTOCOMMIT)
            if connection.dialect.driver == "psycopg2":
                event.listen(connection, "before_cursor_execute", _timed(self.timeout_seconds), retval=True)
            with self._lock:
                if self._late:
                    raise TimeoutError(_given_up(self.timeout_seconds))
                self._driver = connection.connection.driver_connection
            try:
                return list(connection.execute(*self._asked).all())
            finally:
                with self._lock:
                    self._driver = None
                    if self._late:  # whatever is still under way to it hits nobody else
                        connection.invalidate()
                self._ended.set()

    def give_up(self) -> None:
        with self._lock:
            self._late = True
            if self._driver is not None:
                in_background(partial(self._end, self._driver))

    def _end(self, driver: Any) -> None:
        """Have the server give up; if it doesn't answer to that either, have the driver give up."""
        try:
            # psycopg2's `cancel` stops all threads until the server answers: there the server has its own deadline.
            if hasattr(driver, "cancel_safe") and _can_cancel():
                driver.cancel_safe(timeout=GRACE_SECONDS)
        finally:
            if not self._ended.wait(GRACE_SECONDS):
                with self._lock:
                    if self._driver is not None and hasattr(driver, "fileno"):
                        _shut(driver.fileno())


@contextmanager
def _deadline(fetch: _Fetch) -> Iterator[Future[list[Row[Any]]]]:
    """The future of `fetch`, which is given up if it isn't there in the end."""
    future = in_background(fetch.rows)
    try:
        yield future
    except DeadlineError as error:
        raise TimeoutError(_given_up(fetch.timeout_seconds)) from error
    finally:
        if future.cancelled() or not future.done():
            fetch.give_up()


def _timed(timeout_seconds: float) -> Callable[..., tuple[str, Any]]:
    """A hook that has the server itself give up soon after the deadline, in the same round trip."""
    milliseconds = min(math.ceil(timeout_seconds * 1000) + 100, 2**31 - 1)
    # One that is stricter stands. The three are one transaction, which is all that the setting lasts for.
    deadline = (
        f"SELECT set_config('statement_timeout', '{milliseconds}', true)"
        " WHERE current_setting('statement_timeout')::interval"
        f" NOT BETWEEN interval '1 ms' AND interval '{milliseconds} ms'; "
    )

    def prefixed(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
        return deadline + statement, parameters

    return prefixed


def _can_cancel() -> bool:
    """Whether the libpq that psycopg uses can cancel without stopping all threads: from version 17."""
    from psycopg import capabilities

    return capabilities.has_cancel_safe()


def _shut(descriptor: int) -> None:
    """Let whoever reads from a socket find its end: closing it would not wake them."""
    with socket.socket(fileno=os.dup(descriptor)) as shut:
        shut.shutdown(socket.SHUT_RDWR)


def _given_up(timeout_seconds: float) -> str:
    return (
        f"no answer from Postgres within {timeout_seconds:g} s; the statement was given up and its connection dropped"
    )
