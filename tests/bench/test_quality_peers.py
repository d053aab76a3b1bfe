"""The peers of the quality benchmark do what they are measured for, and the whole command works with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ctxassembly import Chunk, Hit
from quality import minilm, prepare
from quality.__main__ import main
from quality.baselines import stems
from quality.data import Document, Question, QuestionSet, Span, read
from quality.filling import SEPARATOR, Answer, Case, Fill, count
from quality.measure import measured
from quality.strategies import STRATEGIES

pytestmark = pytest.mark.bench

SENTENCES = [
    f"The {bird} lives in the {place}, sings at {time} and eats {food} all year round."
    for bird, place, time, food in (
        ("lark", "field", "dawn", "seeds"),
        ("owl", "barn", "midnight", "mice"),
        ("wren", "hedge", "noon", "spiders"),
        ("heron", "reeds", "dusk", "frogs"),
        ("swift", "tower", "evening", "gnats"),
        ("rook", "elm", "morning", "worms"),
    )
]
TEXT = " ".join(SENTENCES)
OTHER = "Fish don't sing."


def chunk(document_id: str, index: int, text: str, start: int) -> Chunk:
    return Chunk(f"{document_id}#{index}", document_id, text, index=index, start=start)


def birds() -> QuestionSet:
    """A document of six chunks, a sentence each, the next one's first word overlapping; and one of one chunk."""
    starts = [TEXT.index(sentence) for sentence in SENTENCES]
    ends = [*(start + len("The") for start in starts[1:]), len(TEXT)]
    chunks = [
        chunk("birds", n, TEXT[start:end], start) for n, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    chunks.append(chunk("fish", 0, OTHER, 0))
    documents = {"birds": Document("birds", "Birds", TEXT), "fish": Document("fish", "Fish", OTHER)}
    return QuestionSet("birds", documents, {each.id: each for each in chunks}, (), "digest")


def fill_of(name: str, *hits: str, question: str = "When does the heron sing?") -> Fill:
    for module in STRATEGIES[name].needs:
        if module != minilm.NEEDS and not find_spec(module):
            pytest.skip(f"{name} needs {module}, which isn't installed")
    questions = birds()
    asked = Question("q", question, (Span("birds", 0, 10),), ())
    found = tuple(Hit(questions.chunks[hit], 0.9 - rank / 10) for rank, hit in enumerate(hits))
    return STRATEGIES[name].make(questions)(Case(asked, found, questions))


def text_of(*names: str) -> str:
    chunks = birds().chunks
    return SEPARATOR.join(chunks[name].text for name in names)


MANY = ("birds#0", "birds#2", "birds#4", "fish#0")


# What each of them must do


def test_bm25_rerank_lets_the_words_of_the_question_decide() -> None:
    assert fill_of("bm25-rerank", *MANY, question="Who eats gnats in the evening?")(40).text.startswith(SENTENCES[4])


def test_prev_next_brings_both_neighbors_in_order() -> None:
    assert fill_of("llamaindex-prev-next", "birds#3")(1_000).text == text_of("birds#2", "birds#3", "birds#4")
    assert fill_of("llamaindex-prev-next", "fish#0")(1_000).text == OTHER


def test_the_window_of_haystack_joins_the_neighbors() -> None:
    answer = fill_of("haystack-window", "birds#3")(1_000)
    assert answer.text == TEXT[answer.runs[0].start : answer.runs[-1].end]
    assert SENTENCES[2] in answer.text
    assert SENTENCES[4] in answer.text


def test_segments_close_a_gap_between_two_hits() -> None:
    answer = fill_of("dsrag-segments", "birds#1", "birds#3", "fish#0")(1_000)
    assert answer.runs[0].start == TEXT.index(SENTENCES[1])
    assert SENTENCES[2] in answer.text


def by_words(texts: Sequence[str], *, progress: bool = False) -> NDArray[np.float32]:
    """Return vectors as a model of the test's few words would."""
    known = {stem: place for place, stem in enumerate(dict.fromkeys(stems(TEXT + OTHER)))}
    vectors = np.full((len(texts), len(known)), 1e-3, dtype=np.float32)
    for row, text in enumerate(texts):
        for stem in stems(text):
            if stem in known:
                vectors[row, known[stem]] += 1
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "embed", by_words)
    monkeypatch.setattr(minilm, "_VECTORS", {})


COMPRESSORS = (
    "llmslim",
    "trimwise-auto",
    "trimwise-hybrid",
    "context-forge",
    "langchain-filter",
    "llamaindex-sentences",
)
LONG = tuple(f"birds#{place}" for place in (0, 2, 3, 4))


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressors_keep_the_budget(name: str) -> None:
    fill = fill_of(name, *LONG, "fish#0")
    for budget in (1, 5, 17, 30, 45, 60, 100):
        assert count(fill(budget).text) <= budget


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressors_put_first_what_answers(name: str) -> None:
    """In a budget for one hit of four, the third has the answer."""
    hits = ("birds#3", *LONG[:2], LONG[3]) if name == "llamaindex-sentences" else LONG  # it keeps the ranks
    assert "sings at dusk" in fill_of(name, *hits)(30).text


# All of them


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", STRATEGIES)
def test_each_tells_truly_where_its_text_comes_from(name: str) -> None:
    """`evaluate` refuses runs that don't stand in the text."""
    fill = fill_of(name, "birds#3", "birds#0", "fish#0", "birds#1")
    for budget in (5, 30, 60, 1_000):
        answer = fill(budget)
        assert score(answer)["recall"] <= 1
        for run in answer.runs:
            assert run.start < run.end


def score(answer: Answer) -> dict[str, float]:
    """The measures of a context."""
    question = Question("q", "?", (Span("birds", 0, 10),), ())
    questions = replace(birds(), questions=(question,))
    found = measured(questions, [question], lambda _: lambda budget: answer, [1_000], lambda _: None)
    return {name: float(values[0]) for name, values in found[1_000].items()}


# Python's own language reference, from its preparation to the report


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "python"
    assert prepare.main(["python", "--out", str(folder), "--retriever", "bm25"]) == 0
    return folder


def test_the_language_reference_is_a_question_set(reference: Path) -> None:
    questions = read(reference)
    assert len(questions.documents) > 50
    assert len(questions.questions) > 100
    assert all(len(question.hits) == 20 for question in questions.questions)
    assert all(count(each.text) <= prepare.CHUNK_TOKENS for each in questions.chunks.values())
    with_heading = [
        question.text
        for question in questions.questions
        for span in question.evidence
        if f"\n{question.text.split(': ')[-1]}\n==" in questions.documents[span.document_id].text
    ]
    assert with_heading == [], "the question isn't given away"


def test_all_strategies_side_by_side(reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name, entry in STRATEGIES.items() if not entry.missing and minilm.NEEDS not in entry.needs]
    asked = [
        "--out",
        str(tmp_path),
        "--every",
        "60",
        "--budgets",
        "500",
        "2000",
        "--retrieval",
        "given",
        "--strategies",
        *names,
    ]
    assert main([str(reference), *asked]) == 0
    shown = capsys.readouterr().out
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown.splitlines() if line.startswith("|")]
    rows = {name: row for name, *row in cells}
    assert set(names) <= set(rows)
    recall = {name: float(rows[name][2].split()[0]) for name in names}
    assert 0 < recall["concatenation"] <= recall["oracle-sentences"] <= 1
    tokens = {name: int(rows[name][2].split()[-1].replace(",", "")) for name in names}
    assert tokens["haystack-middle"] > 2_000  # it counts words
    assert all(tokens[name] <= 2_000 for name in names if STRATEGIES[name].kind in ("baseline", "ours", "oracle"))
    assert "†" in (tmp_path / "report.md").read_text("utf-8")
    assert (tmp_path / "recall.png").read_bytes().startswith(b"\x89PNG")
