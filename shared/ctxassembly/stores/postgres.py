"""Chunks from a Postgres table in one statement, for all documents at once, by bound parameters alone.

For tables that keep a chunk's document and place in JSON metadata and whose own interface can't ask for them, or
writes values into the statement. An index on the two expressions serves it:

    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Engine,
    Row,
    Select,
    Text,
    any_,
    cast,
    event,
    func,
    literal,
    select,
    tuple_,
    type_coerce,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.sql.expression import CompoundSelect

from ctxassembly.calls import DeadlineError, awaited_within, in_background, within
from ctxassembly.types import ChunkRef

Answer = TypeVar("Answer")

AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""No transaction: BEGIN and ROLLBACK would be two more round trips."""
GRACE_SECONDS = 1.0
"""For a server to answer to being told to give up, before its connection is cut."""


@dataclass(frozen=True)
class ChunkTable:
    """Where a table keeps chunks. All columns are compared as text; the embedding is not among them."""

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    index: ColumnElement[Any]
    text: ColumnElement[Any]
    metadata: ColumnElement[Any]
    where: tuple[ColumnElement[bool], ...] = ()
    """What every row must satisfy: the collection, the caller's filter."""

    def select(self, refs: Sequence[ChunkRef]) -> Select[Any] | CompoundSelect[Any]:
        """The statement whose rows (id, text, metadata) are the chunks that `refs` mean."""
        rows = select(self.id.label("id"), self.text.label("text"), self.metadata.label("metadata")).where(*self.where)
        # A union, since Postgres uses no index for an OR of different columns.
        parts = [rows.where(condition) for condition in self._conditions(refs)]
        return union_all(*parts) if len(parts) > 1 else parts[0]

    def _conditions(self, refs: Sequence[ChunkRef]) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        if places := [(ref.document_id, ref.index) for ref in refs if ref.index is not None]:
            # JSON keeps a number as it was written: 7 or 7.0.
            spelled = [(document, form) for document, index in places for form in (f"{index}", f"{index}.0")]
            asked = func.unnest(*(_texts(column) for column in zip(*spelled, strict=True)))
            pairs = select(asked.table_valued("document_id", "index").render_derived(name="asked"))
            conditions.append(tuple_(self.document_id, self.index).in_(pairs))
        if ids := [ref.chunk_id for ref in refs if ref.chunk_id is not None]:
            conditions.append(self.id == any_(_texts(ids)))
        if documents := [ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None]:
            conditions.append(self.document_id == any_(_texts(documents)))
        return conditions


def json_text(column: ColumnElement[Any], key: str) -> ColumnElement[str]:
    """The text at `key` of a JSON column, which may be a dotted path.

    The keys stand in the statement as literals, quoted by the dialect: an index on the expression is found only so.
    """
    *above, last = key.split(".")
    for step in above:
        column = column.op("->")(literal(step, literal_execute=True))
    return type_coerce(column, Text).op("->>", return_type=Text())(literal(last, literal_execute=True))


def read(ready: Callable[[], Engine], statement: Any, timeout_seconds: float) -> list[Row[Any]]:
    """The rows of `statement`, in one round trip, on a connection of the engine that `ready` gives.

    The deadline holds for all of it: `ready`, the connection and the answer. It runs in a thread that is left behind
    when it is late; its connection then never goes back to the pool.

    Raises:
        TimeoutError: there was no answer in time.
    """
    with _deadline(_Asked(ready, statement, timeout_seconds)) as future:
        return within(timeout_seconds, future)


async def read_in_background(ready: Callable[[], Engine], statement: Any, timeout_seconds: float) -> list[Row[Any]]:
    """The same as `read`, awaited."""
    with _deadline(_Asked(ready, statement, timeout_seconds)) as future:
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


async def arows(engine: AsyncEngine, statement: Any) -> list[Row[Any]]:
    """The rows of `statement`, in one round trip; for `awaited` and `waited`, since it has no deadline."""
    async with engine.connect() as connection:
        return list((await (await connection.execution_options(**AUTOCOMMIT)).execute(statement)).all())


class _Asked:
    """One statement on its way, which another thread may give up at any moment."""

    def __init__(self, ready: Callable[[], Engine], statement: Any, timeout_seconds: float) -> None:
        self._ready, self._statement, self.timeout_seconds = ready, statement, timeout_seconds
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
                return list(connection.execute(self._statement).all())
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
            # psycopg2 can't: its `cancel` stops all threads until the server answers. There, the server has a deadline.
            if hasattr(driver, "cancel_safe") and _can_cancel():
                driver.cancel_safe(timeout=GRACE_SECONDS)
        finally:
            if not self._ended.wait(GRACE_SECONDS):
                with self._lock:
                    if self._driver is not None and hasattr(driver, "fileno"):
                        _shut(driver.fileno())


@contextmanager
def _deadline(asked: _Asked) -> Iterator[Future[list[Row[Any]]]]:
    """The future of `asked`, which is given up if it isn't there in the end."""
    future = in_background(asked.rows)
    try:
        yield future
    except DeadlineError as error:
        raise TimeoutError(_given_up(asked.timeout_seconds)) from error
    finally:
        if future.cancelled() or not future.done():
            asked.give_up()


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


def _texts(values: Sequence[Any]) -> ColumnElement[Any]:
    return cast(list(values), ARRAY(Text))
