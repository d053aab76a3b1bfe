"""The folder of an embedded server: checked, created, and within reach of the server's user."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ctxassembly.errors import EmbeddedServerError

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
