"""The measurement of conversations, on a made set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agent_prompts
from conversations import conversations, main
from quality.data import FILES, read


def write_set(folder: Path) -> Path:
    """One document of 30 sentences in 10 chunks, and five questions in a row on it, which find chunks around theirs."""
    sentences = [f"Rule {at} of the house says that room {at} is open on day {at}." for at in range(30)]
    texts = [" ".join(sentences[at : at + 3]) for at in range(0, 30, 3)]
    whole = "\n".join(texts)
    chunks = [
        {"id": f"a#{at}", "document_id": "a", "index": at, "start": whole.index(text), "text": text}
        for at, text in enumerate(texts)
    ]
    questions = []
    for at in range(5):
        start = whole.index(sentences[6 * at])
        span = {"document_id": "a", "start": start, "end": start + len(sentences[6 * at])}
        hits = [[f"a#{place % 10}", 1 / (1 + abs(place - 2 * at))] for place in range(2 * at, 2 * at + 6)]
        questions.append({"qid": str(at), "question": f"What does rule {6 * at} say?", "spans": [span], "hits": hits})
    rows = (
        [{"document_id": "a", "text": whole}],
        [{**one, "end": one["start"] + len(one["text"])} for one in chunks],
        questions,
    )
    for name, lines in zip(FILES, rows, strict=True):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def test_the_table_has_tokens_and_recall_of_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_set(tmp_path)
    assert [len(one) for one in conversations(read(folder))] == [5]
    assert main([str(folder), "--budgets", "2000"]) == 0
    header, _, row = capsys.readouterr().out.splitlines()
    always, never, *recalls, resolved = (cell.strip() for cell in row.split("|")[4:-1])
    assert "tokens, never" in header
    assert int(never.split(" ")[0].replace(",", "")) < int(always.replace(",", ""))
    assert recalls == ["1.000", "1.000"]
    assert resolved == "1.000"


def test_the_table_of_agents_has_tokens_breaks_and_recall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_prompts.TOPICS", 1)
    assert agent_prompts.main([str(write_set(tmp_path)), "--windows", "600", "4000"]) == 0
    small, large = (
        [float(cell.replace(",", "")) for cell in row.split("|")[3:-1]]
        for row in capsys.readouterr().out.splitlines()[2:]
    )
    assert small[0] > small[1] > 0
    assert large[2:] == [0.0, 1.0]
    assert small[2] == 2.0
