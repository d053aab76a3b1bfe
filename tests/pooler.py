"""PgBouncer in transaction mode in front of the run's server: a transaction may run on any of its connections."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
MISSING = "PgBouncer isn't installed: sudo apt-get install --no-install-recommends pgbouncer"
PORT = 6432
"""Part of the name of its socket."""
USERS = ("postgres", "reader", "notes_reader", 'The "Reader"')
CONFIG = """
[databases]
* = host={server} port={port}
[pgbouncer]
unix_socket_dir = {folder}
unix_socket_mode = 0777
listen_addr =
listen_port = {own_port}
auth_type = trust
auth_file = {folder}/users.txt
admin_users = postgres
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 1000
logfile = {folder}/log
query_wait_timeout = 60
"""


class Pooler:
    """A PgBouncer that runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, server_url: str) -> str:
        """The URL of the same database and user by way of the pooler."""
        query = {"host": str(self._folder), "port": str(PORT)}
        return make_url(server_url).set(query=query).render_as_string(hide_password=False)

    def tell(self, command: str) -> list[tuple[Any, ...]]:
        """Have the pooler do something itself, such as RECONNECT."""
        with psycopg.connect(
            f"host={self._folder} port={PORT} user=postgres dbname=pgbouncer", autocommit=True, prepare_threshold=None
        ) as connection:
            cursor = psycopg.ClientCursor(connection)
            cursor.execute(sql.SQL(command))  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []


@contextmanager
def pooler(server_url: str, size: int = 20) -> Iterator[Pooler]:
    """Run one with so many connections for each database and user. Without PgBouncer the test is skipped."""
    if PROGRAM is None:
        pytest.skip(MISSING)
    server = make_url(server_url).query
    with tempfile.TemporaryDirectory(prefix="ctxassembly-test-") as name:
        folder = Path(name)
        settings = {"server": server["host"], "port": server["port"], "folder": folder, "own_port": PORT, "size": size}
        (folder / "pgbouncer.ini").write_text(CONFIG.format_map(settings))
        (folder / "users.txt").write_text("".join(f'"{user.replace(chr(34), chr(34) * 2)}" ""\n' for user in USERS))
        owner: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root, and only the server's user may pass to its socket
            owner = {"user": "nobody", "extra_groups": []}
            shutil.chown(folder, "nobody")
        process = subprocess.Popen([PROGRAM, "--quiet", str(folder / "pgbouncer.ini")], stderr=subprocess.PIPE, **owner)
        try:
            _await_socket(process, folder / f".s.PGSQL.{PORT}")
            yield Pooler(folder)
        finally:
            process.terminate()
            process.communicate()


def _await_socket(process: subprocess.Popen[bytes], socket: Path) -> None:
    while not socket.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
