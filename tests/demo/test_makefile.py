from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments: str) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "question",
    [
        "what is a code object?",
        "",
        "--help",
        """what's "$HOME", `id` and $(shell id)?""",
        "100 % of $$x; echo no # comment \\n",
        "unclosed $( and ${",
    ],
)
def test_a_question_reaches_the_demo_as_it_was_typed(question: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nshift 2\nprintf '%s\\n' \"$@\"\n")
    python.chmod(0o755)
    # --old-file: what is installed here will do.
    output = make("demo", f"BIN={tmp_path}", "--old-file=.venv/demo", f"Q={question}")
    assert output.splitlines()[-1] == question


def test_clean_removes_all_that_was_made_and_nothing_else(tmp_path: Path) -> None:
    """What the tools make is what git is told to ignore, and the demo's database."""
    project, temporary = tmp_path / "a project", tmp_path / "a temporary folder"
    (project / "shared").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", project)
    (project / "shared" / "kept.py").touch()
    made = [each.replace("*", "x") for each in (ROOT / ".gitignore").read_text("utf-8").split()]
    for place in (*(project / each for each in made), project / "shared" / "__pycache__"):
        if place.name == ".coverage":
            place.touch()
        else:
            place.mkdir()
            (place / "file").touch()
    data, other = temporary / f"ctxassembly-demo-{os.geteuid()}", temporary / "ctxassembly-demo-of-another"
    for folder in (data / "data-18", other):
        folder.mkdir(parents=True)
    subprocess.run(["make", "clean"], cwd=project, env={**os.environ, "TMPDIR": str(temporary)}, check=True)
    left = sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if not each.is_dir() or each == other)
    assert left == ["a project/Makefile", "a project/shared/kept.py", "a temporary folder/ctxassembly-demo-of-another"]
    assert not data.exists()
    assert [each.name for each in project.iterdir() if each.is_dir()] == ["shared"]
