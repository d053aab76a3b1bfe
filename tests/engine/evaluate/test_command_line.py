from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

LABORATORY = "Ferritin is measured in the morning. " * 3 + "Iron is measured with it."
GARAGE = "The garage has a lift.\n\nIt is open on weekdays. " + "Parking is not free. " * 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    (documents / "more").mkdir(parents=True)
    (documents / "laboratory.txt").write_text(LABORATORY, "utf-8")
    (documents / "more" / "garage.md").write_text(GARAGE, "utf-8")
    (documents / "picture.png").write_bytes(b"\x89PNG")
    return documents


@pytest.fixture
def questions(tmp_path: Path) -> str:
    path = tmp_path / "questions.jsonl"
    rows = [
        {"question": "When is ferritin measured?", "quotation": "measured in the morning", "id": "iron"},
        {"question": "Does the garage have a lift?", "quotation": "The garage has a lift.", "id": "lift"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return str(path)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """The exit code of `python -m ctxassembly.evaluate`, in this process."""
    monkeypatch.setattr(sys, "argv", ["evaluate", *arguments])
    monkeypatch.delitem(sys.modules, "ctxassembly.evaluate.__main__", raising=False)
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("ctxassembly.evaluate", run_name="__main__")
    return stopped.value.code


def test_it_prints_the_table_of_evaluate_and_writes_a_page(
    folder: Path,
    questions: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    page = tmp_path / "report.html"
    assert run(monkeypatch, questions, "--store", str(folder), "--html", str(page), "--budget", "200") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 systems on 2 questions, 95 % intervals\n")
    assert "- 1 file skipped, not .txt, .md, .rst: picture.png\n" in printed
    assert re.search(r"evidence recall +1\.000", printed)
    assert "Difference from hits in order, question by question" in printed
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("where", ["missing/report.html", "documents"])
def test_the_page_can_be_written_or_nothing_is_asked(
    where: str,
    folder: Path,
    questions: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    assert run(monkeypatch, questions, "--store", str(folder), "--html", str(tmp_path / where)) == 2
    printed = capsys.readouterr()
    assert "--html must be a file that can be written, in a folder that exists, got" in printed.err
    assert "question" not in printed.err.partition("--html must be")[2]
