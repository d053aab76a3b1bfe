"""The quality benchmark's own check: the measures on cases worked by hand, and the whole command on a small set."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ctxassembly import Chunk, Hit
from ctxassembly.evaluate import statistics as stats
from quality.baselines import concatenation
from quality.data import DataError, Document, Question, QuestionSet, Span, read
from quality.filling import Answer, Case, count
from quality.measure import StrategyError, measured
from quality.oracle import oracle_sentences
from quality.ours import CONFIGS, ours
from quality.words_shared import lowest_third

BIRDS = "The lark sings at dawn. The owl sings at night. The wren sings all day."
COPY = "Of larks and owls.\n\nThe owl sings\nat night. Nobody knows why."
LARK, OWL, WREN = Span("birds", 0, 23), Span("birds", 24, 47), Span("birds", 48, 71)
OWL_COPY = Span("copy", 20, 43)


def a_set(*questions: Question) -> QuestionSet:
    """Two documents, of which the second repeats a sentence of the first; three chunks that overlap, and one."""
    documents = {"birds": Document("birds", "Birds", BIRDS), "copy": Document("copy", "Copy", COPY)}
    spans = [Span("birds", 0, 47), Span("birds", 24, 71), Span("copy", 0, len(COPY))]
    chunks = {}
    for span in spans:
        index = sum(chunk.document_id == span.document_id for chunk in chunks.values())
        text = documents[span.document_id].text[span.start : span.end]
        chunk = Chunk(f"{span.document_id}#{index}", span.document_id, text, index=index, start=span.start)
        chunks[chunk.id] = chunk
    return QuestionSet("small", documents, chunks, questions, "digest")


def asking(*evidence: Span, text: str = "When does the owl sing?") -> Question:
    return Question("q", text, evidence, ())


def measures(question: Question, answer: Answer, budget: int = 1_000) -> dict[str, float]:
    """The measures of one context."""
    found = measured(a_set(question), [question], lambda _: lambda budget: answer, [budget], lambda _: None)
    return {name: float(values[0]) for name, values in found[budget].items()}


def scored(evidence: tuple[Span, ...], *runs: Span, text: str | None = None) -> SimpleNamespace:
    documents = {"birds": BIRDS, "copy": COPY}
    written = "\n".join(documents[run.document_id][run.start : run.end] for run in runs) if text is None else text
    return SimpleNamespace(**measures(asking(*evidence), Answer(written, runs)))


# The measures


def test_evidence_in_part() -> None:
    # "The owl" is 6 of the 19 characters of "The owl sings at night."
    score = scored((OWL,), Span("birds", 24, 31))
    assert score.recall == pytest.approx(6 / 19)
    assert score.complete == 0
    assert score.precision == 1


def test_all_the_evidence_and_as_much_again() -> None:
    score = scored((OWL,), OWL, LARK)
    assert score.recall == 1
    assert score.complete == 1
    assert score.precision == pytest.approx(19 / 38)
    assert score.violation == 0


def test_evidence_in_several_places_counts_by_characters() -> None:
    score = scored((LARK, WREN), LARK)
    assert score.recall == pytest.approx(19 / 38)
    assert score.complete == 0


def test_the_same_words_from_another_place_count_whatever_the_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxassembly.evaluate.corpus.LEAST_ELSEWHERE", 19)
    assert scored((OWL,), OWL_COPY).recall == 1
    assert scored((OWL, WREN), OWL_COPY).recall == pytest.approx(19 / 38)
    # not if it is cut, nor if its ends stand far from each other
    assert scored((OWL,), Span("copy", 20, 42)).recall == 0
    assert scored((OWL,), Span("copy", 20, 33), LARK, Span("copy", 34, 43)).recall == 0


def test_short_evidence_counts_by_its_place_alone() -> None:
    assert len(BIRDS[OWL.start : OWL.end].replace(" ", "")) == 19
    assert scored((OWL,), OWL_COPY).recall == 0


def test_an_empty_context() -> None:
    score = scored((OWL,))
    assert (score.recall, score.complete, score.precision) == (0, 0, 0)
    assert (score.tokens, score.violation) == (0, 0)


@pytest.mark.parametrize(
    ("evidence", "runs", "read"),
    [
        ((OWL,), (LARK, OWL, WREN), "The lark sings at dawn. | The owl sings at night."),
        ((OWL,), (Span("birds", 0, 71),), "The lark sings at dawn. The owl sings at night."),
        ((OWL, LARK), (OWL, WREN, LARK), "The owl sings at night. | The wren sings all day. | The lark sings at dawn."),
        ((OWL, WREN), (OWL,), None),
    ],
)
def test_how_far_a_reader_has_to_read(evidence: tuple[Span, ...], runs: tuple[Span, ...], read: str | None) -> None:
    text = " | ".join(BIRDS[run.start : run.end].strip() for run in runs)
    end = a_set().corpus.meter.evidence_end(evidence, runs, text)
    assert (None if end is None else text[:end]) == read


def test_a_context_over_the_budget_is_a_violation() -> None:
    answer = Answer("The owl", (Span("birds", 24, 31),))
    tokens = count(answer.text)
    assert measures(asking(OWL), answer, tokens - 1)["violation"] == 1
    assert measures(asking(OWL), answer, tokens)["violation"] == 0


def test_a_strategy_that_claims_what_is_not_there_is_found_out() -> None:
    with pytest.raises(StrategyError, match="a piece of a result isn't in its text"):
        scored((OWL,), OWL, text="The owl sings at noon.")


# Strategies


def case(*evidence: Span, hits: tuple[str, ...] = ("birds#0", "birds#1", "copy#0")) -> Case:
    questions = a_set()
    return Case(asking(*evidence), tuple(Hit(questions.chunks[name], 0.5) for name in hits), questions)


def test_concatenation_takes_whole_chunks_until_the_next_would_not_fit() -> None:
    asked = case(OWL)
    fill = concatenation(asked.questions)(asked)
    first, second = asked.hits[0].chunk.text, asked.hits[1].chunk.text
    both = f"{first}\n\n{second}"
    assert fill(count(both)).text == both
    assert fill(count(both) - 1).text == first
    assert fill(count(first) - 1) == ("", ())
    assert fill(count(both)).runs == (("birds", 0, 47), ("birds", 24, 71))


@pytest.mark.parametrize("name", CONFIGS)
def test_our_own_contexts_keep_the_budget_and_tell_where_all_comes_from(name: str) -> None:
    asked = case(OWL)
    fill = ours(CONFIGS[name])(asked.questions)(asked)
    budgets = (500, 1_000) if name == "five-stage" else (10, 30, 60, 1_000)  # 500 is the least that it takes
    for budget in budgets:
        answer = fill(budget)
        assert measures(asked.question, answer, budget)["violation"] == 0
    assert measures(asked.question, fill(1_000))["recall"] == 1


def test_the_oracle_of_sentences_takes_the_evidence_and_nothing_else() -> None:
    asked = case(LARK, WREN, hits=("copy#0", "birds#1"))
    answer = oracle_sentences(asked.questions)(asked)(100)
    assert answer.text.split("\n") == ["The lark sings at dawn.", "The wren sings all day."]
    assert measures(asked.question, answer, 100)["precision"] == 1


# Statistics


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    draw = np.random.default_rng(1)
    few, many = draw.random(40), draw.random(4_000)
    for values in (few, many):
        found = stats.estimate([values])
        assert found.low < values.mean() == found.mean < found.high
        # of a mean: 1.96 standard errors on each side
        assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / len(values) ** 0.5, rel=0.1)
    assert stats.estimate([few]) == stats.estimate([few])


def test_sets_count_the_same_whatever_their_size() -> None:
    assert stats.estimate([np.zeros(900), np.ones(10)]).mean == 0.5


def test_what_has_no_value_is_left_out() -> None:
    found = stats.estimate([np.array([1.0, np.nan, 3.0]), np.full(5, np.nan)])
    assert found.mean == 2
    assert 1 <= found.low <= found.high <= 3
    assert np.isnan(stats.estimate([np.full(5, np.nan)]).mean)


def test_a_paired_difference_sees_what_two_intervals_hide() -> None:
    easy = np.random.default_rng(1).random(100)
    better = easy + 0.02
    assert stats.estimate([better]).low < stats.estimate([easy]).high
    found = stats.difference([better], [easy])
    assert found.differs
    assert found.mean == pytest.approx(0.02)
    assert not stats.difference([easy], [easy]).differs


def test_the_third_that_shares_the_fewest_words_with_its_evidence() -> None:
    texts = ("When does the owl sing?", "At which hour does it hoot?", "Does the owl sing at night?")
    assert lowest_third([asking(OWL, text=text) for text in texts], a_set()) == [False, True, False]
    assert lowest_third([asking(OWL, text="Owl?")] * 2, a_set()) == [False, False]


# Reading and keeping


def write_set(folder: Path, **changed: list[dict[str, object]]) -> Path:
    rows: dict[str, list[dict[str, object]]] = {
        "corpus": [{"document_id": "d", "title": "Birds", "text": BIRDS}],
        "chunks": [{"id": "d#0", "document_id": "d", "index": 0, "start": 24, "end": 47, "text": BIRDS[24:47]}],
        "questions": [
            {
                "qid": "1",
                "question": "When?",
                "spans": [{"document_id": "d", "start": 24, "end": 47}],
                "hits": [["d#0", 0.5]],
            }
        ],
        **changed,
    }
    folder.mkdir(exist_ok=True)
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return folder


def test_a_folder_is_read(tmp_path: Path) -> None:
    questions = read(write_set(tmp_path / "birds"))
    (question,) = questions.questions
    assert questions.name == "birds"
    assert question.evidence == (("d", 24, 47),)
    assert question.hits == (Hit(questions.chunks["d#0"], 0.5),)
    assert questions.chunks["d#0"].start == 24
    changed = write_set(tmp_path / "birds", corpus=[{"document_id": "d", "text": BIRDS}])
    assert read(changed).digest != questions.digest


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": [{"document_id": "d"}]}, "corpus.jsonl:1: text missing"),
        ({"corpus": [{"document_id": "d", "text": BIRDS[1:]}]}, "chunk 'd#0' isn't what stands at its offsets"),
        (
            {"questions": [{"qid": "1", "question": "?", "spans": [], "hits": []}]},
            "question '1' has no evidence",
        ),
        (
            {
                "questions": [
                    {"qid": "1", "question": "?", "spans": [{"document_id": "d", "start": 90, "end": 99}], "hits": []}
                ]
            },
            "there is no text at ('d', 90, 99)",
        ),
        (
            {
                "questions": [
                    {
                        "qid": "1",
                        "question": "?",
                        "spans": [{"document_id": "d", "start": 0, "end": 9}],
                        "hits": [["e", 1]],
                    }
                ]
            },
            "there is no chunk 'e'",
        ),
    ],
)
def test_what_is_not_in_the_form_is_named(
    tmp_path: Path, changed: dict[str, list[dict[str, object]]], message: str
) -> None:
    with pytest.raises(DataError) as error:
        read(write_set(tmp_path / "birds", **changed))
    assert message in str(error.value)
