"""The whole command on a small set: tables and notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quality import minilm, strategies
from quality.__main__ import main
from recall.exact import Vectors

BIRDS = ["The lark sings at dawn, high above the fields.", "The owl sings at night, deep in the woods."]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, a chunk each, and two questions, the better hit of which is the wrong one once."""
    names = ("lark", "owl")
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"document_id": name, "title": name, "text": text} for name, text in zip(names, BIRDS, strict=True)],
        "chunks": [
            {"id": f"{name}#0", "document_id": name, "index": 0, "start": 0, "end": len(text), "text": text}
            for name, text in zip(names, BIRDS, strict=True)
        ],
        "questions": [
            {
                "qid": name,
                "question": f"When does the {name} sing?",
                "spans": [{"document_id": name, "start": 0, "end": 20}],
                "hits": [["owl#0", 0.9], ["lark#0", 0.8]],
                "answers": [answer],
            }
            for name, answer in zip(names, ("at dawn", "at night"), strict=True)
        ],
    }
    folder = tmp_path / "birds"
    folder.mkdir()
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def run(folder: Path, *more: str, folders: tuple[Path, ...] = ()) -> str:
    """The report, of the hits that the set comes with unless others are asked for."""
    out = folder.parent / "out"
    asked = ["--strategies", "concatenation", "chunk", "oracle-sentences", "--budgets", "20", "100"]
    asked += [] if "--retrieval" in more else ["--retrieval", "given"]
    assert main([*map(str, (folder, *folders)), "--out", str(out), *asked, *more]) == 0
    return (out / "report.md").read_text()


def table(report: str, title: str) -> dict[str, list[str]]:
    """The first table under that title: cells by strategy."""
    lines = report.partition(f"### {title}\n")[2].partition("\n#")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {row[0]: row[2:] for row in rows[1:]}


def test_the_tables(folder: Path) -> None:
    report = run(folder)
    recall = table(report, "Evidence recall")
    # At 20 tokens the better hit alone fits, which is the right one for one question of two.
    assert [cell.split()[0] for cell in recall["concatenation"]] == ["0.500", "1.000"]
    assert [cell.split()[0] for cell in recall["oracle-sentences"]] == ["1.000", "1.000"]
    used = table(report, "Evidence recall over the tokens used")
    assert used["concatenation"][0].startswith("0.500 at ")
    assert all(
        int(at.rpartition(" ")[2]) <= limit for row in used.values() for at, limit in zip(row, (20, 100), strict=True)
    )
    assert table(report, "Full hit (all evidence in the context)")["chunk"][1] == "1.000 ±0.000"
    assert table(report, "Violations (contexts over the budget)")["chunk"] == ["0.000 ±0.000"] * 2
    differences = table(report, "Evidence recall: difference from concatenation, question by question")
    assert set(differences) == {"chunk", "oracle-sentences"}
    assert differences["oracle-sentences"][0].startswith("+0.500 [")


def test_each_number_of_hits_has_its_tables(folder: Path) -> None:
    report = run(folder, "--hits", "1", "2")
    one, two = report.split("# How much of the evidence reaches the reader\n")[1:]
    assert "At most 1 hits a question: given." in one
    assert "At most 2 hits a question: given." in two
    # The only hit is the right one for one question of two; with both at 100 tokens it always is among them.
    assert table(one, "Evidence recall")["concatenation"][1].split()[0] == "0.500"
    assert table(two, "Evidence recall")["concatenation"][1].split()[0] == "1.000"


def test_one_in_so_many_questions(folder: Path) -> None:
    assert "birds (1)" in run(folder, "--every", "2")


def _embed(texts: Sequence[str], *, progress: bool = False) -> Vectors:
    """A vector for texts about the owl, and another one for all others."""
    return np.array([[1.0, 0.0] if "owl" in text else [0.0, 1.0] for text in texts], dtype=np.float32)


@pytest.fixture
def embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "NEEDS", "json")
    monkeypatch.setattr(minilm, "embed", _embed)


@pytest.mark.usefixtures("embeddings")
def test_our_own_retrieval_puts_the_right_hit_first(folder: Path) -> None:
    report = run(folder, "--hits", "1", "--retrieval", "given", "vectors", "fused")
    given, vectors, fused = report.split("# How much of the evidence reaches the reader\n")[1:]
    assert "At most 1 hits a question: given." in given
    assert table(given, "Evidence recall")["chunk"][1].split()[0] == "0.500"
    for ours in (vectors, fused):
        assert table(ours, "Evidence recall")["chunk"][1].split()[0] == "1.000"


@pytest.mark.usefixtures("embeddings")
def test_where_the_evidence_is_lost(folder: Path) -> None:
    asked = ("--strategies", "auto", "oracle-sentences", "--retrieval", "given", "fused", "--hits", "1")
    lost = run(folder, *asked).partition("# Where the evidence is lost\n")[2].partition("\n# ")[0]
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lost.splitlines() if line.startswith("| ")}
    # The one hit is the owl's for the question on the lark, too. In 20 tokens a header leaves no room for it all.
    assert rows["1 hits, given"][1].strip() == "0.500 / 0.500 / 0.000"
    assert rows["1 hits, fused"][1].strip() == "1.000 / 0.000 / 0.000"


def test_our_own_retrieval_needs_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(minilm, "NEEDS", "no_such_module")
    out = ("--out", str(folder.parent / "out"), "--strategies", "chunk")
    assert main([str(folder), *out, "--retrieval", "fused"]) == 2
    assert "--retrieval fused needs no_such_module" in capsys.readouterr().err
    assert main([str(folder), *out]) == 0
    report = (folder.parent / "out" / "report.md").read_text()
    assert "Hits by our own retrieval are left out: no_such_module isn't installed." in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "there is no corpus.jsonl"),
        (("{folder}", "{folder}"), "two folders have the same name"),
    ],
)
def test_what_is_wrong_is_one_line(
    folder: Path, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [argument.format(folder=folder) for argument in arguments]
    assert main([*given, "--out", str(folder.parent / "out"), "--strategies", "chunk", "--retrieval", "given"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_what_is_not_installed_is_left_out_and_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(strategies.STRATEGIES):
        if name not in ("concatenation", "langchain-reorder"):
            monkeypatch.delitem(strategies.STRATEGIES, name)
    peer = strategies.STRATEGIES["langchain-reorder"]._replace(needs=("no_such_module",))
    monkeypatch.setitem(strategies.STRATEGIES, "langchain-reorder", peer)
    out = folder.parent / "out"
    assert main([str(folder), "--out", str(out), "--retrieval", "given"]) == 0
    assert "langchain-reorder is left out: no_such_module isn't installed." in (out / "report.md").read_text()
    assert main([str(folder), "--out", str(out), "--strategies", "langchain-reorder"]) == 2
