"""The recipes of docs/throughput.md: on one machine, and on local clusters of Ray and Spark where these are installed.

pip install "ray[data]" pyspark
python -m pytest tests/docs/test_batch_recipes.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from site_pages import FOLDER, blocks

SCRIPTS = {
    title: block.code
    for block in blocks((FOLDER / "throughput.md").read_text("utf-8"))
    for title in ("contexts.py", "on_ray.py", "on_spark.py")
    if f'title="{title}"' in block.head
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for title, code in SCRIPTS.items():
        (tmp_path / title).write_text(code, "utf-8")
    return tmp_path


def printed(folder: Path, title: str) -> str:
    path = os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    command = [sys.executable, title]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


def test_processes_keep_the_order_report_errors_and_go_on(folder: Path):
    assert printed(folder, "contexts.py") == "0 read, 3 made\n"
    lines = (folder / "contexts.jsonl").read_text("utf-8").splitlines(keepends=True)
    first, second, failed = map(json.loads, lines)
    assert (first["id"], second["id"], failed["id"]) == (0, 1, 2)
    assert "Ferritin is measured" in first["text"]
    assert "Visits end" in second["text"]
    assert "query" in failed["error"]
    (folder / "contexts.jsonl").write_text("".join(lines[::2]), "utf-8")
    assert printed(folder, "contexts.py") == "2 read, 1 made\n"


@pytest.mark.parametrize(("package", "title"), [("ray", "on_ray.py"), ("pyspark", "on_spark.py")])
def test_a_cluster_makes_all_rows(package: str, title: str, folder: Path):
    pytest.importorskip(package)
    assert printed(folder, title).endswith("40 40\n")
