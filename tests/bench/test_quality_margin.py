"""What a margin for hits is worth, on sets where a hit says without the question's words what its neighbors repeat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ctxassembly import Chunk, Hit
from quality.data import Document, Question, QuestionSet, Span
from quality.margin import MARGINS, Found, main, measured, table

ANSWER = "Nocturnal birds of prey leave field {} at dusk. "
TALK = "When does the owl hunt? The owl hunts when it does. "
RULES = 1 + len(MARGINS)


@pytest.fixture
def owls() -> QuestionSet:
    """Four documents of nine chunks; the one in the middle answers and is the hit, all others repeat the question."""
    chunks, documents = {}, {}
    for name in "ABCD":
        texts = [f"{name}{n}: {ANSWER.format(name) * 6 if n == 4 else TALK * 6}" for n in range(9)]
        documents[name] = Document(name, name, "".join(texts))
        start = 0
        for n, text in enumerate(texts):
            chunks[f"{name}{n}"] = Chunk(f"{name}{n}", name, text, index=n, start=start)
            start += len(text)
    hits = tuple(Hit(chunks[f"{name}4"]) for name in "ABCD")
    begin = chunks["D4"].start or 0
    question = Question(
        "q", "When does the owl hunt?", (Span("D", begin + 4, begin + 4 + len(ANSWER.format("D"))),), hits
    )
    return QuestionSet("owls", documents, chunks, (question,), "")


def test_without_a_rule_the_hit_that_answers_is_lost(owls: QuestionSet) -> None:
    found = measured(owls, 1, [(4, 350)])
    assert found.recall[:, 0].tolist() == [0.0, *[1.0] * len(MARGINS)]
    assert found.gaps.shape == (RULES, 1)


def some(name: str, best: int) -> Found:
    recall = np.zeros((RULES, 3))
    recall[best] = 0.5
    return Found(name, np.array([1.0, 0.0, 0.0]), recall, np.ones((RULES, 3)))


def test_a_margin_is_tried_where_it_was_not_learned() -> None:
    lines = table([some("a", 2), some("b", 2), some("c", 5)]).splitlines()
    assert lines[0] == "| margin | all | by set: a, b, c | hard third | markers |"
    assert [line.split(" | ")[0] for line in lines[3:8]] == [f"| {each:g}" for each in MARGINS]
    # Of the other two one gains what the other loses: of equal margins the smallest.
    assert [line.split(" | ")[:2] for line in lines[-3:]] == [["| a", "0.25"], ["| b", "0.25"], ["| c", "0.25"]]
    assert lines[-3].endswith("+0.500 [+0.500, +0.500]* |")
    assert lines[-1].endswith("+0.000 [+0.000, +0.000] |")


def test_what_is_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "two folders at least" in capsys.readouterr().err
    assert main([str(tmp_path), str(tmp_path)]) == 2
    assert "there is no corpus.jsonl" in capsys.readouterr().err
