"""Locks on files: the system releases them however their holder ends.

What `flock` locks is the open file, which a forked child shares: it would hold the lock for as long as it lives, its
parent gone or not, and could release it under a parent at work. So a child closes its copies before it does anything
else. A program that is started never gets one.
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
    """The file at `path`, made if it isn't there, to be locked. Closing it releases the lock."""
    file = path.open("wb", buffering=0)
    _opened.add(file)
    return file


@contextmanager
def turnstile(folder: Path) -> Iterator[None]:
    """One process or thread at a time comes to `folder` or goes."""
    with lock_file(folder / "turnstile.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def join(users: FileIO) -> bool:
    """Take a share of the lock; whether nobody else has one. To be called inside the turnstile."""
    alone = leave(users)
    fcntl.flock(users, fcntl.LOCK_SH)
    return alone


def leave(users: FileIO) -> bool:
    """Give up the share of the lock; whether nobody else has one. To be called inside the turnstile."""
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
