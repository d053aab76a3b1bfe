"""The peers of the quality benchmark do what they are measured for, and the whole command works with all of them."""

from __future__ import annotations

import json
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
from quality.baselines import bm25, bm25_rerank, stems
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


def test_bm25_rerank_keeps_the_ranks_where_no_word_occurs() -> None:
    assert fill_of("bm25-rerank", *MANY, question="Xyz?")(1_000).text == text_of(*MANY)


def test_bm25_finds_other_forms_of_a_word() -> None:
    assert [score > 0 for score in bm25(["It was measured.", "It was seen."])("measurements")] == [True, False]
    assert bm25(["one", ""])("two") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("langchain-reorder", ("birds#2", "fish#0", "birds#4", "birds#0")),
        ("llamaindex-reorder", ("birds#2", "fish#0", "birds#4", "birds#0")),
    ],
)
def test_reordering_has_the_best_at_both_ends(name: str, order: tuple[str, ...]) -> None:
    """Of an even number both libraries put the best last."""
    assert fill_of(name, *MANY)(1_000).text == text_of(*order)


@pytest.mark.parametrize("name", ["langchain-reorder", "llamaindex-reorder"])
def test_reordering_comes_after_the_cut_by_rank(name: str) -> None:
    fill = fill_of(name, *MANY)
    assert set(fill(count(text_of(*MANY[:2]))).text.split(SEPARATOR)) == set(text_of(*MANY[:2]).split(SEPARATOR))


def test_prev_next_brings_both_neighbors_in_order() -> None:
    assert fill_of("llamaindex-prev-next", "birds#3")(1_000).text == text_of("birds#2", "birds#3", "birds#4")
    assert fill_of("llamaindex-prev-next", "fish#0")(1_000).text == OTHER


def test_the_ranker_of_haystack_goes_over_the_budget() -> None:
    """It counts words, and takes the text that crosses its threshold."""
    answer = fill_of("haystack-middle", *MANY)(30)
    assert count(answer.text) > 30
    assert count(fill_of("haystack-middle", *MANY)(1_000).text) < 1_000


def test_the_ranker_of_haystack_puts_the_worst_in_the_middle() -> None:
    assert fill_of("haystack-middle", *MANY)(1_000).text == text_of("birds#0", "birds#4", "fish#0", "birds#2")


def test_the_window_of_haystack_joins_the_neighbors() -> None:
    answer = fill_of("haystack-window", "birds#3")(1_000)
    assert answer.text == TEXT[answer.runs[0].start : answer.runs[-1].end]
    assert SENTENCES[2] in answer.text
    assert SENTENCES[4] in answer.text


def test_the_windows_of_haystack_repeat_what_they_share() -> None:
    answer = fill_of("haystack-window", "birds#2", "birds#3")(1_000)
    assert answer.text.count(SENTENCES[2]) == 2
    assert score(answer)["duplicates"] > 0.2


def test_segments_close_a_gap_between_two_hits() -> None:
    answer = fill_of("dsrag-segments", "birds#1", "birds#3", "fish#0")(1_000)
    assert answer.runs[0].start == TEXT.index(SENTENCES[1])
    assert SENTENCES[2] in answer.text


def test_segments_end_with_hits_and_leave_out_what_costs_more_than_it_brings() -> None:
    answer = fill_of("dsrag-segments", "birds#0", "birds#5")(1_000)
    assert SENTENCES[0] in answer.text
    assert SENTENCES[5] in answer.text
    assert SENTENCES[3] not in answer.text


def test_segments_are_no_longer_than_the_budget() -> None:
    answer = fill_of("dsrag-segments", "birds#1", "birds#2", "birds#3")(count(SENTENCES[0]) + 6)
    assert len(answer.runs) == 1
    assert len(answer.text) < 2 * len(SENTENCES[0])


def test_merging_writes_one_text_for_each_document_with_its_gaps() -> None:
    text = fill_of("onyx-merging", "birds#5", "fish#0", "birds#0")(1_000).text
    birds_text, fish = text.split(f"{SEPARATOR}Fish")
    assert fish == " don't sing."
    first, second = birds_text.split("\n\n...\n\n")
    assert first.split("\n")[0].startswith(SENTENCES[0]), "chunks stand in their order, whatever their ranks"
    assert second.split("\n")[-1] == SENTENCES[5]


def test_merging_cuts_what_crosses_the_limit_and_does_not_count_again() -> None:
    answer = fill_of("onyx-merging", "birds#5", "birds#0", "fish#0")(60)
    assert SENTENCES[4] in answer.text
    assert SENTENCES[5] in answer.text
    assert SENTENCES[1] not in answer.text
    assert SENTENCES[1][:12] in answer.text
    assert OTHER not in answer.text
    assert count(answer.text) > 60


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


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressors_lose_no_text_where_all_of_it_fits(name: str) -> None:
    answer = fill_of(name, *LONG)(1_000)
    assert all(SENTENCES[int(hit[-1])] in answer.text for hit in LONG)
    for hit in LONG:
        text = birds().chunks[hit].text
        start = TEXT.index(text)
        found = {at for run in answer.runs for at in range(max(run.start, start), min(run.end, start + len(text)))}
        assert len("".join(TEXT[at] for at in found).split()) >= len(SENTENCES[int(hit[-1])].split())


@pytest.mark.usefixtures("vectors")
def test_context_forge_leaves_out_short_chunks() -> None:
    assert OTHER not in fill_of("context-forge", "birds#0", "fish#0")(1_000).text


@pytest.mark.usefixtures("vectors")
def test_the_filter_of_langchain_keeps_one_of_two_equal_pieces() -> None:
    assert fill_of("langchain-filter", "birds#3", "birds#3")(1_000).text.count(SENTENCES[3]) == 1


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


@pytest.mark.semantic
def test_the_redundant_filter_drops_the_better_of_two_equal_texts() -> None:
    questions = birds()
    copy = chunk("copy", 0, SENTENCES[0], 0)
    documents = {**questions.documents, "copy": Document("copy", "Copy", SENTENCES[0])}
    questions = QuestionSet("birds", documents, {**questions.chunks, copy.id: copy}, (), "digest")
    asked = Question("q", "When does the lark sing?", (Span("birds", 0, 10),), ())
    hits = tuple(Hit(questions.chunks[name], 0.5) for name in ("birds#0", "copy#0", "fish#0"))
    answer = STRATEGIES["langchain-redundant"].make(questions)(Case(asked, hits, questions))(1_000)
    assert {run.document_id for run in answer.runs} == {"copy", "fish"}


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


def test_a_retriever_is_named_in_the_set(reference: Path) -> None:
    assert json.loads((reference / "meta.json").read_text())["retriever"] == "bm25"


def test_rerank_is_a_strategy_of_its_own_for_each_case() -> None:
    strategy = bm25_rerank(birds())
    questions = birds()
    hits = tuple(Hit(questions.chunks[name], 0.5) for name in MANY)
    for bird, sentence in (("wren", SENTENCES[2]), ("swift", SENTENCES[4])):
        asked = Question("q", f"Where does the {bird} live?", (Span("birds", 0, 10),), ())
        assert strategy(Case(asked, hits, questions))(1_000).text.startswith(sentence)
