"""The README's code runs, and prints what the README says it prints."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
STEPS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)


def test_every_example_prints_its_output():
    assert len(STEPS) == README.count("```python"), "each example is followed by its output"
    shared: dict[str, object] = {}
    for code, output in STEPS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), shared)
        assert printed.getvalue() == output


def test_it_is_read_in_one_sitting():
    assert len(README.splitlines()) <= 150
