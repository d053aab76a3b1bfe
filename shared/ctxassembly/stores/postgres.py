"""Chunks from a Postgres table in one statement, for all documents at once, by bound parameters alone, and on time.

An index on document and place serves it, be they columns or in the JSON metadata:

    CREATE INDEX ON chunks (document_id, chunk_index)
    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Engine,
    Row,
    Select,
    Text,
    any_,
    bindparam,
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
from sqlalchemy.sql.sqltypes import NULLTYPE

from ctxassembly.calls import DeadlineError, awaited_within, in_background, within
from ctxassembly.types import ChunkRef

Answer = TypeVar("Answer")

AUTOCOMMIT: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
"""No transaction: BEGIN and ROLLBACK would be two more round trips."""
MOST_TABLES = 256
"""As many as are remembered: one for each vector store and each form, or for PGVector each value, of a filter."""
GRACE_SECONDS = 1.0
"""For a server to answer to being told to give up, before its connection is cut."""


Asked = tuple[Any, Mapping[str, Any]]
"""A statement and the values of its parameters."""


@dataclass(frozen=True)
class ChunkTable:
    """Where a table keeps chunks. The embedding is not among it. Documents are compared as text, and so are indexes.

    It makes a statement once for each kind of question, and all that changes from one question to the next is bound:
    then SQLAlchemy compiles it once, and the server has it prepared where the driver does that.
    """

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    index: ColumnElement[Any]
    rows: Select[Any]
    """What is read of each chunk, and what all of them must satisfy: the collection, the caller's filter."""
    ordered: bool = False
    """Whether indexes are a column of integers: then those that follow each other are asked for as one range."""
    _made: dict[tuple[bool, bool, bool], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def asked(self, refs: Sequence[ChunkRef]) -> Asked:
        """What asks for the chunks that `refs` mean, which are storable and at least one."""
        ids = [ref.chunk_id for ref in refs if ref.chunk_id is not None]
        documents = [ref.document_id for ref in refs if ref.index is None and ref.chunk_id is None]
        places = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
        bound: dict[str, Any] = {}
        if places:
            asked = _ranges(places) if self.ordered else _spelled(places)
            bound |= zip(RANGES if self.ordered else PLACES, map(list, zip(*asked, strict=True)), strict=True)
        if ids:
            bound["ids"] = ids
        if documents:
            bound["documents"] = documents
        kinds = (bool(places), bool(ids), bool(documents))
        if kinds not in self._made:
            self._made[kinds] = self._statement(*kinds)
        return self._made[kinds], bound

    def _statement(self, places: bool, ids: bool, documents: bool) -> Select[Any] | CompoundSelect[Any]:
        parts = []
        if places and self.ordered:
            asked = _unnested(RANGES, BigInteger)
            document, low, high = (asked.c[name] for name in RANGES)
            parts.append(self.rows.where(self.document_id == document, self.index.between(low, high)))
        elif places:
            pairs = _unnested(PLACES, Text)
            parts.append(self.rows.where(tuple_(self.document_id, self.index).in_(select(pairs))))
        if ids:
            # Of the column's own type, which may be uuid.
            parts.append(self.rows.where(self.id == func.any(bindparam("ids", type_=NULLTYPE))))
        if documents:
            parts.append(self.rows.where(self.document_id == any_(texts("documents"))))
        # A union, since Postgres uses no index for an OR of different columns.
        return union_all(*parts) if len(parts) > 1 else parts[0]


PLACES = ("in_document", "at_index")
RANGES = ("in_document", "from_index", "to_index")
"""The parameters that places are bound to, arrays of equal length."""


def _unnested(names: Sequence[str], of: type[Text | BigInteger]) -> Any:
    """The table `asked` with a row for each place; its first column is text."""
    arrays = [texts(names[0]), *(cast(bindparam(name), ARRAY(of)) for name in names[1:])]
    return func.unnest(*arrays).table_valued(*names).render_derived(name="asked")


def _spelled(places: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """JSON keeps a number as it was written: 7 or 7.0."""
    return [(document, form) for document, index in dict.fromkeys(places) for form in (f"{index}", f"{index}.0")]


def _ranges(places: Sequence[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """The places as ranges from first to last index, none of which touches another."""
    found: list[tuple[str, int, int]] = []
    for document, index in sorted(set(places)):
        if found and found[-1][0] == document and found[-1][2] == index - 1:
            found[-1] = (document, found[-1][1], index)
        else:
            found.append((document, index, index))
    return found


def storable(refs: Sequence[ChunkRef]) -> list[ChunkRef]:
    """Those of `refs` that Postgres could keep. A single other one would fail the whole statement."""
    return [
        ref
        for ref in refs
        if all(map(_is_text, (ref.document_id, ref.chunk_id or ""))) and (ref.index is None or abs(ref.index) < 2**63)
    ]


def _is_text(value: str) -> bool:
    """Whether a text column could hold `value`: UTF-8, without NUL."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def texts(name: str) -> ColumnElement[Any]:
    """The parameter `name`, an array of texts."""
    return cast(bindparam(name), ARRAY(Text))


_tables: dict[Hashable, ChunkTable] = {}


def remembered(key: Hashable, make: Callable[[], ChunkTable]) -> ChunkTable:
    """The table made under `key` before, with its statements; `make` makes it. So many are kept as are in use."""
    table = _tables.pop(key, None) or make()
    _tables[key] = table  # the last used is the last to go
    while len(_tables) > MOST_TABLES:
        _tables.pop(next(iter(_tables)), None)
    return table


def json_text(column: ColumnElement[Any], key: str) -> ColumnElement[str]:
    """The text at `key` of a JSON column, which may be a dotted path.

    The keys stand in the statement as literals, quoted by the dialect: an index on the expression is found only so.
    """
    *above, last = key.split(".")
    for step in above:
        column = column.op("->")(literal(step, literal_execute=True))
    return type_coerce(column, Text).op("->>", return_type=Text())(literal(last, literal_execute=True))


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
