from __future__ import annotations

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
