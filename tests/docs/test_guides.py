"""The guides hold what they promise: every warning, preset and figure is the code's or the benchmark's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from ctxassembly import errors
from ctxassembly.assembly.expansion.diagnostics import REMEDIES
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


def warned_of() -> Iterator[str]:
    """The literal parts of each warning that is written where it is given, figures and names left out."""
    for package in ("shared/ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly"):
        for path in (FOLDER.parent / package).rglob("*.py"):
            if path.name == "diagnostics.py":  # the table of what may be lacking; see below
                continue
            for call in ast.walk(ast.parse(path.read_text("utf-8"))):
                said = call.args if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "with_remedy" else ()
                if isinstance(call, ast.Assign) and getattr(call.targets[0], "id", "") in ("fact", "remedy"):
                    said = [call.value]
                for each in said:
                    parts = each.values if isinstance(each, ast.JoinedStr) else [each]
                    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
                    yield from (text for text in texts if isinstance(text, str) and " " in text.strip())


def test_every_warning_is_quoted():
    quoted = " ".join(page("troubleshooting.md").split())
    parts = [" ".join(part.split()) for part in warned_of()]
    assert len(parts) > 8
    assert [part for part in parts if part not in quoted] == []


@pytest.mark.parametrize("lack", ["pages", "place", "answer", "hit", "method", "failed", "indentation"])
def test_everything_that_may_be_lacking_is_explained(lack: str):
    assert lack in REMEDIES
    section = page("troubleshooting.md").partition("### NothingToJoinWarning")[2].partition("\n### ")[0]
    said = {
        "pages": "are separate documents",
        "place": "so neighbors can't be joined",
        "answer": "The store has none of the chunks next to the hits",
        "hit": "The store doesn't hold",
        "failed": "The store failed, so hits lack neighbors",
        "method": "The store can't be asked for neighbors",
        "indentation": "has lost its indentation",
    }
    assert said.keys() == REMEDIES.keys()
    assert said[lack] in section


@pytest.mark.parametrize("use", USES)
def test_every_preset_is_in_the_table_of_uses(use: str):
    assert f'"{use}"' in page("presets.md")


@pytest.mark.parametrize("name", ["benchmarks.md", "postgres.md", "presets.md"])
def test_every_share_in_a_table_is_the_benchmarks(name: str):
    shown = figures(page(name))
    assert len(shown) > 10
    assert shown <= figures(BENCHES.read_text("utf-8"))


def test_each_question_has_an_answer_with_a_link():
    _, *answers = re.split(r"^## ", page("questions.md"), flags=re.MULTILINE)
    assert len(answers) >= 15
    assert all(re.search(r"\]\([\w/-]+\.md(#[\w-]+)?\)", answer) for answer in answers)
