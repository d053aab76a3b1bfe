"""`evaluate` on a leaflet, whose measures can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ctxassembly import AnswerChain, AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate import EvaluationRow, LabeledQuestion, SystemResult, assembled, evaluate, read_questions

LEAFLET = "Wear loose clothes. Drink water until two hours before. Eat nothing for six hours. Then rest at home."
DRINK, EAT = "Drink water until two hours before.", "Eat nothing for six hours."
CHUNKS = [Chunk("leaflet#0", "leaflet", LEAFLET[:55], 0, 0), Chunk("leaflet#1", "leaflet", LEAFLET[20:82], 1, 20)]
QUESTION = {"id": "drink", "question": "Until when may I drink?", "quotation": DRINK}
System = Callable[[str], Any]


def measured(system: Any, question: dict[str, Any] = QUESTION, **options: Any) -> dict[str, float]:
    """The measures of one system for one question."""
    [row] = evaluate([question], {"one": system}, progress=False, **options).rows
    assert row.error is None
    return dict(row.measures)


def returning(value: Any) -> System:
    return lambda question: value


def marked(**evidence: Any) -> dict[str, Any]:
    return {"question": "Why?", **evidence}


SPAN = {"document_id": "leaflet", "start": 20, "end": 55}


@pytest.mark.parametrize("corpus", [None, {"leaflet": LEAFLET}, CHUNKS], ids=["none", "documents", "chunks"])
@pytest.mark.parametrize(
    ("evidence", "result", "recall"),
    [
        ({"quotation": DRINK}, LEAFLET, 1),
        ({"quotation": "water  until\ntwo"}, LEAFLET, 1),
        ({"quotation": "water  until\nTwo"}, [CHUNKS[0]], 1),
        ({"quotation": f"{DRINK} {EAT}"}, LEAFLET[:55], 30 / 52),
        ({"quotation": "home."}, [CHUNKS[0], "Go home."], 1),
        (SPAN, CHUNKS[:1], 1),
        (SPAN, [Chunk("x", "leaflet", LEAFLET[20:31], start=20)], 10 / 30),
        ({"chunk_id": "leaflet#1"}, CHUNKS, 1),
        ({"document_id": "leaflet"}, CHUNKS[:1], 1),
        ({"answer": "for six hours"}, "Nothing for SIX long hours.", 1),
        ({"answer": "for six hours"}, "Six.", 0.5),
    ],
)
def test_recall_of_evidence_marked_in_every_way(evidence: dict[str, Any], result: Any, recall: float, corpus: Any):
    found = measured(returning(result), marked(**evidence), corpus=corpus)
    # Without the documents a character that no result has counts even if it is white space.
    assert found["recall"] == pytest.approx(recall, abs=0 if corpus else 0.1)
    assert found["complete"] == (recall == 1)


def test_sufficiency_by_depth_counts_the_tokens_up_to_the_end_of_the_evidence():
    late = measured(returning(["x" * 300, DRINK, "y" * 3000]), encoding=len)
    assert [late[f"within_{depth}"] for depth in (125, 250, 500)] == [0, 0, 1]
    missing = measured(returning("x"), encoding=len)
    assert not any(missing[f"within_{depth}"] for depth in (125, 4000))


@pytest.mark.parametrize(
    ("answer", "right"),
    [("Two hours [1].", 1), ("Two [1][2].", 0.5), ("Two [9].", 0), ("Two.", None), ("<think>[2]?</think>Two [1].", 1)],
)
def test_citations_are_right_if_their_source_has_evidence(answer: str, right: float | None):
    context = [DRINK, "Go home."]
    assert measured(returning({"context": context, "answer": answer})).get("citations") == right


NO_ANSWER = "I don't have enough information in the provided context to answer this question."


@pytest.mark.parametrize(
    ("is_answerable", "result", "right"),
    [
        (False, {"context": LEAFLET, "answer": NO_ANSWER}, 1),
        (False, {"context": LEAFLET, "answer": "Hm, two?</think>I don't know."}, 1),
        (False, {"context": LEAFLET, "answer": "On Friday."}, 0),
        (True, {"context": LEAFLET, "answer": f"Sorry. {NO_ANSWER}"}, 0),
        (False, {"context": LEAFLET, "answer": "I don’t know."}, 1),
        (False, "", 1),
        (False, LEAFLET, 0),
        (True, LEAFLET, None),
        (False, SystemResult(LEAFLET, answer="Hm.", abstained=True), 1),
    ],
)
def test_abstention_is_right_where_there_is_no_answer(is_answerable: bool, result: Any, right: float | None):
    question = QUESTION if is_answerable else {"question": "When is the moon?", "is_answerable": False}
    found = measured(returning(result), question)
    assert found.get("abstention") == right
    assert is_answerable or "recall" not in found


def test_an_answer_chain_of_ours_is_asked():
    index = MemoryIndex(CHUNKS)
    chain = AnswerChain.from_index(index, lambda request: "Two hours [1].", RetrievalConfig(strategy="keyword"))
    [row] = evaluate([QUESTION], {"chain": chain}, progress=False).rows
    assert (row.measures["recall"], row.measures["citations"], row.measures["abstention"]) == (1, 1, 1)
    assert row.answer == "Two hours [1]."
    unknown = {"question": "Qwertz zuiop?", "is_answerable": False}
    assert measured(chain, unknown)["abstention"] == 1


def test_systems_are_compared_question_by_question():
    asked = [QUESTION, {"id": "eat", "question": "May I eat?", "quotation": EAT}]
    systems = {
        "first": returning(LEAFLET[:55]),
        "all": assembled(returning(CHUNKS), AssemblyConfig(format="minimal")),
        "none": returning(""),
    }
    report = evaluate(asked, systems, progress=False)
    assert report.values("first", "recall").tolist() == [1, 0]
    assert report.difference("all", "recall") == (0.5, 0, 1)
    assert report.difference("none", "recall").mean == -0.5
    assert evaluate(asked, systems, baseline="none", progress=False).difference("all", "recall").differs
    with pytest.raises(ConfigError, match="system must be one of 'first', 'all', 'none'"):
        report.estimate("other", "recall")
    with pytest.raises(ConfigError, match="measure must be one of 'recall'"):
        report.estimate("all", "recal")


def failing(question: str) -> str:
    raise TimeoutError(f"no answer to {question}")


def test_an_error_is_shown_and_the_other_systems_go_on():
    report = evaluate([QUESTION], {"ours": returning(LEAFLET), "slow": failing, "odd": returning(3)}, progress=False)
    assert [row.system for row in report.errors] == ["slow", "odd"]
    text = str(report)
    assert "slow: 1 error: drink: TimeoutError: no answer to Until when may I drink?" in text
    assert "odd: 1 error: drink: InputError: a system must return a text" in text
    assert report.estimate("ours", "recall").mean == 1
    assert "TimeoutError" in report.to_html()


ASKED = [{"question": f"Question {number}?", "quotation": DRINK} for number in range(6)]


def test_the_filter_of_a_question_is_passed_to_the_system():
    def filtered(question: str, filters: Any = None) -> str:
        return str(filters)

    question = {"question": "Why?", "answer": "ward", "filter": {"unit": "ward"}}
    assert measured(filtered, question)["recall"] == 1
    report = evaluate([question], {"ours": returning(LEAFLET)}, progress=False)
    assert "ours takes no filter" in str(report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"systems": {}}, "systems must be a dict of at least one system"),
        ({"systems": {"ours": 3}}, "system 'ours' must be a function or have one of answer, context, invoke"),
        ({"baseline": "other"}, "baseline must be the name of a system, one of 'ours', got 'other'"),
        ({"corpus": 3}, "corpus must be a dict of texts by document id, or a list of chunks"),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict[str, Any], message: str):
    with pytest.raises((ConfigError, InputError), match=message):
        evaluate(**{"questions": [QUESTION], "systems": {"ours": returning("")}, "progress": False, **arguments})


def test_a_report_is_a_page(tmp_path: Path):
    report = evaluate(ASKED, {"<b>": returning(LEAFLET), "none": returning("")}, progress=False)
    page = report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "-1.000 [-1.000, -1.000]*" in page


SEVERAL = [{"question": f"Vraag {n}?", "quotation": "Drink water.", "id": f"q{n}"} for n in range(1, 5)]


def failing_on(*names: str) -> System:
    def answer(question: str) -> str:
        if question in names:
            raise TimeoutError
        return "Drink water." if question != "Vraag 4?" else ""

    return answer


def test_a_question_on_which_one_system_fails_counts_for_none() -> None:
    systems = {"all": failing_on(), "some": failing_on("Vraag 4?"), "broken": failing_on("Vraag 1?", "Vraag 2?")}
    report = evaluate(SEVERAL, systems, progress=False)
    assert report.unpaired == ("q1", "q2", "q4")
    for system in systems:
        assert report.values(system, "recall").tolist()[2] == report.estimate(system, "recall").mean == 1
        assert np.isnan(report.values(system, "recall")[[0, 1, 3]]).all()
    assert report.difference("some", "recall").mean == 0
    assert "- 3 questions counted for no system, as one failed: q1, q2, q4\n" in str(report)


def test_a_system_that_always_fails_takes_no_question_from_the_others() -> None:
    report = evaluate(SEVERAL, {"all": failing_on(), "none": failing}, progress=False)
    assert report.unpaired == ()
    assert report.estimate("all", "recall").mean == 0.75
    assert np.isnan(report.estimate("none", "recall").mean)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0])
def test_a_measure_that_is_no_number_in_its_range_is_the_error_of_its_question(odd: float) -> None:
    def count(text: str) -> float:
        return odd if "koffie" in text else len(text)

    systems = {"one": lambda question: "Drink water." + " Geen koffie." * (question == "Vraag 2?"), "two": failing_on()}
    report = evaluate(SEVERAL, systems, encoding=count, progress=False)
    assert [(row.question_id, row.system) for row in report.errors] == [("q2", "one")]
    assert "one: 1 error: q2: ConfigError: encoding must be a function that returns a non-negative" in str(report)
    assert report.estimate("one", "tokens").mean == 12
    assert np.isnan(report.values("two", "tokens")[1])


@pytest.mark.parametrize(("measure", "grade"), [("recall", 5), ("citations", math.nan), ("judge", math.nan)])
def test_a_grade_that_is_no_number_in_its_range_is_the_error_of_its_row(measure: str, grade: float) -> None:
    row = EvaluationRow("q1", "ours", {"tokens": 12.0, measure: grade})
    assert row.measures == {}
    assert str(row.error).startswith(f"{measure} must be a number from 0")
    report = evaluate(SEVERAL[:2], {"ours": failing_on()}, progress=False)
    report = replace(report, rows=(row, *report.rows[1:]))
    assert report.values("ours", "recall")[1] == 1
    assert report.errors == (row,)


def test_a_tokenizer_that_fails_on_one_text_ends_no_run() -> None:
    def count(text: str) -> int:
        return 1 // len(text)

    report = evaluate(SEVERAL, {"ours": failing_on()}, encoding=count, progress=False)
    assert [row.question_id for row in report.errors] == ["q4"]


def test_more_errors_than_are_shown_are_counted_and_what_is_left_out_is_named() -> None:
    questions = [{"question": f"Q{n}?", "answer": "water", "id": f"q{n}"} for n in range(8)]
    asked = (*read_questions(questions), LabeledQuestion("Why?", id="why"))
    report = evaluate(asked, {"ours": failing_on(*(f"Q{n}?" for n in range(7)))}, progress=False)
    assert "q4: TimeoutError: ; and 2 more" in str(report)
    assert "1 question without marked evidence: why" in str(report)
    assert "7 questions counted for no system, as one failed: q0, q1, q2, q3, q4 and 2 more" in str(report)
