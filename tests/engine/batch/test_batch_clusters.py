"""The recipes of docs/batch.md on local clusters of Ray and Spark, where these are installed.

pip install "ray[data]" pyspark
python -m pytest tests/engine/batch/test_batch_clusters.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "batch.md"


@pytest.mark.parametrize(("package", "title"), [("ray", "on_ray.py"), ("pyspark", "on_spark.py")])
def test_a_recipe_prints_what_the_page_says(package: str, title: str, tmp_path: Path):
    pytest.importorskip(package)
    pytest.importorskip("pyarrow")
    pattern = rf'title="{title}"}}\n(.*?)^```\n\n```text\n(.*?)^```'
    block = re.search(pattern, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block
    script = tmp_path / title
    script.write_text(block[1], "utf-8")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    assert run.stdout.endswith(block[2]), run.stderr[-2000:]
