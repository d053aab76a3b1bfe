"""Work on a table that may take long, on a connection outside the pool.

Work continues as long as the server is working, and every wait has an end:

- A statement that waits for a lock blocks all later requests for it. So it gives up after `LOCK_SECONDS`
  (`lock_timeout`, which applies even if this process dies), and is tried again after a pause, until the holder has been
  idle in its transaction for `timeout_seconds`.
- Callers take turns by an advisory lock of a transaction: behind a pooler a session lock would stay on another client's
  connection. Clients that only write rows share a turn.
- Statements outside a transaction can't have a `lock_timeout` behind a pooler. When they have been silent for a while a
  second connection looks what they wait for. It also notices a server that doesn't answer.

An error names the holders of the lock.

The state of an index, measured on the user's own table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import join_first
from ctxassembly.stores.postgres.connection import (
    AUTOCOMMIT,
    SQL_SETTINGS,
    Server,
    driver_error,
    make_unpooled_engine,
    translate_errors,
    translate_timeouts,
    watched_rows,
)
from ctxassembly.stores.postgres.schema import Step
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

_BEGIN_SQL = f"SELECT set_config('lock_timeout', %s, true), {SQL_SETTINGS}"
_TURN_SQL = "SELECT pg_advisory_xact_lock{shared}(hashtext(%s))"
_FLUSH_SQL = "SELECT pg_stat_force_next_flush()"
"""What a transaction wrote counts as changed from its end on, not from after the next ANALYZE on. PostgreSQL 15."""
_HOLDERS_SQL = """
SELECT a.pid, a.application_name, coalesce(a.state, 'not visible to this user'), coalesce(a.state_change, now()),
  extract(epoch FROM now() - coalesce(a.state_change, now()))::float8,
  coalesce(a.state = 'active' OR a.state_change > now() - make_interval(secs => %(seconds)s), false)
    OR a.application_name = 'ctxassembly at work' AS is_working, bool_or(l.mode <> 'AccessShareLock') AS strong
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND CASE WHEN %(turn)s THEN l.locktype = 'advisory' AND l.objsubid = 1
      AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtext(%(table)s)
    ELSE l.locktype = 'relation' AND l.relation = to_regclass(%(table)s) END
GROUP BY a.pid, a.application_name, a.state, a.state_change, a.xact_start
ORDER BY strong DESC, a.xact_start
"""
_CANCEL_SQL = text("""
SELECT a.pid, a.application_name, a.state, a.state_change,
  CAST(extract(epoch FROM now() - a.state_change) AS float8), pg_cancel_backend(waiting.pid)
FROM pg_stat_activity waiting JOIN pg_stat_activity a ON a.pid = ANY(pg_blocking_pids(waiting.pid))
WHERE waiting.state = 'active' AND waiting.wait_event_type = 'Lock' AND waiting.usename = current_user
  AND waiting.datname = current_database() AND waiting.query <> '' AND starts_with(:statement, waiting.query)
  AND waiting.query_start < now() - make_interval(secs => :seconds)
  AND a.state LIKE 'idle in transaction%' AND a.state_change < now() - make_interval(secs => :seconds)
""")
"""Cancels a statement that waits for an idle transaction. It keeps waiting for a working one: a statement outside a
transaction blocks no other client."""


class MaintenanceConnection:
    """A connection for maintenance that commits each statement by itself."""

    def __init__(self, server: Server, sql: SqlConnection, seconds: float) -> None:
        self.sql = sql
        """For statements of SQLAlchemy."""
        self.connection: Connection[Any] = sql.connection.driver_connection  # type: ignore[assignment]
        self.blocked_by = ""
        """Why the statement under way was canceled."""
        self._server, self._seconds = server, seconds
        self._alone: tuple[str, str] = ("", "")
        """The table and the statement under way outside a transaction."""
        self._looked_at = time.monotonic()

    def execute(self, table: str, steps: Sequence[Step]) -> None:
        """Execute `steps` on `table`, each in a transaction of its own if PostgreSQL lets it.

        Raises:
            ConfigError: there is no such schema.
            TimeoutError: an idle client holds a lock.
        """
        for step in steps:
            execute = partial(self.connection.execute, step.sql.encode())
            if step.kind == "alone":
                self._alone = (table, step.sql)
                execute()
                self._alone = ("", "")
            elif step.kind == "transaction":
                self.retry_on_lock(table, execute)
            elif self.connection.execute("SELECT pg_backend_pid()").fetchone() == (self.connection.info.backend_pid,):
                execute()  # behind a pooler, where the process is another, a setting would reach others

    def describe_table(self, table: IndexedTable) -> TableInfo:
        """Describe the table as it is now. PostgreSQL locks a table to describe its indexes."""
        return self.retry_on_lock(table.full_name, partial(describe_table, self.connection, table.schema, table.name))

    def retry_on_lock(self, table: str, work: Callable[[], T], *, turn: Turn | None = None) -> T:
        """Return the result of `work`, run in a transaction once no lock on `table` blocks it.

        With a `turn`, a caller works on `table` alone, or with others that share the turn, as long as it needs. If one
        of those writes the same rows or words, the caller has a turn alone instead.

        Raises:
            TimeoutError: a client that holds a lock on `table` is idle.
        """
        from psycopg.errors import DeadlockDetected, LockNotAvailable, UniqueViolation

        since, has_turn = time.monotonic(), False
        while True:
            had_turn, has_turn = has_turn, False
            try:
                with self.connection.transaction():
                    self._begin(table, turn)
                    has_turn = True
                    since = since if had_turn else time.monotonic()
                    return work()
            except (LockNotAvailable, DeadlockDetected, UniqueViolation, DBAPIError) as error:
                if turn == "shared" and has_turn:
                    turn = "alone"
                    continue
                if not isinstance(driver_error(error), LockNotAvailable):
                    raise
                if time.monotonic() - since >= self._seconds:
                    self._check_holders(table, of_turn=not has_turn)
                time.sleep(PAUSE_SECONDS)

    def hold_turn(self, table: str, work: Callable[[], T]) -> T:
        """Return the result of `work` on this connection, while another one has the turn alone."""
        with _open_connection(self._server, self._seconds) as other:

            def work_in_turn() -> T:
                # It also drops the snapshot of the statement before it: CREATE INDEX CONCURRENTLY would wait for that.
                other.connection.execute("SET LOCAL application_name = 'ctxassembly at work'")
                other.connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                return work()

            return other.retry_on_lock(table, work_in_turn, turn="alone")

    def _begin(self, table: str, turn: Turn | None) -> None:
        """Set the timeouts of a transaction, and wait for the turn if asked."""
        seconds = min(LOCK_SECONDS, self._seconds)
        self.connection.execute(_BEGIN_SQL.encode(), (f"{round(seconds * 1000)}ms",))
        if turn:
            sql = _TURN_SQL.format(shared="_shared" if turn == "shared" else "")
            self.connection.execute(sql.encode(), (table,))
            if self.connection.info.server_version >= 150_000:
                self.connection.execute(_FLUSH_SQL)

    def _check_holders(self, table: str, *, of_turn: bool) -> None:
        """Raise a TimeoutError if those who hold locks on `table`, or have the turn, have been idle for a while."""
        asked = {"table": table, "turn": of_turn, "seconds": self._seconds}
        holders = self.connection.execute(_HOLDERS_SQL, asked).fetchall()
        if holders and not any(is_working for *_, is_working, _ in holders):
            raise TimeoutError(_lock_message(table, holders))

    def look(self) -> None:
        """Look on a second connection, once in a while, what the statement under way waits for.

        Raises:
            TimeoutError: the server doesn't answer.
        """
        if time.monotonic() - self._looked_at < self._seconds:
            return
        table, sql = self._alone
        statement = (_CANCEL_SQL, {"statement": sql, "seconds": self._seconds})
        try:
            with translate_timeouts(self._seconds):
                found = watched_rows(make_unpooled_engine(self._server, self._seconds), statement, self._seconds)
        except TimeoutError:
            self.connection.close()
            raise
        except DBAPIError:  # what is under way fails by itself if the server is gone
            found = []
        if found:
            self.blocked_by = _lock_message(table, found)
        self._looked_at = time.monotonic()


@contextmanager
def open_maintenance(server: Server, seconds: float) -> Iterator[MaintenanceConnection]:
    """Open a new connection, outside the pool, for work that may take long.

    Raises:
        ConfigError: the user may not do what is done inside, or there is no such schema.
        StoreError: the database failed.
        TimeoutError: the server doesn't answer for `seconds`, or an idle client holds a lock.
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
            if isinstance(driver, errors.QueryCanceled) and work.blocked_by:
                raise TimeoutError(work.blocked_by) from driver
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


def _lock_message(table: str, holders: Sequence[Sequence[Any]]) -> str:
    """Return the message that names the holders of a lock, at most three."""
    named = [
        f"process {pid} ({application or 'without application_name'}, {state} since {since:%Y-%m-%d %H:%M:%S%z}, "
        f"for {seconds:.0f} s)"
        for pid, application, state, since, seconds, *_ in holders
    ]
    return f"{table} is locked by {join_first(named, 3)}; nothing was changed by this step: try again when it has ended"


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
    sampled: int
    """Chunks whose vectors were searched for."""
    limit: int
    """Nearest chunks of each."""
    missing_indexes: Sequence[str] = ()
    """Indexes that aren't there, or can't be used."""
    remedies: Mapping[str, str] = field(default_factory=dict, hash=False)
    """A remedy for each problem; empty if there is none."""

    def __str__(self) -> str:
        recall = "not measured" if self.recall is None else f"{self.recall:.3f} of {self.limit}, {self.sampled} sampled"
        rows = [
            ("chunks", f"{self.chunks:,}", ""),
            ("without words", f"{self.without_words:,}", ""),
            ("without vector", f"{self.without_vector:,}", "vectors"),
            ("changed since ANALYZE", f"{self.changed_since_analyze:.0%}", "statistics"),
            ("recall of HNSW", recall, "recall"),
            ("missing indexes", ", ".join(self.missing_indexes) or "none", "indexes"),
        ]
        widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
        return "\n".join(
            f"{name:{widths[0]}}  {value:{widths[1]}}  {self.remedies.get(problem, '')}".rstrip()
            for name, value, problem in rows
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
    key, vector = quoted_name(table.key), quoted_name(table.embedding)

    def fetch(statement: str, *values: Any) -> list[Any]:
        return connection.execute(statement.encode(), values or None).fetchall()

    [(chunks, without_words, without_vector)] = fetch(
        f"SELECT count(*), count(*) FILTER (WHERE {TSV} = '' OR {TSV} IS NULL),"
        f" count(*) FILTER (WHERE {vector} IS NULL) FROM {table.full_name}"
    )
    # Autovacuum analyzes the partitions, and not the whole: its statistics are as old as its number of rows.
    is_whole = f"oid = {text_literal(table.full_name)}::regclass"
    [(modified, is_unknown)] = fetch(
        f"SELECT sum(n_mod_since_analyze + CASE relkind WHEN 'p' THEN abs(reltuples - {chunks}) ELSE 0 END),"
        f" bool_or({is_whole} AND coalesce(last_analyze, last_autoanalyze) IS NULL)"
        f" FROM pg_stat_user_tables JOIN pg_class ON oid = relid WHERE oid = ANY ({members_sql(table.full_name)})"
    )
    changed = 0.0
    if chunks:
        changed = 1.0 if is_unknown else min((modified or 0) / chunks, 1.0)
    ids: list[Any] = []
    if info.has_vector_index:
        order = f"ORDER BY md5({key}::text), {key} LIMIT {sample}"
        ids = [one for (one,) in fetch(f"SELECT {key} FROM {table.full_name} WHERE {vector} IS NOT NULL {order}")]
    recall = _measure_recall(connection, table, ids, limit) if ids else None
    missing_indexes = [name for name, there in _expected_indexes(table, info, chunks) if not there]
    # attach makes no extension: that is for the database's owner to decide.
    first = "" if "pg_trgm" in info.extensions else "CREATE EXTENSION pg_trgm, then "
    way, embedding = "attach(...)", "the vector store has none for them"
    if table.is_own:
        way, embedding = "create(...) or add(...)", "add(chunks, embed=...) embeds them"
    possible = (
        ("vectors", without_vector > 0, embedding),
        ("statistics", changed >= STALE_SHARE, "index.refresh()"),
        ("recall", recall is not None and recall < GOOD_RECALL, "a higher ef_search"),
        ("indexes", bool(missing_indexes), f"{first}{way} by the table's owner"),
    )
    remedies = {problem: remedy for problem, is_there, remedy in possible if is_there}
    return Health(
        chunks, without_words, without_vector, changed, recall, len(ids), limit, tuple(missing_indexes), remedies
    )


def _expected_indexes(table: IndexedTable, info: TableInfo, chunks: int) -> list[tuple[str, bool]]:
    definitions = " ".join(info.indexes.values())
    hides_words = info.has_lexeme_policy or not (info.has_policies and info.lexeme_readers)
    return [
        ("GIN on the words", f"gin ({TSV})" in definitions),
        ("HNSW on the vectors", info.has_vector_index or not chunks or not table.can_have_hnsw),
        ("table of words", info.has_lexemes),
        ("policy that hides the words of other rows", hides_words),
        ("right to read it", info.can_read_lexemes or info.has_policies or not info.has_lexemes),
        ("pg_trgm", "pg_trgm" in info.extensions),
        *((f"{name}, which is invalid", False) for name in info.invalid_indexes),
    ]


def _measure_recall(connection: Connection[Any], table: IndexedTable, ids: Sequence[Any], limit: int) -> float:
    """Compare the hits of a normal search with the hits of a search without indexes."""
    # A percent sign in a name would begin a parameter.
    names = (quoted_name(table.key), table.full_name, quoted_name(table.embedding))
    key, table_name, vector = (name.replace("%", "%%") for name in names)
    column = f"{vector}::halfvec({table.dimensions})" if table.is_half_precision else vector
    nearest = (
        f"SELECT {key} FROM {table_name} WHERE {vector} IS NOT NULL"
        f" ORDER BY {column} <=> (SELECT {column} FROM {table_name} WHERE {key} = %s)"
    )
    by_index, statement = f"{nearest} LIMIT {limit}", f"{nearest}, {key} LIMIT {limit}"
    shares: list[float] = []
    for id_ in ids:
        found = {one for (one,) in connection.execute(by_index.encode(), (id_,)).fetchall()}
        connection.execute("SET LOCAL enable_indexscan = off")
        exact = {one for (one,) in connection.execute(statement.encode(), (id_,)).fetchall()}
        connection.execute("SET LOCAL enable_indexscan = on")
        shares.append(len(found & exact) / len(exact))
    return sum(shares) / len(shares)
