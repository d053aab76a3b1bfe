from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxassembly.evaluate.__main__ import CHUNK_CHARS, main, read_folder, split_texts

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


def test_it_prints_the_table_of_evaluate(folder: Path, questions: str, capsys: pytest.CaptureFixture[str]):
    assert main([questions, "--store", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 systems on 2 questions, 95 % intervals\n")
    assert "evidence recall" in printed
    assert "Difference from hits in order, question by question" in printed


def test_it_writes_a_page(folder: Path, questions: str, tmp_path: Path):
    page = tmp_path / "report.html"
    assert main([questions, "--store", str(folder), "--html", str(page), "--budget", "200"]) == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_filter_of_a_question_holds(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "filtered.jsonl"
    row = {"question": "Ferritin, or a garage?", "quotation": "has a lift", "filter": {"source": "laboratory.txt"}}
    path.write_text(json.dumps(row), "utf-8")
    main([str(path), "--store", str(folder)])
    assert re.search(r"evidence recall +0\.000 ±\.000 +0\.000 ±\.000", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--store", "nowhere"], "nowhere has no text"),
        (["--store", "{folder}", "--budget", "0"], "max_tokens must be"),
        ([], "the following arguments are required: --store"),
    ],
)
def test_errors_are_one_line(
    folder: Path, questions: str, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as stopped:
        main([questions, *(one.format(folder=folder) for one in given)])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_model_makes_the_search_hybrid(
    folder: Path, questions: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    embedded: list[str] = []

    class Model:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(len(text)), 1.0] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            embedded.append(text)
            return [1.0, 1.0]

    monkeypatch.setattr("ctxassembly.evaluate.__main__._load_model", lambda name: Model())
    assert main([questions, "--store", str(folder), "--model", "small"]) == 0
    assert set(embedded) == {"When is ferritin measured?", "Does the garage have a lift?"}
    assert "evidence recall" in capsys.readouterr().out


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "ctxassembly.evaluate", "--help"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "--store" in done.stdout
    assert done.stderr == ""


def test_chunks_are_verbatim_slices_of_their_documents(folder: Path):
    texts = read_folder(folder)
    assert list(texts) == ["laboratory.txt", "more/garage.md"]
    chunks = split_texts(texts)
    for chunk in chunks:
        assert chunk.start is not None
        assert texts[chunk.document_id].startswith(chunk.text, chunk.start)
        assert len(chunk.text) <= CHUNK_CHARS
    for name, text in texts.items():
        together = "".join(chunk.text for chunk in chunks if chunk.document_id == name)
        assert "".join(together.split()) == "".join(text.split())
