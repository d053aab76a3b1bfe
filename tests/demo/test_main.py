"""The whole demo, as one runs it: on the real documents, with its own server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from demo.__main__ import DEFAULT_QUESTION

ROOT = Path(__file__).parents[2]
Servers = Callable[[Path], list[psutil.Process]]
PATIENCE = 600
"""Seconds. The demo takes a minute at most, unless the machine is very busy."""
QUESTION = "How are attributes looked up on an instance?"
ANSWER = 'The context manager’s "__exit__()" method is invoked.'
"""To what the demo asks by default."""


def start(question: str, folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "demo", question],
        env={**os.environ, "PYTHONPATH": str(ROOT / "notebooks"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=folder,
    )


def cut_short(servers: Servers, folder: Path, signum: signal.Signals) -> None:
    """Start a first run and stop it while it embeds the chunks."""
    demo = start(QUESTION, folder, {"TMPDIR": str(folder), "DATABASE_URL": ""})
    deadline = time.monotonic() + PATIENCE
    while not servers(folder):
        assert demo.poll() is None, demo.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(2)
    os.killpg(demo.pid, signum)
    _, errors = demo.communicate(timeout=PATIENCE)
    assert (demo.returncode, errors) == (130, "")
    assert not servers(folder)


def test_after_ctrl_c_there_is_no_server_and_the_next_run_makes_up_for_it(open_folder: Path, servers: Servers) -> None:
    cut_short(servers, open_folder, signal.SIGINT)
    output, errors = start("", open_folder, {"TMPDIR": str(open_folder), "DATABASE_URL": ""}).communicate(
        timeout=PATIENCE
    )
    assert errors == ""
    said = [line.partition(" ")[0] for line in output.splitlines()[:4]]
    assert said == ["Loading", "Starting", "The", "Embedding"]
    assert f"Question: {DEFAULT_QUESTION}" in output
    assert ANSWER in " ".join(output.partition("What the model reads")[2].split())
    assert "[1] Source: " in output
    assert "\nas retrieved " in output
    assert "NOT identical" not in output
    assert f"As a page, with a reason for each chunk: {(open_folder / 'results' / 'context.html').as_uri()}\n" in output
    assert DEFAULT_QUESTION in (open_folder / "results" / "context.html").read_text(encoding="utf-8")
    assert "\x1b[" not in output
    assert not servers(open_folder)


def test_what_can_not_be_is_one_line_on_stderr(tmp_path: Path) -> None:
    demo = start(QUESTION, tmp_path, {"DATABASE_URL": "postgresql://me:secret@127.0.0.1:1/books"})
    output, errors = demo.communicate(timeout=PATIENCE)
    assert demo.returncode == 1
    loading, connecting = output.splitlines()
    assert loading == "Loading LangChain, LlamaIndex and the sentence encoder ..."
    assert connecting == "Connecting to postgresql+psycopg://me:***@127.0.0.1:1/books, for 10 s at most ..."
    assert errors.startswith("demo: The database ")
    assert errors.count("\n") == 1
    assert "secret" not in errors
