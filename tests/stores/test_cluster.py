from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ctxassembly.stores.embedded_server import EmbeddedServerError, embedded_postgres
from owners import (
    PATIENCE,
    Servers,
    has_ended,
    killed,
    query,
    start_owner,
    started,
    store,
    stored,
    unprivileged,
    wait_until,
)


def stored_in(folder: Path) -> int:
    with embedded_postgres(folder, durable=False) as url:
        return stored(url)


def stored_before(folder: Path) -> int:
    with embedded_postgres(folder, durable=False) as url:
        return store(url)


def with_pid(file: Path, pid: str) -> None:
    """Write a stale lock file; the rest is that of a server in a folder of another inode."""
    file.write_text(f"{pid}\n{file.parent}\n1700000000\n5432\n{file.parent}\n\n 12345678         9\nready   \n")
    os.chown(file, file.parent.stat().st_uid, file.parent.stat().st_gid)


def test_settings_of_another_server_in_the_environment_do_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    with embedded_postgres(folder, durable=False) as url:
        monkeypatch.delenv("PGHOSTADDR")  # psycopg would follow it
        assert query(url, "SHOW port") == "5432"


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    stored_before(folder)
    (configuration,) = folder.glob("data-*/postgresql.conf")
    words = configuration.read_text()
    configuration.write_text("no_such_setting = 1\n")
    try:
        with pytest.raises(EmbeddedServerError, match="no_such_setting"), embedded_postgres(folder):
            pass
    finally:
        configuration.write_text(words)


@pytest.mark.parametrize("durable", [True, False])
def test_a_killed_server_comes_back_at_the_first_try(folder: Path, durable: bool, servers: Servers) -> None:
    with embedded_postgres(folder, durable=durable) as url:
        number = store(url)
        (server,) = servers(folder)
        server.kill()
    assert stored_in(folder) == number
    assert not servers(folder)


def test_after_everything_is_killed_the_first_start_works(folder: Path, servers: Servers) -> None:
    """The connection is what outlives the server: until its query ends nobody else may touch the data."""
    owner = started(folder)
    with embedded_postgres(folder, durable=False) as url:
        number = store(url)
        count = "SELECT count(*) FROM generate_series(1, 3000000) a"
        busy = start_owner(
            folder, f"import psycopg\npsycopg.connect({url!r}.replace('+psycopg', '')).execute({count!r})"
        )
        wait_until(lambda: query(url, f"SELECT count(*) FROM pg_stat_activity WHERE query = '{count}'"))
        (server,) = servers(folder)
        server.kill()
        killed(owner)
        assert stored_in(folder) == number
    busy.communicate(timeout=PATIENCE)
    assert not servers(folder)


def test_a_server_that_still_starts_or_recovers_is_waited_for(folder: Path, servers: Servers) -> None:
    """Its starter is killed as soon as there is a process."""
    with embedded_postgres(folder, durable=False) as url:
        number = store(url)
        query(url, "CREATE TABLE much AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
        (server,) = servers(folder)
        server.kill()
    owner = start_owner(folder)
    wait_until(lambda: servers(folder))
    killed(owner)
    assert stored_in(folder) == number
    assert not servers(folder)


@pytest.mark.parametrize(
    "files", [["postmaster.pid"], [".s.PGSQL.5432.lock"], ["postmaster.pid", ".s.PGSQL.5432.lock"]]
)
def test_a_stale_lock_file_with_the_id_of_another_process_is_no_obstacle(folder: Path, files: list[str]) -> None:
    number = stored_before(folder)
    (data,) = folder.glob("data-*")
    innocent = subprocess.Popen(["sleep", "3600"], **unprivileged())
    try:
        for name in files:
            with_pid(data / name, str(innocent.pid))
        assert stored_in(folder) == number
        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def test_a_dead_process_that_nobody_waited_for_is_no_obstacle(folder: Path) -> None:
    """In a container without an init process a killed server stays one for good."""
    number = stored_before(folder)
    (data,) = folder.glob("data-*")
    zombie = subprocess.Popen(["true"], **unprivileged())
    wait_until(lambda: has_ended(zombie.pid))
    with_pid(data / "postmaster.pid", str(zombie.pid))
    assert stored_in(folder) == number
    zombie.wait()


def test_a_lock_file_that_was_never_finished_is_no_obstacle(folder: Path) -> None:
    number = stored_before(folder)
    (data,) = folder.glob("data-*")
    for words in ("", "garbage", "0", "-1", "9" * 5_000):
        (data / "postmaster.pid").write_text(words)
        os.chown(data / "postmaster.pid", data.stat().st_uid, data.stat().st_gid)
        assert stored_in(folder) == number
