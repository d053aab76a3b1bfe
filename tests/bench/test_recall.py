"""The measuring of retrieval, on three birds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ctxassembly import Chunk
from quality.data import Document, Question, QuestionSet, Span
from recall.__main__ import main
from recall.enhancements import assembled, effects
from recall.measure import measured, table
from recall.peers import PEERS, peers
from recall.rerankers import by_sentence_words
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


def test_a_folder_without_questions_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "recall: " in capsys.readouterr().err


# Enhancements


@pytest.fixture
def walks() -> QuestionSet:
    """Two documents of two chunks each. The words of the first question lead to the wrong one of its chunks."""
    texts = {
        "a#0": "Walks start at the mill. Dogs are welcome.",
        "a#1": "The mill was built in 1702. Cats stay at home.",
        "b#0": "Tickets are sold at the gate. Keep them until the end of the walk. They are made of paper.",
        "b#1": "Children pay half a crown.",
    }
    documents = {name: Document(name, name, f"{texts[name + '#0']}\n{texts[name + '#1']}") for name in "ab"}
    chunks = {
        id_: Chunk(id_, id_[0], text, int(id_[2]), documents[id_[0]].text.index(text)) for id_, text in texts.items()
    }
    answers = {"Are dogs welcome?": "Dogs are welcome.", "What do children pay?": "Children pay half a crown."}
    questions = []
    for (asked, said), document in zip(answers.items(), documents.values(), strict=True):
        start = document.text.index(said)
        questions.append(Question(asked, asked, (Span(document.id, start, start + len(said)),), ()))
    return QuestionSet("walks", documents, chunks, tuple(questions), "digest")


VECTORS = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], dtype=np.float32)
ASKED = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]], dtype=np.float32)


def test_each_enhancement_is_measured(walks: QuestionSet) -> None:
    rerankers = {"words": by_sentence_words(walks)}
    systems = effects(walks, VECTORS, rerankers)
    first = {name: [system(*each)[0] for each in _asked(walks)] for name, system in systems.items()}
    assert first["fused"] == first["with rescue"] == ["a#0", "b#1"]
    assert first["without content keyword"][0] == "a#1"
    assert first["with a reranker, words"] == ["a#0", "b#1"]
    boosted = {name: systems[f"with a boost of 20 %, {name}"] for name in ("its document known", "another document")}
    (asked, vector), _ = _asked(walks)
    assert boosted["its document known"](asked, vector).index("a#1") <= 1
    assert {*boosted["another document"](asked, vector)} == {*walks.chunks}


def test_assembly_is_measured_in_the_tokens_of_its_hits(walks: QuestionSet) -> None:
    def beside_it(question: str, vector: Sequence[float]) -> list[str]:
        return ["a#1", "b#0"] if "dogs" in question else ["b#1"]

    assert measured(walks, ASKED, {"alone": beside_it})[0].recall == (0.5, 0.5, 0.5)
    assert assembled(walks, ASKED, beside_it).recall == (
        1.0,
        1.0,
        1.0,
    )  # the neighbor has the answer, and takes the room of what hasn't


def _asked(questions: QuestionSet) -> list[tuple[str, list[float]]]:
    return [(question.text, vector.tolist()) for question, vector in zip(questions.questions, ASKED, strict=True)]
