"""The embedded server: one a folder, shared, stopped by the last who leaves, found after a crash."""

from __future__ import annotations

import os
import signal
from importlib import metadata
from pathlib import Path

import psutil
import pytest

from ctxassembly.stores.embedded_server import StoreError, embedded_postgres
from owners import OWNER, PATIENCE, Servers, ended, killed, query, start_owner, started, store, stored

AS_ROOT = os.geteuid() == 0


def stored_in(folder: Path) -> int:
    with embedded_postgres(folder, durable=False) as url:
        return stored(url)


def test_a_temporary_server_has_pgvector_and_leaves_nothing(servers: Servers) -> None:
    with embedded_postgres(durable=False) as url:
        assert query(url, "CREATE EXTENSION vector") is None
        assert query(url, "SELECT '[1, 2]'::vector <-> '[1, 5]'::vector") == 3.0
        data = Path(query(url, "SHOW data_directory"))
        assert servers(data)
    assert not servers(data)
    assert not data.parent.exists()


def test_what_was_stored_is_there_the_next_time(folder: Path, servers: Servers) -> None:
    with embedded_postgres(str(folder)) as url, embedded_postgres(folder, durable=False) as same:
        assert same == url
        assert query(url, "SHOW fsync") == "on"
        number = store(url)
    assert not servers(folder)
    with embedded_postgres(folder, durable=False) as url:
        assert query(url, "SHOW fsync") == "off"
        assert stored(url) == number


def test_processes_that_race_for_a_new_folder_share_one_server(new_folder: Path, servers: Servers) -> None:
    owners = [start_owner(new_folder / "a b's;&|(ä→)%20#a?b=c:d@e *~{}!") for _ in range(3)]
    assert len({ended(owner) for owner in owners}) == 1
    assert not servers(new_folder)


ENTERED = """
server = embedded_postgres(folder, durable=False)
tell(server.__enter__())
sys.stdin.read()
"""


@pytest.mark.parametrize("body", [OWNER, ENTERED])
@pytest.mark.parametrize("interrupt", [True, False])
def test_the_end_of_the_program_stops_the_server(body: str, interrupt: bool, folder: Path, servers: Servers) -> None:
    owner = started(folder, body)
    assert servers(folder)
    if interrupt:
        os.killpg(owner.pid, signal.SIGINT)
    _, said = owner.communicate(timeout=PATIENCE)
    assert ("KeyboardInterrupt" in said) == interrupt
    assert not servers(folder)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_of_a_killed_owner_is_used_by_the_next_one(
    folder: Path, end: signal.Signals, servers: Servers
) -> None:
    owner = started(folder)
    (left,) = servers(folder)
    owner.send_signal(end)
    owner.communicate(timeout=PATIENCE)
    with embedded_postgres(folder, durable=False) as url:
        assert servers(folder) == [left]
        number = store(url)
    assert not servers(folder)
    assert stored_in(folder) == number


def test_the_temporary_server_of_a_killed_owner_is_removed_by_the_next_one(folder: Path, servers: Servers) -> None:
    owner = start_owner(folder, OWNER.replace("folder", "None"))
    assert owner.stdout is not None
    data = Path(query(owner.stdout.readline().strip(), "SHOW data_directory"))
    killed(owner)
    assert servers(data)
    with embedded_postgres(durable=False):
        pass
    assert not servers(data)
    assert not data.parent.exists()


def test_a_killed_server_comes_back(folder: Path, servers: Servers) -> None:
    with embedded_postgres(folder, durable=False) as url:
        number = store(url)
        (server,) = servers(folder)
        server.kill()
    assert stored_in(folder) == number


FORKS = """
with embedded_postgres(folder, durable=False) as url:
    for way in ("at once", "by sys.exit"):
        child = os.fork()
        if child == 0:
            assert works(url)
            os._exit(0) if way == "at once" else sys.exit()
        os.waitpid(child, 0)
        assert works(url)
    if os.fork() == 0:
        time.sleep(3600)
    tell(url)
    sys.stdin.read()
"""


def test_the_end_of_a_forked_child_changes_nothing_and_one_that_stays_holds_no_lock(
    folder: Path, servers: Servers
) -> None:
    owner = started(folder, FORKS)
    (child,) = [one for one in psutil.Process(owner.pid).children() if one.name().startswith("python")]
    try:
        owner.kill()
        owner.wait(timeout=PATIENCE)
        assert servers(folder)
        assert stored_in(folder) >= 0
        assert not servers(folder)
    finally:
        child.kill()
        owner.communicate(timeout=PATIENCE)


def test_a_server_that_does_not_start_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (configuration,) = folder.glob("data-*/postgresql.conf")
    words = configuration.read_text()
    configuration.write_text("no_such_setting = 1\n")
    try:
        with pytest.raises(StoreError, match="no_such_setting"):
            embedded_postgres(folder).__enter__()
    finally:
        configuration.write_text(words)
    with pytest.raises(StoreError, match="without ,"):
        embedded_postgres("/tmp/a,b").__enter__()
    with pytest.raises(FileExistsError):
        embedded_postgres(configuration).__enter__()
    with pytest.raises(StoreError, match=r"Unix-domain socket path .* is too long"):
        embedded_postgres(folder / ("x" * 100)).__enter__()

    def not_installed(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", not_installed)
    with pytest.raises(ImportError, match=r"pip install 'ctxassembly\[embedded\]'"):
        embedded_postgres().__enter__()


@pytest.mark.skipif(not AS_ROOT, reason="PostgreSQL runs as whoever is not root")
def test_as_root_a_folder_behind_a_closed_one_is_refused_and_the_closed_one_stays_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(StoreError, match="every user may pass"):
        embedded_postgres(tmp_path / "behind").__enter__()
    assert tmp_path.stat().st_mode & 0o777 == 0o700
