"""Vocabularies come from tiktoken's own cache or from a package; without them an error says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiktoken

from builders import count
from ctxassembly import AssemblyConfig, Chunk, ConfigError, Hit, assemble
from ctxassembly.tokens.counter import load_encoding

TEXT = "U brengt best uw identiteitskaart mee."


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without a vocabulary and without a network."""
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})


def load(name: str) -> tiktoken.Encoding:
    """What `load_encoding` gives in a process that has not loaded it yet."""
    return load_encoding.__wrapped__(name)


@pytest.mark.parametrize("name", ["o200k_base", "p50k_base"])
def test_a_vocabulary_that_cannot_be_had_is_one_clear_error(offline: None, name: str):
    with pytest.raises(ConfigError) as caught:
        load(name)
    message = str(caught.value)
    assert message.startswith(f"the vocabulary of {name!r} is not on this machine and could not be downloaded (")
    assert message.endswith("point TIKTOKEN_CACHE_DIR at a folder that has it")
    assert len(message) < 700


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "o200k_harmony"])
def test_a_folder_that_has_the_file_is_enough(name: str):
    assert len(load(name).encode(TEXT)) == count(TEXT, name)


def test_the_package_for_machines_without_a_network_is_used(offline: None):
    assert len(load("cl100k_base").encode(TEXT)) == count(TEXT)


def test_a_function_needs_no_vocabulary(offline: None):
    assert assemble([Hit(Chunk("a", "A", TEXT))], AssemblyConfig(encoding=len)).token_count > 0
