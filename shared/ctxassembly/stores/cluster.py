"""A PostgreSQL data folder, and the programs that create, start and stop its server."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ctxassembly.errors import EmbeddedServerError
from ctxassembly.stores.folder import let_pass, temporary_folder

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
