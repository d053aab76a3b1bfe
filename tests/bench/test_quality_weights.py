"""The search for weights, on sets where it is plain which signal tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctxassembly import Chunk
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.weights import WEIGHTS, Weights
from ctxassembly.data.candidates import Candidate
from quality.data import Question
from quality.weights import Case, Cases, main, search, table

SENTENCES = 12
NAMES = list(Weights._fields)


def telling(name: str, *, against: str) -> Case:
    """The evidence is the first of some sentences: one signal says so, another one says the last."""
    text = "A sentence of some seventy letters, which needs no other one near it. "
    line = "".join(text.replace("A", f"{n}") for n in range(SENTENCES))
    units = score_sentences([DocumentText(Candidate(0, Chunk("d", "d", line), 0))], "")
    signals = np.zeros((len(NAMES), SENTENCES))
    signals[NAMES.index(name), 0] = 1.0 / getattr(WEIGHTS, name)
    signals[NAMES.index(against), -1] = 1.1 / getattr(WEIGHTS, against)
    evidence = np.zeros(SENTENCES, dtype=np.int64)
    evidence[0] = len(text)
    return Case(Question("q", "?", (), ()), units, signals, evidence, len(text))


def test_a_signal_that_tells_gains_weight_and_one_that_misleads_loses_it() -> None:
    case = Cases("a", [telling("sentence", against="document")], 4.0)
    one_sentence = [32]
    assert case.recall(WEIGHTS, one_sentence).tolist() == [0.0]
    learned = search(lambda weights: float(case.recall(weights, one_sentence).mean()))
    assert case.recall(learned, one_sentence).tolist() == [1.0]
    assert learned.sentence / learned.document > WEIGHTS.sentence / WEIGHTS.document
    assert search(lambda weights: 0.5) == WEIGHTS


def test_what_is_learned_is_tried_where_it_was_not_learned() -> None:
    right = Cases("right", [telling("sentence", against="document")], 4.0)
    wrong = Cases("wrong", [telling("document", against="sentence")], 4.0)
    rows = [
        row.strip("| ").split(" | ") for row in table([right, right._replace(name="too"), wrong], [32]).splitlines()
    ]
    assert [row[0] for row in rows[3:]] == ["right", "too", "wrong"]
    # Of the other two one gains what the other loses; those that agree teach what is wrong for the third.
    assert rows[5][-3:-1] == ["0.000", "0.000"]
    assert rows[3][-3] == "0.000"


def a_set(folder: Path) -> Path:
    texts = [f"The lark of field {n} sings at dawn. " + "Nothing else is known of it. " * 60 for n in range(3)]
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"document_id": f"d{n}", "text": text} for n, text in enumerate(texts)],
        "chunks": [
            {"id": f"c{n}", "document_id": f"d{n}", "index": 0, "start": 0, "end": len(text), "text": text}
            for n, text in enumerate(texts)
        ],
        "questions": [
            {
                "qid": "q",
                "question": "When does the lark of field 2 sing?",
                "spans": [{"document_id": "d2", "start": 0, "end": 35}],
                "hits": [[f"c{n}", 0.5] for n in range(3)],
            }
        ],
    }
    folder.mkdir()
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(a_set(tmp_path / name)) for name in ("one", "other")]
    assert main([*folders, "--budgets", "40"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[-1].startswith("| other | 0.80 | 0.80 |")
    assert rows[-1].endswith("| 1.000 | 1.000 | +0.000 [+0.000, +0.000] |")
    with pytest.raises(SystemExit):
        main(folders[:1])
    assert "two folders" in capsys.readouterr().err
    assert main([str(tmp_path), str(tmp_path)]) == 2
    assert "there is no corpus.jsonl" in capsys.readouterr().err
