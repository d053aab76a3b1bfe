"""The measuring of retrieval, on three birds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ctxassembly import Chunk
from quality.data import Document, Question, QuestionSet, Span
from recall.__main__ import main
from recall.measure import embedded, measured, table
from recall.peers import PEERS, peers
from recall.systems import EXACT, OURS, systems

pytestmark = pytest.mark.bench

TEXTS = {
    "lark": "The lark sings at dawn, high above the fields.",
    "owl": "The owl hunts at night, deep in the woods.",
    "wren": "The wren is a small bird with a loud voice.",
}
EYES = np.eye(3, dtype=np.float32)


@pytest.fixture
def birds() -> QuestionSet:
    chunks = {name: Chunk(name, name, text, index=0, start=0) for name, text in TEXTS.items()}
    asked = [("lark", "Who sings at dawn?"), ("owl", "Who is awake after sunset?")]
    questions = tuple(Question(name, text, (Span(name, 0, 20),), ()) for name, text in asked)
    return QuestionSet("birds", {n: Document(n, n, t) for n, t in TEXTS.items()}, chunks, questions, "digest")


def test_each_system_is_measured(birds: QuestionSet) -> None:
    found = {row.system: row.recall for row in measured(birds, EYES[:2], systems(birds, EYES))}
    assert found.keys() == {*OURS, EXACT}
    assert found["vector"] == found["fused"] == (1.0, 1.0, 1.0)
    assert found["keyword"] == found["exact BM25"] == (0.5, 0.5, 0.5)  # no word tells of the owl


def test_each_peer_is_measured(birds: QuestionSet) -> None:
    with peers(birds, EYES) as others:
        found = {row.system: row.recall for row in measured(birds, EYES[:2], others)}
    assert found == dict.fromkeys(PEERS, (1.0, 1.0, 1.0))  # three birds are fewer than any depth


def test_peers_fuse_words_and_vectors(birds: QuestionSet) -> None:
    """The vector is the owl's, the words are the wren's."""
    with peers(birds, EYES) as others:
        first = {name: system("small bird loud", EYES[1])[:2] for name, system in others.items()}
    assert {name: sorted(ids) for name, ids in first.items()} == {name: ["owl", "wren"] for name in PEERS}


def test_the_depth_cuts(birds: QuestionSet) -> None:
    late = {"late": lambda question, vector: ["wren"] * 4 + ["lark", "wren", "owl"]}
    (row,) = measured(birds, EYES[:2], late)
    assert row.recall == (0.5, 1.0, 1.0)
    assert table("birds", [row]).splitlines()[0] == "| birds | 5 | 10 | 20 | ms |"
    assert table("birds", [row]).splitlines()[2].startswith("| late | 0.500 | 1.000 | 1.000 | ")


def test_vectors_are_made_once(birds: QuestionSet, tmp_path: Path) -> None:
    calls: list[int] = []

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(len(texts))
        return EYES[: len(texts)]

    for _ in range(2):
        chunks, asked = embedded(birds, embed, tmp_path / "vectors")
        assert (chunks.shape, asked.shape) == ((3, 3), (2, 3))
    assert calls == [3, 2]


def test_a_folder_without_questions_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "recall: " in capsys.readouterr().err
