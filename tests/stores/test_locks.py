from __future__ import annotations

from pathlib import Path

import pytest

from ctxassembly.stores.embedded_server import join, leave, lock_file, turnstile
from owners import ended, start_owner

FORKED_INSIDE = """
from ctxassembly.stores.embedded_server import turnstile
with turnstile(folder):
    child = os.fork()
    if child == 0:
        time.sleep(3600)
import subprocess
tries = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
tell(subprocess.run([sys.executable, "-c", tries, str(folder / "turnstile.lock")]).returncode)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""
CHILD_ENDS_FIRST = """
from ctxassembly.stores.embedded_server import turnstile
import subprocess
tries = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
with turnstile(folder):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        silent = dict(stderr=subprocess.DEVNULL)
        tell(subprocess.run([sys.executable, "-c", tries, str(folder / "turnstile.lock")], **silent).returncode)
"""


def test_a_child_that_was_forked_inside_the_turnstile_does_not_block_it(tmp_path: Path) -> None:
    assert ended(start_owner(tmp_path, FORKED_INSIDE)).split() == ["0"]


def test_a_child_that_was_forked_inside_the_turnstile_does_not_open_it(tmp_path: Path) -> None:
    assert ended(start_owner(tmp_path, CHILD_ENDS_FIRST)).split() == ["1"]


def test_who_joins_learns_whether_others_are_there_and_who_leaves_whether_others_stay(tmp_path: Path) -> None:
    with lock_file(tmp_path / "users") as first, lock_file(tmp_path / "users") as second:
        assert join(first)
        assert not join(second)
        assert not leave(first)
        assert leave(second)


def test_closing_releases_the_lock(tmp_path: Path) -> None:
    with lock_file(tmp_path / "users") as first:
        join(first)
    with lock_file(tmp_path / "users") as second:
        assert join(second)


def test_an_error_inside_opens_the_turnstile(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), turnstile(tmp_path):
        raise ValueError("mine")
    with turnstile(tmp_path):
        pass
