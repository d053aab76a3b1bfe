from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ctxassembly

MEASURE = """
import json, sys, time
before = set(sys.modules)
began = time.process_time()
import ctxassembly
seconds = time.process_time() - began
for name in ctxassembly.__all__:
    getattr(ctxassembly, name)
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""
HEAVY = {
    *(
        "langchain_core",
        "llama_index",
        "pydantic",
        "numpy",
        "jinja2",
        "tiktoken",
        "asyncio",
        "sqlalchemy",
        "psycopg",
        "threading",
        "matplotlib",
    ),
    *("concurrent.futures", "urllib.request", "http.client", "ssl", "socket", "requests", "xml.sax", "email"),
}


def imported(bytecode: Path) -> tuple[float, list[str]]:
    """In an interpreter of its own, which may keep byte code as an installed package does."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    command = [sys.executable, "-c", MEASURE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds, modules = json.loads(done.stdout)
    return seconds, modules


def test_the_engine_pulls_no_framework_no_client_and_no_tokenizer(tmp_path: Path):
    """Not even when every public name was loaded."""
    _, modules = imported(tmp_path)
    assert "ctxassembly.runtime.assemble" in modules
    assert HEAVY.isdisjoint(modules)


def test_importing_takes_under_50_ms(tmp_path: Path):
    """Of the processor's time, beyond the interpreter's start; the best of several runs, since machines are busy."""
    assert min(imported(tmp_path)[0] for _ in range(10)) < 0.050


def test_an_index_that_needs_an_extra_is_there_by_name_alone():
    """`import *` has to work without it."""
    from ctxassembly.stores.postgres import PostgresIndex

    assert ctxassembly.PostgresIndex is PostgresIndex
    assert "PostgresIndex" in dir(ctxassembly)
    assert "PostgresIndex" not in ctxassembly.__all__


def test_the_version_is_that_of_the_package():
    written = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert f'\nversion = "{ctxassembly.__version__}"\n' in written


def test_every_public_name_is_there():
    for name in ctxassembly.__all__:
        assert getattr(ctxassembly, name) is not None
    contract = {
        "AssemblyConfig",
        "Chunk",
        "Citation",
        "Context",
        "Hit",
        "MemoryStore",
        "Passage",
        "TokenBudget",
        "Trace",
    }
    assert {*contract, "aassemble", "assemble", "presets"} <= set(ctxassembly.__all__)
