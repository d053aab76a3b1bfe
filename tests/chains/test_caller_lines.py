"""Scripts of users, run as they run them: a warning is shown once an object, at the user's own line.

Where the step of a chain is a task of its own, or runs in a thread, that is the line that made the object.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
MADE = {
    "langchain_app.py": {"ainvoke", "batch", "abatch", "ensemble_of_assembled", "aretry", "graph", "own_module_async"},
    "llamaindex_app.py": {"subquestions"},
}


@pytest.mark.parametrize(("script", "cases"), [("langchain_app.py", 14), ("llamaindex_app.py", 12)])
def test_each_warning_is_shown_once_at_the_line_of_the_script(script: str, cases: int) -> None:
    run = subprocess.run([sys.executable, SCRIPTS / script], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    shown = json.loads(run.stdout.splitlines()[-1])
    assert len(shown) == cases
    for case, lines in shown.items():
        ((filename, line),) = lines
        assert Path(filename).parent == SCRIPTS, case
        name = "made" if case in MADE[script] else case
        assert line.endswith(f"# {name}"), (case, line)
