"""Work on a table that may take long, on a connection outside the pool, and the state of an index.

Work continues as long as the server is working, and every wait has an end:

- A statement that waits for a lock blocks all later requests for it. So it gives up after `LOCK_SECONDS`
  (`lock_timeout`, which applies even if this process dies), and is tried again after a pause, for `timeout_seconds`.
  The error names the transactions that have been open for as long.
- Callers take turns by an advisory lock of a transaction: behind a pooler a session lock would stay on another client's
  connection. Clients that only write rows share a turn. A turn takes as long as its holder works; the server ends the
  transaction of one that is idle. Who waits for one pauses in between: an index that is built concurrently waits
  for all transactions.
- Statements outside a transaction have a `lock_timeout` on a direct connection alone: behind a pooler it would reach
  other clients.
- After a silence the server is asked on another connection whether it still answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, StoreError
from ctxassembly.stores.postgres.connection import (
    AUTOCOMMIT,
    SQL_SETTINGS,
    Server,
    driver_error,
    make_unpooled_engine,
    query_rows,
    translate_errors,
    translate_timeouts,
)
from ctxassembly.stores.postgres.table import (
    TSV,
    IndexedTable,
    TableInfo,
    describe_table,
    members_sql,
    quoted_name,
    text_literal,
)

if TYPE_CHECKING:
    from psycopg import Connection


T = TypeVar("T")
Turn = Literal["alone", "shared"]

LOCK_SECONDS = 2.0
"""The longest wait for a lock in one go."""
PAUSE_SECONDS = 0.2
"""Pause between two tries, for clients that queued behind the first one."""
_MEMORY = "greatest(pg_size_bytes(current_setting('maintenance_work_mem')) / 1024, 512 * 1024) || 'kB'"
"""512 MB for building an HNSW index, unless the server gives more: one that doesn't fit takes many times as long."""

_BEGIN_SQL = (
    "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', '60s', true),"
    f" set_config('maintenance_work_mem', {_MEMORY}, true), {SQL_SETTINGS}"
)
_TURN_SQL = "SELECT pg_advisory_xact_lock{shared}(hashtext(%s)), pg_stat_force_next_flush()"
"""What a transaction wrote counts as changed from its end on, not from after the next ANALYZE on."""
_DIRECT_SQL = (
    f"SELECT set_config('lock_timeout', %s, false), set_config('maintenance_work_mem', {_MEMORY}, false)"
    " WHERE pg_backend_pid() = %s"
)
"""Behind a pooler, where the process is another than the connection's, a setting would reach others."""
_HELD_SQL = (
    "SELECT set_config('application_name', 'ctxassembly at work', true),"
    " set_config('idle_in_transaction_session_timeout', '0', true)"
)
_HOLDERS_SQL = """
SELECT a.pid, a.application_name, a.state, a.state_change, extract(epoch FROM now() - a.state_change)::float8
FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
  AND a.application_name <> 'ctxassembly at work' AND a.xact_start < now() - make_interval(secs => %s)
ORDER BY a.xact_start LIMIT 3
"""


class Step(NamedTuple):
    """A statement, and its effect on other users of the table."""

    sql: str
    note: str = ""
    """Empty if there is no effect."""
    name: str = ""
    """The name of the index that it makes, if any."""
    is_alone: bool = False
    """True if PostgreSQL takes it only outside a transaction."""


class MaintenanceConnection:
    """A connection for maintenance that commits each statement by itself."""

    def __init__(self, server: Server, sql: SqlConnection, seconds: float) -> None:
        self.sql = sql
        """For statements of SQLAlchemy."""
        self.connection: Connection[Any] = sql.connection.driver_connection  # type: ignore[assignment]
        self._server, self._seconds = server, seconds
        self._looked_at = time.monotonic()

    def execute(self, table: str, steps: Sequence[Step]) -> None:
        """Execute `steps` on `table`, each in a transaction of its own if PostgreSQL lets it.

        Raises:
            TimeoutError: a client holds a lock.
        """
        from psycopg.errors import LockNotAvailable

        settings = (f"{round(self._seconds * 1000)}ms", self.connection.info.backend_pid)
        for step in steps:
            if not step.is_alone:
                self.retry_on_lock(table, partial(self.connection.execute, step.sql.encode()))
                continue
            self.connection.execute(_DIRECT_SQL.encode(), settings)
            try:
                self.connection.execute(step.sql.encode())
            except LockNotAvailable as error:
                raise self._lock_error(table) from error

    def describe_table(self, table: IndexedTable) -> TableInfo:
        """Describe the table as it is now. PostgreSQL locks a table to describe its indexes."""
        return self.retry_on_lock(table.full_name, partial(describe_table, self.connection, table.schema, table.name))

    def retry_on_lock(self, table: str, work: Callable[[], T], *, turn: Turn | None = None) -> T:
        """Return the result of `work`, run in a transaction once no lock on `table` blocks it.

        With a `turn`, a caller works on `table` alone, or with others that share the turn, as long as it needs. If one
        of those writes the same rows or words, the caller has a turn alone instead.

        Raises:
            TimeoutError: a client holds a lock on `table`.
        """
        from psycopg.errors import DeadlockDetected, LockNotAvailable, UniqueViolation

        waited = 0.0
        while True:
            began: float | None = None
            try:
                with self.connection.transaction():
                    self._begin(table, turn)
                    began = time.monotonic()
                    return work()
            except (LockNotAvailable, DeadlockDetected, UniqueViolation, DBAPIError) as error:
                if turn == "shared" and began:
                    turn = "alone"
                    continue
                if not isinstance(driver_error(error), LockNotAvailable):
                    raise
                waited += time.monotonic() - began if began else 0.0
                if waited >= self._seconds:
                    raise self._lock_error(table) from error
                time.sleep(PAUSE_SECONDS)

    def hold_turn(self, table: str, work: Callable[[], T]) -> T:
        """Return the result of `work` on this connection, while another one has the turn alone."""
        with _open_connection(self._server, self._seconds) as other:

            def work_in_turn() -> T:
                # It also drops the snapshot of the statement before it: CREATE INDEX CONCURRENTLY would wait for that.
                other.connection.execute(_HELD_SQL)
                return work()

            return other.retry_on_lock(table, work_in_turn, turn="alone")

    def _begin(self, table: str, turn: Turn | None) -> None:
        """Set the settings of a transaction, and wait for the turn if asked."""
        self.connection.execute(_BEGIN_SQL.encode(), (f"{round(min(LOCK_SECONDS, self._seconds) * 1000)}ms",))
        if turn:
            sql = _TURN_SQL.format(shared="_shared" if turn == "shared" else "")
            self.connection.execute(sql.encode(), (table,))

    def _lock_error(self, table: str) -> TimeoutError:
        """Return the error for a lock on `table`, which names the transactions that have been open for as long."""
        named = [
            f"process {pid} ({application or 'without application_name'}, {state} since {since:%Y-%m-%d %H:%M:%S%z}, "
            f"for {seconds:.0f} s)"
            for pid, application, state, since, seconds in self.connection.execute(_HOLDERS_SQL, (self._seconds,))
            if since
        ]
        holders = ", ".join(named) or "clients that this user can't see"
        return TimeoutError(
            f"{table} is locked by {holders}; nothing was changed by this step: try again when it has ended"
        )

    def look(self) -> None:
        """Ask once in a while whether the server still answers, and close the connection if it doesn't.

        Raises:
            TimeoutError: it doesn't.
        """
        if time.monotonic() - self._looked_at < self._seconds:
            return
        try:
            with suppress(StoreError):  # what is under way fails by itself if the server is gone
                query_rows(self._server, (text("SELECT 1"), {}), self._seconds)
        except TimeoutError:
            self.connection.close()
            raise
        self._looked_at = time.monotonic()


@contextmanager
def open_maintenance(server: Server, seconds: float) -> Iterator[MaintenanceConnection]:
    """Open a new connection, outside the pool, for work that may take long.

    Raises:
        ConfigError: the user may not do what is done inside, or there is no such schema.
        StoreError: the database failed.
        TimeoutError: the server doesn't answer for `seconds`, or a client holds a lock.
    """
    with translate_errors(), _open_connection(server, seconds) as work:
        from psycopg import Error, errors  # there by now, or the engine has said so

        try:
            yield work
        except (Error, DBAPIError) as error:
            driver = driver_error(error)
            if isinstance(driver, errors.InsufficientPrivilege):
                allowed = "one for which this user may do that; attach(..., dry_run=True) prints what is missing"
                raise ConfigError("url", allowed, str(driver).strip()) from driver
            if isinstance(driver, errors.InvalidSchemaName):
                raise ConfigError("schema", "one that exists", str(driver).strip()) from driver
            raise


@contextmanager
def _open_connection(server: Server, seconds: float) -> Iterator[MaintenanceConnection]:
    try:
        with translate_timeouts(seconds):
            sql = make_unpooled_engine(server, seconds).connect().execution_options(**AUTOCOMMIT)
    except DBAPIError as error:  # as of the driver's class, as all else that fails on this connection
        raise driver_error(error) from None
    work = MaintenanceConnection(server, sql, seconds)
    work.connection.on_silence = work.look  # type: ignore[attr-defined]
    try:
        yield work
    finally:
        if work.connection.closed:
            sql.invalidate()
        sql.close()


STALE_SHARE = 0.1
"""Share of the rows that changed since the last ANALYZE."""
GOOD_RECALL = 0.95
"""Share of the exact hits that HNSW finds: below it, raise `ef_search`."""


@dataclass(frozen=True)
class Health:
    """The state of an index. Printed, it is a table."""

    chunks: int
    without_words: int
    """Chunks without an indexed word: they are empty, or the language has no words for their text."""
    without_vector: int
    changed_since_analyze: float
    """Share of the rows; 1 if the table was never analyzed."""
    recall: float | None
    """Mean share of the exact nearest chunks among those that a search finds, for vectors of the table itself; None
    without an HNSW index or vectors."""
    missing_indexes: Sequence[str] = ()
    """Indexes that aren't there, or can't be used."""

    @property
    def remedies(self) -> Mapping[str, str]:
        """A remedy for each problem; empty if there is none."""
        possible = {
            "without vector": (self.without_vector, "embed them: add(chunks, embed=...), or the vector store's own"),
            "changed since ANALYZE": (self.changed_since_analyze >= STALE_SHARE, "index.refresh()"),
            "recall of HNSW": (self.recall is not None and self.recall < GOOD_RECALL, "a higher ef_search"),
            "missing indexes": (self.missing_indexes, "create(...) and add(...), or attach(...), by the table's owner"),
        }
        return {problem: remedy for problem, (is_there, remedy) in possible.items() if is_there}

    def __str__(self) -> str:
        values = {
            "chunks": f"{self.chunks:,}",
            "without words": f"{self.without_words:,}",
            "without vector": f"{self.without_vector:,}",
            "changed since ANALYZE": f"{self.changed_since_analyze:.0%}",
            "recall of HNSW": "not measured" if self.recall is None else f"{self.recall:.3f}",
            "missing indexes": ", ".join(self.missing_indexes) or "none",
        }
        width = max(map(len, values.values()))
        return "\n".join(
            f"{name:21}  {value:{width}}  {self.remedies.get(name, '')}".rstrip() for name, value in values.items()
        )


def measure_health(
    connection: Connection[Any], table: IndexedTable, info: TableInfo, *, sample: int, limit: int
) -> Health:
    """Return the state of `table`. Exact search reads the whole table once for each sampled chunk.

    Raises:
        ConfigError: `sample` or `limit` is below 1.
    """
    check_int("sample", sample, 1)
    check_int("limit", limit, 1)
    vector = quoted_name(table.embedding)
    # Autovacuum analyzes the partitions, and not the whole: its statistics are as old as its number of rows.
    statement = (
        "WITH counted AS (SELECT count(*) AS chunks,"
        f" count(*) FILTER (WHERE {TSV} = '' OR {TSV} IS NULL) AS without_words,"
        f" count(*) FILTER (WHERE {vector} IS NULL) AS without_vector FROM {table.full_name}),"
        " statistics AS (SELECT sum(n_mod_since_analyze"
        " + CASE relkind WHEN 'p' THEN abs(reltuples - (SELECT chunks FROM counted)) ELSE 0 END) AS modified,"
        f" bool_or(oid = {text_literal(table.full_name)}::regclass"
        " AND coalesce(last_analyze, last_autoanalyze) IS NULL) AS is_unknown"
        f" FROM pg_stat_user_tables JOIN pg_class ON oid = relid WHERE oid = ANY ({members_sql(table.full_name)}))"
        " SELECT counted.*, CASE WHEN chunks = 0 THEN 0.0 WHEN is_unknown THEN 1.0"
        " ELSE least(coalesce(modified, 0) / chunks, 1.0) END::float8 FROM counted, statistics"
    )
    [(chunks, without_words, without_vector, changed)] = connection.execute(statement.encode()).fetchall()
    expected = {
        "GIN on the words": f"gin ({TSV})" in " ".join(info.indexes.values()),
        "HNSW on the vectors": info.has_vector_index or not chunks or not table.can_have_hnsw,
        "table of words": info.has_lexemes,
        **{f"{name}, which is invalid": False for name in info.invalid_indexes},
    }
    missing = tuple(name for name, is_there in expected.items() if not is_there)
    recall = _measure_recall(connection, table, sample, limit) if info.has_vector_index else None
    return Health(chunks, without_words, without_vector, changed, recall, missing)


def _measure_recall(connection: Connection[Any], table: IndexedTable, sample: int, limit: int) -> float | None:
    """Compare the hits of a normal search with the hits of a search without indexes."""
    # A percent sign in a name would begin a parameter.
    names = (quoted_name(table.key), table.full_name, quoted_name(table.embedding))
    key, table_name, vector = (name.replace("%", "%%") for name in names)
    some = f"SELECT {key} FROM {table_name} WHERE {vector} IS NOT NULL ORDER BY md5({key}::text), {key} LIMIT %s"
    ids = connection.execute(some.encode(), (sample,)).fetchall()
    column = f"{vector}::halfvec({table.dimensions})" if table.is_half_precision else vector
    nearest = (
        f"SELECT {key} FROM {table_name} WHERE {vector} IS NOT NULL"
        f" ORDER BY {column} <=> (SELECT {column} FROM {table_name} WHERE {key} = %s)"
    )
    by_index, statement = f"{nearest} LIMIT {limit}", f"{nearest}, {key} LIMIT {limit}"
    shares: list[float] = []
    for id_ in ids:
        found = set(connection.execute(by_index.encode(), id_).fetchall())
        connection.execute("SET LOCAL enable_indexscan = off")
        exact = set(connection.execute(statement.encode(), id_).fetchall())
        connection.execute("SET LOCAL enable_indexscan = on")
        shares.append(len(found & exact) / len(exact))
    return sum(shares) / len(shares) if shares else None
