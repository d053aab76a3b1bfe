"""Scripts of users, run as they run them: a warning is shown once an object, at the user's own line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.mark.parametrize(("script", "cases"), [("langchain_app.py", 14), ("llamaindex_app.py", 12)])
def test_each_warning_is_shown_once_at_the_line_of_the_script(script: str, cases: int) -> None:
    run = subprocess.run([sys.executable, SCRIPTS / script], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout.splitlines()[-1])
    assert len(shown) == cases
    for case, lines in shown.items():
        ((filename, line),) = lines
        assert Path(filename).parent == SCRIPTS, case
        assert line.endswith(f"# {case}"), (case, line)
