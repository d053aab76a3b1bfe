"""A server of a module's own, for the tests of what a server may do to its clients."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from sqlalchemy import make_url

from ctxassembly.stores.embedded_server import embedded_postgres


class Server:
    """A PostgreSQL server of a module's own, which can be frozen and restarted."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self._folder, self._running = folder, running
        self.start()

    def start(self) -> None:
        self.url = self._running.enter_context(embedded_postgres(self._folder, durable=False))
        (pid_file,) = self._folder.glob("data-*/postmaster.pid")
        self._postmaster = psutil.Process(int(pid_file.read_text().splitlines()[0]))

    def stop(self) -> None:
        self._running.close()

    def with_driver(self, driver: str) -> str:
        url = make_url(self.url).set(drivername=f"postgresql+{driver}")
        return url.render_as_string(hide_password=False)

    def ask(self, statement: str) -> Any:
        with psycopg.connect(self.url.replace("+psycopg", "", 1), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchone() if cursor.description else None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        # The postmaster first: once it stands still, nothing new begins. What ends by itself meanwhile is no matter.
        self._postmaster.send_signal(signal.SIGSTOP)
        backends = self._postmaster.children(recursive=True)
        for backend in backends:
            with suppress(psutil.NoSuchProcess):
                backend.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in (self._postmaster, *backends):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)

    @contextmanager
    def locked(self, table: str) -> Iterator[None]:
        """Nobody can read `table` meanwhile."""
        with psycopg.connect(self.url.replace("+psycopg", "", 1)) as connection:
            connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield

    def waiting(self) -> int:
        """How many statements wait for a lock."""
        return int(self.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0])


@contextmanager
def server_of_ones_own() -> Iterator[Server]:
    """A server with pgvector and pg_trgm."""
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as name, ExitStack() as running:
        Path(name).chmod(0o711)  # PostgreSQL's own user has to pass
        server = Server(Path(name), running)
        server.ask("CREATE EXTENSION vector")
        server.ask("CREATE EXTENSION pg_trgm")
        yield server
