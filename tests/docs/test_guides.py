"""The guides hold what they promise: every warning, preset and figure is the code's or the benchmark's own."""

from __future__ import annotations

import re

import pytest

from ctxassembly import errors
from ctxassembly.config.assembly import USES
from site_pages import FOLDER

BENCHES = FOLDER.parent / "tests" / "bench" / "README.md"
FIGURE = re.compile(r"(?<![\d.,])\d*\.\d{2,3}(?!\d)")
"""Shares, as benchmarks write them."""


def page(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def figures(text: str) -> set[float]:
    """The shares in the rows of tables."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return {float(found) for row in rows for found in FIGURE.findall(row)}


@pytest.mark.parametrize("warning", [name for name in errors.__all__ if name.endswith("Warning")])
def test_every_warning_has_a_section(warning: str):
    assert f"### {warning}\n" in page("troubleshooting.md")


@pytest.mark.parametrize("use", USES)
def test_every_preset_is_in_the_table_of_uses(use: str):
    assert f'"{use}"' in page("presets.md")


@pytest.mark.parametrize("name", ["postgres.md", "presets.md"])
def test_every_share_in_a_table_is_the_benchmarks(name: str):
    shown = figures(page(name))
    assert len(shown) > 10
    measured = BENCHES.read_text("utf-8") + page("benchmarks.md")
    assert shown <= {float(found) for found in FIGURE.findall(measured)}


def test_each_question_has_an_answer_with_a_link():
    _, *answers = re.split(r"^## ", page("questions.md"), flags=re.MULTILINE)
    assert len(answers) >= 15
    assert all(re.search(r"\]\([\w/-]+\.md(#[\w-]+)?\)", answer) for answer in answers)
