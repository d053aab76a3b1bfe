"""A clone and its environment below a folder that only root may enter, such as /root in a container."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USE = """
import psycopg
from ctxassembly.stores.embedded_server import embedded_postgres
with embedded_postgres(durable=False) as url, psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
    assert connection.execute("SELECT 1").fetchone() == (1,)
"""


@pytest.fixture
def closed() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ctxassembly-closed-") as name:  # made for its owner alone
        yield Path(name).resolve()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's processes run PostgreSQL as another user")
def test_what_runs_as_another_user_is_reached_out_of_a_closed_folder(closed: Path) -> None:
    shutil.copytree(ROOT / "shared", closed / "shared")
    # The environment's other packages are read by root alone, and needn't be copied.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", closed / "venv"], check=True)
    python = closed / "venv" / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    (site,) = subprocess.check_output([python, "-c", where], text=True).split()
    others = [path for path in sys.path if Path(path).name == "site-packages"]
    (Path(site) / "others.pth").write_text("\n".join(others))
    package = Path(str(distribution("embedded-postgres").locate_file("embedded_postgres")))
    for part in package.parent.glob("embedded_postgres*"):
        shutil.copytree(part, Path(site) / part.name)
    environment = {**os.environ, "PYTHONPATH": str(closed / "shared")}
    done = subprocess.run([python, "-c", USE], cwd=closed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
