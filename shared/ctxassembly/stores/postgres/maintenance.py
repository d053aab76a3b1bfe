"""Work on a table that may take long, on a connection outside the pool.

Work continues as long as the server is working, and every wait has an end:

- A statement that waits for a lock blocks all later requests for it. So it gives up after `LOCK_SECONDS`
  (`lock_timeout`, which applies even if this process dies), and is tried again after a pause.
- Callers take turns by an advisory lock of a transaction. Behind a pooler a session lock would stay on another client's
  connection. No statement waits while one client has the turn alone: its CREATE INDEX CONCURRENTLY would wait for the
  snapshot of that statement.
- Clients that only write rows share a turn. The next one who wants it alone waits in the queue of the lock, and nobody
  joins those who share it meanwhile. So it has to wait only until they have committed what they are writing.
- Statements outside a transaction can't have a `lock_timeout` behind a pooler. A second connection watches them. It
  also notices a server that doesn't answer.

An error names the holders of the lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sqlalchemy import Connection as SqlConnection
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from ctxassembly.concurrency import DeadlineError, submit, wait_with_deadline
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import join_first
from ctxassembly.stores.postgres.connection import (
    AUTOCOMMIT,
    CONNECT_SECONDS,
    SQL_SETTINGS,
    Server,
    driver_error,
    fetch_rows,
    make_unpooled_engine,
    shut_socket,
    translate_errors,
)
from ctxassembly.stores.postgres.schema import Step
from ctxassembly.stores.postgres.table import IndexedTable, TableInfo, describe_table

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
Turn = Literal["alone", "shared"]

LOCK_SECONDS = 2.0
"""The longest wait for a lock in one go."""
PAUSE_SECONDS = 0.5
"""Pause between two tries, for clients that queued behind the first one."""
TURN_SECONDS = 0.1
"""Pause between two tries for the turn."""
HEARTBEAT_SECONDS = 1.0
"""Pause between two signs of life of the connection that has the turn while another one works."""

_TURN_SQL = (
    "SELECT set_config('lock_timeout', %s, true), pg_try_advisory_xact_lock{shared}(hashtext(%s)){flushed}, {settings}"
)
_IS_SHARED_SQL = "SELECT pg_try_advisory_xact_lock_shared(hashtext(%s))"
_QUEUE_SQL = "SELECT set_config('lock_timeout', %s, true), pg_advisory_xact_lock(hashtext(%s))"
_FLUSH_SQL = ", pg_stat_force_next_flush()"
"""What a transaction wrote counts as changed from its end on, not from after the next ANALYZE on. PostgreSQL 15."""
_HOLDERS_SQL = """
SELECT a.pid, a.application_name, coalesce(a.state, 'not visible to this user'), coalesce(a.state_change, now()),
  extract(epoch FROM now() - coalesce(a.state_change, now()))::float8, bool_or(l.mode <> 'AccessShareLock') AS strong
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
SELECT pg_cancel_backend(waiting.pid), a.pid, a.application_name, a.state, a.state_change,
  CAST(extract(epoch FROM now() - a.state_change) AS float8), true
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

    def __init__(self, server: Server, sql: SqlConnection, seconds: float, reasons: SimpleQueue[str]) -> None:
        self.sql = sql
        """For statements of SQLAlchemy."""
        self.connection: Connection[Any] = sql.connection.driver_connection  # type: ignore[assignment]
        self._server, self._seconds, self._reasons = server, seconds, reasons
        self.running_sql = self._running_table = ""
        """The statement under way outside a transaction, or that failed there, and its table."""

    def execute(self, table: str, steps: Sequence[Step]) -> None:
        """Execute `steps` on `table`, each in a transaction of its own if PostgreSQL lets it.

        Raises:
            ConfigError: there is no such schema.
            TimeoutError: a client holds a lock.
        """
        for step in steps:
            execute = partial(self.connection.execute, step.sql.encode())
            if step.kind == "alone":
                self.running_sql, self._running_table = step.sql, table
                execute()
                self.running_sql = ""
            elif step.kind == "transaction":
                self.retry_on_lock(table, execute)
            elif not self._is_pooled():
                execute()

    def describe_table(self, table: IndexedTable) -> TableInfo:
        """Describe the table as it is now. PostgreSQL locks a table to describe its indexes."""
        return self.retry_on_lock(table.full_name, partial(describe_table, self.connection, table.schema, table.name))

    def retry_on_lock(self, table: str, work: Callable[[], T], *, turn: Turn | None = None) -> T:
        """Return the result of `work`, run in a transaction once no lock on `table` blocks it.

        With a `turn`, a caller works on `table` alone, or with others that share the turn, as long as it needs. If one
        of those writes the same rows or words, the caller has a turn alone instead.

        Raises:
            TimeoutError: a client holds a lock on `table`, or has the turn and is idle.
        """
        from psycopg.errors import DeadlockDetected, LockNotAvailable, UniqueViolation

        waiting_since, locked_since = time.monotonic(), None
        while True:
            try:
                with self.connection.transaction():
                    if self.begin(table, turn):
                        waiting_since = time.monotonic()
                        return work()
            except (LockNotAvailable, DeadlockDetected, UniqueViolation, DBAPIError) as error:
                if turn == "shared":
                    turn = "alone"
                    continue
                if not isinstance(driver_error(error), LockNotAvailable):
                    raise
                locked_since = locked_since or waiting_since
                if time.monotonic() - locked_since >= self._seconds:
                    raise TimeoutError(_lock_message(table, self._holders(table, of_turn=False))) from error
                time.sleep(PAUSE_SECONDS)
            else:
                self.wait_for_turn(table, waiting_since, turn)

    @contextmanager
    def hold_turn(self, table: str) -> Iterator[None]:
        """Have the turn on another connection while `execute` works on this one."""
        waiting_since = time.monotonic()
        with _connect(self._server, self._seconds, self._reasons) as other:
            while True:
                with other.connection.transaction():
                    if other.begin(table, "alone"):
                        with _keep_alive(other.connection):
                            yield
                        return
                other.wait_for_turn(table, waiting_since, "alone")

    def begin(self, table: str, turn: Turn | None) -> bool:
        """Set the timeouts of a transaction, and take the turn if asked; return True if it may continue."""
        if not turn:
            begin_sql = f"SELECT set_config('lock_timeout', %s, true), {SQL_SETTINGS}"
            self.connection.execute(begin_sql.encode(), (self._lock_timeout,))
            return True
        flush_sql = _FLUSH_SQL if self.connection.info.server_version >= 150_000 else ""
        shared = "_shared" if turn == "shared" else ""
        sql = _TURN_SQL.format(shared=shared, flushed=flush_sql, settings=SQL_SETTINGS)
        row = self.connection.execute(sql.encode(), (self._lock_timeout, table)).fetchone()
        return bool(row and row[1])

    def wait_for_turn(self, table: str, since: float, turn: Turn | None) -> None:
        """Pause before another try for the turn.

        Raises:
            TimeoutError: a client that has it is idle.
        """
        from psycopg.errors import LockNotAvailable

        if time.monotonic() - since > self._seconds:
            holders = self._holders(table, of_turn=True)
            states = ((str(state), seconds) for _, _, state, _, seconds, *_ in holders)
            if any(state.startswith("idle") and seconds > self._seconds for state, seconds in states):
                raise TimeoutError(_lock_message(table, holders))
        if turn == "alone" and self.connection.execute(_IS_SHARED_SQL, (table,)).fetchone() == (True,):
            with suppress(LockNotAvailable):
                self.connection.execute(_QUEUE_SQL, (self._lock_timeout, table))
            return
        time.sleep(TURN_SECONDS)

    @property
    def _lock_timeout(self) -> str:
        return f"{round(min(LOCK_SECONDS, self._seconds) * 1000)}ms"

    def _holders(self, table: str, *, of_turn: bool) -> list[Any]:
        return self.connection.execute(_HOLDERS_SQL, {"table": table, "turn": of_turn}).fetchall()

    def _is_pooled(self) -> bool:
        """Return True behind a pooler, where session settings would reach others: its process id is another."""
        row = self.connection.execute("SELECT pg_backend_pid()").fetchone()
        return not row or row[0] != self.connection.info.backend_pid

    def watch(self, stopped: threading.Event) -> None:
        """Cancel the running statement if the server doesn't answer, or if it waits for an idle client."""
        engine = make_unpooled_engine(self._server)
        while not stopped.wait(self._seconds / 2):
            statement = (_CANCEL_SQL, {"statement": self.running_sql, "seconds": self._seconds})
            try:
                found = fetch_rows(lambda: engine, statement, self._seconds)
            except TimeoutError as error:
                self._reasons.put(str(error))
                with suppress(OSError):
                    shut_socket(self.connection.fileno())
                return
            except DBAPIError:  # what is under way fails by itself if the server is gone
                continue
            if found:
                self._reasons.put(_lock_message(self._running_table, [holder for _, *holder in found]))


@contextmanager
def open_maintenance(server: Server, seconds: float) -> Iterator[MaintenanceConnection]:
    """Open a new connection, outside the pool, for work that may take long.

    Raises:
        ConfigError: the user may not do what is done inside, or there is no such schema.
        StoreError: the database failed.
        TimeoutError: the server doesn't answer for `seconds`, or a client holds a lock.
    """
    reasons: SimpleQueue[str] = SimpleQueue()
    with translate_errors(), _connect(server, seconds, reasons) as work:
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
            # The watching connection may have canceled the statement without having read yet who was in the way.
            wait = seconds if work.running_sql and isinstance(driver, errors.QueryCanceled) else 0
            with suppress(Empty):
                raise TimeoutError(reasons.get(timeout=wait)) from driver
            raise


@contextmanager
def _connect(server: Server, seconds: float, reasons: SimpleQueue[str]) -> Iterator[MaintenanceConnection]:
    """Open a connection and a second one that watches it and puts its reason for giving up into `reasons`."""
    try:
        sql = wait_with_deadline(seconds + CONNECT_SECONDS, submit(make_unpooled_engine(server).connect))
    except DeadlineError as error:
        raise TimeoutError(f"no connection to Postgres within {seconds + CONNECT_SECONDS:g} s") from error
    except DBAPIError as error:  # as of the driver's class, as all else that fails on this connection
        raise driver_error(error) from None
    stopped = threading.Event()
    work = MaintenanceConnection(server, sql.execution_options(**AUTOCOMMIT), seconds, reasons)
    threading.Thread(target=work.watch, args=(stopped,), daemon=True).start()
    try:
        yield work
    finally:
        stopped.set()
        sql.close()


@contextmanager
def _keep_alive(connection: Connection[Any]) -> Iterator[None]:
    """Keep the transaction on `connection` from looking idle to clients that wait for its lock."""
    stopped = threading.Event()

    def beat() -> None:
        # No SELECT: CREATE INDEX CONCURRENTLY would wait for the transaction of its snapshot. The first one also drops
        # the portal of the statement before it, and with it the snapshot of that.
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    def beat_until_stopped() -> None:
        from psycopg import Error

        with suppress(Error):  # the lock is lost, and all that is done under it may be done twice
            while not stopped.wait(HEARTBEAT_SECONDS):
                beat()

    beat()
    beating = threading.Thread(target=beat_until_stopped, daemon=True)
    beating.start()
    try:
        yield
    finally:
        stopped.set()
        beating.join()


def _lock_message(table: str, holders: Sequence[Sequence[Any]]) -> str:
    """Return the message that names the holders of a lock, at most three."""
    named = [
        f"process {pid} ({application or 'without application_name'}, {state} since {since:%Y-%m-%d %H:%M:%S%z}, "
        f"for {seconds:.0f} s)"
        for pid, application, state, since, seconds, *_ in holders
    ]
    by = f" by {join_first(named, 3)}" if named else ""
    return f"{table} is locked{by}; nothing was changed by this step: try again when it has ended"
