"""Processes that own an embedded server for a while, and what can be asked of it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg

PATIENCE = 300
"""Seconds. Nothing here takes so long, however busy the machine is."""
Servers = Callable[[Path], list[psutil.Process]]
HEADER = """
import os, signal, sys, time
from pathlib import Path
import psycopg
from ctxassembly.stores.embedded_server import embedded_postgres
folder = Path(sys.argv[1])
def works(url):
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)
def tell(*words):
    print(*words, flush=True)
"""
OWNER = """
with embedded_postgres(folder, durable=False) as url:
    tell(url)
    sys.stdin.read()
"""


def query(url: str, statement: str) -> Any:
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def store(url: str) -> int:
    """Store a number that has not been stored before."""
    return int(query(url, "UPDATE kept SET value = value + 1 RETURNING value"))


def stored(url: str) -> int:
    return int(query(url, "SELECT value FROM kept"))


def start_owner(folder: Path, body: str = OWNER, **options: Any) -> subprocess.Popen[str]:
    """A process that runs `body`; by default it owns a server until its standard input is closed."""
    return subprocess.Popen(
        [sys.executable, "-c", HEADER + body, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def started(folder: Path, body: str = OWNER) -> subprocess.Popen[str]:
    """The same once it has told something: by default, the server's URL."""
    owner = start_owner(folder, body)
    assert owner.stdout is not None
    assert owner.stdout.readline()
    return owner


def ended(owner: subprocess.Popen[str]) -> str:
    """What the process had to say until it ended well."""
    out, err = owner.communicate(timeout=PATIENCE)
    assert owner.returncode == 0, err
    return out


def killed(owner: subprocess.Popen[str]) -> None:
    owner.kill()
    owner.communicate(timeout=PATIENCE)


def wait_until(comes_true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not comes_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def unprivileged() -> dict[str, Any]:
    """Options of Popen for a process of the server's user, which as root is another."""
    return {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
