"""Locks on files, which the system releases however their holder ends.

`flock` locks the open file, and a forked child shares it: the child would hold the lock as long as it lives, even after
its parent, and could release it while the parent works. So a child closes its copies before anything else. A program
that is started never gets one.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from weakref import WeakSet

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
