"""The measuring from question to context, on forty birds."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from ctxassembly import Chunk
from endtoend import peers as all_peers
from endtoend.measure import BUDGETS, FUSED, OURS, Asked, Found, measure
from endtoend.ours import CORPUS, POOL
from endtoend.peers import CHAINS, MERGING, PEERS, variants
from endtoend.report import report
from endtoend.system import Known
from quality.data import Document, Question, QuestionSet, Span
from quality.filling import count

pytestmark = pytest.mark.bench

BIRDS = 40
EYES = np.eye(BIRDS, dtype=np.float32)
NESTS = [f"Bird{n} nests in tree {n}." for n in range(BIRDS)]
REST = " It flies out in the morning, and in the evening it comes back over the fields." * 12
BOTH, WORDS, MEANING = (
    ("Where does bird3 nest?", 3, EYES[3]),
    ("Where does bird39 nest?", 39, EYES[3]),
    ("Which one is this about?", 39, EYES[39]),
)
"""The question, the bird that it is about, and its vector: of the second one the words alone tell, of the third one the
vector alone."""


def question_set(documents: dict[str, list[str]], questions: tuple[Question, ...]) -> QuestionSet:
    """Each document of pieces of text, a chunk each."""
    chunks = {}
    for name, pieces in documents.items():
        for index, piece in enumerate(pieces):
            start = len("".join(pieces[:index]))
            chunks[f"{name}#{index}"] = Chunk(f"{name}#{index}", name, piece, index=index, start=start)
    texts = {name: Document(name, name, "".join(pieces)) for name, pieces in documents.items()}
    return QuestionSet("birds", texts, chunks, questions, "digest")


@pytest.fixture(scope="module")
def birds() -> Asked:
    """A document for each, of one chunk: no bird stands beside another."""
    asked = (BOTH, WORDS, MEANING)
    questions = tuple(Question(text, text, (Span(f"{bird}", 0, len(NESTS[bird])),), ()) for text, bird, _ in asked)
    documents = {f"{number}": [nest + REST] for number, nest in enumerate(NESTS)}
    return Asked(question_set(documents, questions), EYES, np.array([vector for _, _, vector in asked]))


@pytest.fixture(scope="module")
def found(birds: Asked) -> Found:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_peers, "HITS", (5, 20))
        return measure(birds, lambda _: None)


def test_all_systems_are_measured(found: Found) -> None:
    assert found.recall.keys() == {*OURS, *PEERS, POOL, CORPUS}
    assert {tuple(recall) for recall in found.recall.values()} == {BUDGETS}


def test_ours_finds_by_words_and_by_vectors(found: Found) -> None:
    assert found.recall[FUSED][500].tolist() == [1, 1, 1]
    assert found.recall["ours, vectors alone"][500].tolist() == [1, 0, 1]
    assert found.recall["vectors, stuffed"][500].tolist() == [1, 0, 1]
    assert found.recall["exact BM25, stuffed"][500].tolist() == [1, 1, 0]


def test_hybrids_find_by_both_where_there_is_room(found: Found) -> None:
    hybrids = [name for name in CHAINS if not name.startswith(("vectors", "exact"))]
    assert {name: found.recall[name][2_000].tolist() for name in hybrids} == {name: [1, 1, 1] for name in hybrids}


def test_the_oracles_find_all(found: Found) -> None:
    assert found.pooled.tolist() == [1, 1, 1]
    assert [found.recall[name][500].tolist() for name in (POOL, CORPUS)] == [[1, 1, 1]] * 2


def test_no_context_is_over_its_budget(birds: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_peers, "HITS", (5,))
    question, vector = birds.pairs[0]
    tokens = {}
    with_server = variants(birds.questions, EYES, Known(birds.questions, EYES, birds.asked))
    for name, system in chain.from_iterable(with_server):
        fill = system(question, vector)
        for budget in (5, 300, 1_000):
            tokens[name, budget] = count(fill(budget).text)
    assert [key for key, number in tokens.items() if number > key[1]] == []
    assert all(number for (_, budget), number in tokens.items() if budget > 5)


# Parents


# The tables


def test_ours_is_compared_with_the_best_peer_of_a_budget(found: Found) -> None:
    recall = {**found.recall, **{name: dict.fromkeys(BUDGETS, np.zeros(3)) for name in PEERS}}
    recall[MERGING] = dict.fromkeys(BUDGETS, np.array([1.0, 0.5, 1.0]))
    rows = _rows(report({"birds": Found(recall, found.pooled), "the same": Found(recall, found.pooled)}))
    assert rows["birds"][0].startswith("+0.167 [")
    assert rows["all"][0].startswith("+0.167 [")
    assert rows[MERGING][0] == "**0.833**"


def _rows(text: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line]
    return {first: rest for first, *rest in cells if rest[0] not in ("500", "---")}
