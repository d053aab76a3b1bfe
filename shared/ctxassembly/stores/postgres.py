"""Chunks from a Postgres table in one statement, for all documents at once, by bound parameters alone.

For tables that keep a chunk's document and place in JSON metadata and whose own interface can't ask for them, or
writes values into the statement. An index on the two expressions serves it:

    CREATE INDEX ON chunks ((metadata ->> 'document_id'), (metadata ->> 'chunk_index'))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Text,
    any_,
    cast,
    func,
    literal,
    select,
    tuple_,
    type_coerce,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import CompoundSelect

from ctxassembly.types import ChunkRef


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


def read(session: Session, statement: Any, timeout_seconds: float) -> list[Row[Any]]:
    """The rows of `statement`, in one round trip.

    Raises:
        TimeoutError: there was no answer in time. The server has been told to give up.
    """
    driver: Any = _autocommitted(session).connection().connection.dbapi_connection
    late = threading.Event()

    def give_up() -> None:
        late.set()
        driver.cancel()

    timer = threading.Timer(timeout_seconds, give_up)
    timer.start()
    try:
        return list(session.execute(statement).all())
    except DBAPIError as error:
        if late.is_set():
            raise TimeoutError(f"no answer from Postgres within {timeout_seconds:g} s") from error
        raise
    finally:
        # Joined, so that a late cancel can't hit whoever gets the connection next.
        timer.cancel()
        timer.join()


async def aread(session: AsyncSession, statement: Any, timeout_seconds: float) -> list[Row[Any]]:
    """The same as `read`, awaited; here a cancelled task is what tells the server to give up."""
    try:
        await session.run_sync(_autocommitted)
        return list((await asyncio.wait_for(session.execute(statement), timeout_seconds)).all())
    except asyncio.TimeoutError as error:
        raise TimeoutError(f"no answer from Postgres within {timeout_seconds:g} s") from error


def _autocommitted(session: Session) -> Session:
    """`session`, whose connection begins no transaction: BEGIN and ROLLBACK would be two more round trips."""
    session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
    return session


def _texts(values: Sequence[Any]) -> ColumnElement[Any]:
    return cast(list(values), ARRAY(Text))
