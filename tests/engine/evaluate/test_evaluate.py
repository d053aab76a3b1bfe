"""`evaluate` on a leaflet, whose measures can be worked out by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest

from ctxassembly import AnswerChain, AssemblyConfig, Chunk, Hit, MemoryIndex, RetrievalConfig, assemble
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate import EvaluationReport, EvaluationRow, Piece, SystemResult, aevaluate, assembled, evaluate

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
        ({"quotation": "DRINK WATER"}, LEAFLET, 1),
        ({"quotation": "water  until\nTwo"}, [CHUNKS[0]], 1),
        ({"quotation": DRINK}, LEAFLET[:20], 0),
        ({"quotation": f"{DRINK} {EAT}"}, LEAFLET[:55], 30 / 52),
        ({"quotation": "home."}, [CHUNKS[0], "Go home."], 1),
        (SPAN, CHUNKS[:1], 1),
        (SPAN, [Chunk("x", "leaflet", LEAFLET[20:31], start=20)], 10 / 30),
        (SPAN, [Chunk("x", "other", LEAFLET[60:])], 0),
        ({"chunk_id": "leaflet#1"}, CHUNKS, 1),
        ({"chunk_id": "leaflet#1"}, [], 0),
        ({"document_id": "leaflet"}, CHUNKS[:1], 1),
        ({"document_id": "leaflet"}, ["Nothing."], 0),
        ({"answer": "for six hours"}, "Nothing for SIX long hours.", 1),
        ({"answer": "for six hours"}, "Six.", 0.5),
    ],
)
def test_recall_of_evidence_marked_in_every_way(evidence: dict[str, Any], result: Any, recall: float, corpus: Any):
    found = measured(returning(result), marked(**evidence), corpus=corpus)
    # Without the documents a character that no result has counts even if it is white space.
    assert found["recall"] == pytest.approx(recall, abs=0 if corpus else 0.1)
    assert found["complete"] == (recall == 1)


def test_a_span_counts_from_another_place_if_the_documents_are_given():
    copy = [Chunk("x", "copy", f"As said: {DRINK}")]
    assert measured(returning(copy), marked(**SPAN), corpus={"leaflet": LEAFLET})["recall"] == 1
    assert measured(returning(copy), marked(**SPAN))["recall"] == 0


@pytest.mark.parametrize("corpus", [False, True])
def test_offsets_of_any_size_cost_nothing(corpus: bool):
    far = 10**12
    chunks = [Chunk("a", "leaflet", DRINK, start=0), Chunk("b", "leaflet", EAT, start=far)]
    question = marked(document_id="leaflet", start=far, end=far + len(EAT))
    assert measured(returning(chunks), question, corpus=chunks if corpus else None)["recall"] == 1
    assert measured(returning(chunks[:1]), question)["recall"] == 0


def test_offsets_that_begin_anew_on_each_page_are_no_duplicates():
    pages = [Chunk(f"leaflet#{at}", "leaflet", text, start=0) for at, text in enumerate((DRINK, EAT))]
    for corpus in (None, pages, {"leaflet": f"{DRINK}\n{EAT}"}):
        assert measured(returning(pages), corpus=corpus)["duplicates"] == 0
        assert measured(returning([*pages, pages[0]]), corpus=corpus)["duplicates"] == pytest.approx(30 / 82)


def test_a_slice_of_a_chunk_counts_by_its_characters():
    context = assemble([Hit(CHUNKS[1])], AssemblyConfig(max_tokens=12, format="minimal"), query="eat nothing")
    found = measured(returning(context), marked(chunk_id="leaflet#1"), corpus=[Chunk("leaflet#1", "l", LEAFLET[20:82])])
    assert 0 < found["recall"] < 1


def test_the_form_of_a_context_is_measured():
    found = measured(returning(CHUNKS), corpus={"leaflet": LEAFLET}, encoding=len, budget=100)
    assert (found["tokens"], found["over_budget"], found["clean"]) == (119, 1, 1)
    assert found["duplicates"] == pytest.approx(30 / (47 + 52))
    assert found["recall_per_1000_tokens"] == pytest.approx(1000 / 119)
    assert [found[f"within_{depth}"] for depth in (125, 4000)] == [1, 1]
    cut = measured(returning([Chunk("x", "leaflet", LEAFLET[5:30], start=5)]), corpus={"leaflet": LEAFLET})
    assert cut["clean"] == 0
    assert "clean" not in measured(returning("Own words."), corpus={"leaflet": LEAFLET})


def test_a_stretch_goes_on_where_the_run_before_ends():
    corpus = {"leaflet": LEAFLET}
    continued = [Chunk("a", "leaflet", LEAFLET[:19], start=0), Chunk("b", "leaflet", DRINK, start=20)]
    assert measured(returning(continued), corpus=corpus)["stretch_length"] == 19 + 35
    assert measured(returning(continued[::-1]), corpus=corpus)["stretch_length"] == (19 + 35) / 2
    assert measured(returning("Own words."), corpus=corpus)["stretch_length"] == 10
    assert "stretch_length" not in measured(returning(""), corpus=corpus)


def test_sufficiency_by_depth_counts_the_tokens_up_to_the_end_of_the_evidence():
    late = measured(returning(["x" * 300, DRINK, "y" * 3000]), encoding=len)
    assert [late[f"within_{depth}"] for depth in (125, 250, 500)] == [0, 0, 1]
    missing = measured(returning("x"), encoding=len)
    assert not any(missing[f"within_{depth}"] for depth in (125, 4000))


def test_a_depth_ends_with_the_evidence_and_not_with_a_later_copy_of_its_words():
    question = marked(evidence=[SPAN, {"document_id": "leaflet", "start": 56, "end": 82}])
    pieces = (Piece(DRINK, "leaflet", 20), Piece(EAT, "leaflet", 56))
    result = SystemResult(f"{DRINK} {EAT} {'x' * 200} {DRINK}", pieces)
    found = measured(returning(result), question, corpus={"leaflet": LEAFLET}, encoding=len)
    assert (found["within_125"], found["within_250"]) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "right"), [("Two hours [1].", 1), ("Two [1][2].", 0.5), ("Two [9].", 0), ("Two.", None)]
)
def test_citations_are_right_if_their_source_has_evidence(answer: str, right: float | None):
    context = [DRINK, "Go home."]
    assert measured(returning({"context": context, "answer": answer})).get("citations") == right


def test_citations_of_a_context_are_resolved():
    hits = [Hit(CHUNKS[0]), Hit(Chunk("other#0", "other", "Go home on foot or by bus."))]
    context = assemble(hits, AssemblyConfig(max_tokens=200))
    found = measured(returning({"context": context, "answer": "Two hours [1], on foot [2], soon [7]."}))
    assert found["citations"] == pytest.approx(1 / 3)


NO_ANSWER = "I don't have enough information in the provided context to answer this question."


@pytest.mark.parametrize(
    ("is_answerable", "result", "right"),
    [
        (False, {"context": LEAFLET, "answer": NO_ANSWER}, 1),
        (False, {"context": LEAFLET, "answer": "On Friday."}, 0),
        (True, {"context": LEAFLET, "answer": f"Sorry. {NO_ANSWER}"}, 0),
        (True, {"context": LEAFLET, "answer": "Two hours."}, 1),
        (False, {"context": LEAFLET, "answer": "I don’t know."}, 1),
        (False, {"context": LEAFLET, "answer": "Das weiß ich nicht."}, 1),
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


def test_a_result_has_its_pieces_in_its_text():
    with_pieces = SystemResult(f"# Leaflet\n{DRINK}", (Piece(DRINK, "leaflet", 20),))
    assert measured(returning(with_pieces), marked(**SPAN))["recall"] == 1
    report = evaluate([QUESTION], {"odd": returning(SystemResult("", (Piece(DRINK),)))}, progress=False)
    assert report.errors[0].error is not None
    assert "isn't in its text" in report.errors[0].error


class Counting:
    """A system that counts its questions."""

    def __init__(self, failures: int = 0) -> None:
        self.asked: list[str] = []
        self._failures, self._lock = failures, Lock()

    def __call__(self, question: str) -> str:
        with self._lock:
            self.asked.append(question)
            if len(self.asked) <= self._failures:
                raise OSError("gone")
        return LEAFLET


ASKED = [{"question": f"Question {number}?", "quotation": DRINK} for number in range(6)]


def test_an_interrupted_run_is_resumed(tmp_path: Path):
    file = tmp_path / "rows.jsonl"
    first = evaluate(ASKED[:4], {"ours": Counting()}, resume=file, progress=False)
    file.write_text(file.read_text("utf-8") + '{"question_id": "half', "utf-8")
    system = Counting()
    report = evaluate(ASKED, {"ours": system}, resume=file, progress=False)
    assert len(system.asked) == 2
    assert report.rows[:4] == first.rows
    assert len([json.loads(line) for line in file.read_text("utf-8").splitlines()]) == 6


def test_a_resumed_row_has_every_character_of_its_answer(tmp_path: Path):
    answer = f"{DRINK} \ud800 \u2028 \x00 é 中"
    system = returning({"context": LEAFLET, "answer": answer})
    first, second = (evaluate([QUESTION], {"odd": system}, resume=tmp_path / "rows") for _ in range(2))
    assert second.rows == first.rows
    assert first.rows[0].answer == answer


def test_rows_are_kept_without_their_contexts(tmp_path: Path):
    """Contexts of 12 KB would make a file of 550 MB for the benchmark's 45,000 rows."""
    file = tmp_path / "rows"
    report = evaluate([QUESTION], {"ours": returning(LEAFLET * 50)}, resume=file, progress=False)
    assert report.rows[0].characters == 50 * len("".join(LEAFLET.split()))
    assert LEAFLET not in file.read_text("utf-8")


@pytest.mark.parametrize("options", [{"budget": 10}, {"encoding": "o200k_base"}, {"corpus": {"leaflet": LEAFLET}}])
def test_rows_of_other_arguments_are_measured_again(tmp_path: Path, options: dict[str, Any]):
    evaluate(ASKED, {"ours": Counting()}, resume=tmp_path / "rows", progress=False)
    system = Counting()
    evaluate(ASKED, {"ours": system}, resume=tmp_path / "rows", progress=False, **options)
    assert len(system.asked) == 6


class Filter:
    """A filter whose repr differs from process to process."""


def test_a_filter_of_any_class_has_a_digest(tmp_path: Path):
    def filtered(question: str, filters: Any) -> str:
        asked.append(filters)
        return LEAFLET

    asked: list[Any] = []
    for _ in range(2):
        question = {**QUESTION, "filter": Filter()}
        evaluate([question], {"ours": filtered}, resume=tmp_path / "rows", progress=False)
    assert len(asked) == 1


def test_rows_with_an_error_are_tried_again(tmp_path: Path):
    system = Counting(failures=2)
    assert len(evaluate(ASKED, {"ours": system}, resume=tmp_path / "rows", workers=1, progress=False).errors) == 2
    assert not evaluate(ASKED, {"ours": system}, resume=tmp_path / "rows", workers=1, progress=False).errors
    assert len(system.asked) == 8


ROW = json.dumps(asdict(EvaluationRow("q", "ours", "d", characters=1)))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"name": "else"}\n', 1),
        ('{"name": "else"}', 1),
        ("mine", 1),
        ('{"question_id": "q1", "question": "Mine?"}', 1),
        ('{"question_id": "half', 1),  # no line says that the file is ours
        ("{", 1),
        ('{"question_id": "q1", "question": "Mine?"}\n{"question_id": "q2"', 1),
        (f'{ROW}\n{{"question_id": "q1", "question": "Mine?"}}', 2),
        (f"{ROW}\nmine", 2),
        (f"{ROW}\nmine\n", 2),
        (f"{ROW.replace('{}', '[1]')}\n", 1),
        (ROW.replace("{}", '{"recall": "much"}') + "\n", 1),
        (ROW.replace("null", "[]") + "\n", 1),
        (ROW.replace("1,", "Infinity,") + "\n", 1),
        (f"{ROW.replace('null', 'false')}\n{ROW[:30]}", 1),
        (f"{ROW}\n{'[' * 50_000}\n", 2),
        ("\x00\x01\xff\n", 1),
    ],
    ids=lambda value: str(value)[:40],
)
def test_another_file_is_refused_and_stays_byte_for_byte(tmp_path: Path, text: str, line: int):
    file = tmp_path / "rows.jsonl"
    file.write_bytes(text.encode("latin-1"))
    message = rf"rows\.jsonl, line {line}: no row of an evaluation; pass another path as resume"
    with pytest.raises(InputError, match=message):
        evaluate(ASKED, {"ours": Counting()}, resume=file, progress=False)
    assert file.read_bytes() == text.encode("latin-1")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize("name", [".", "no folder/rows", "null\x00", "x" * 5_000], ids=lambda name: name[:9])
def test_a_path_that_is_no_file_is_an_error_of_ours(tmp_path: Path, name: str):
    with pytest.raises(InputError, match="resume"):
        evaluate(ASKED, {"ours": Counting()}, resume=f"{tmp_path}/{name}", progress=False)


async def test_async_systems_give_the_same_report():
    async def awaited(question: str) -> str:
        return LEAFLET[:55]

    def timeless(report: EvaluationReport) -> list[Any]:
        return [(row.system, row.error, {**row.measures, "seconds": 0}) for row in report.rows]

    report = await aevaluate(ASKED, {"ours": awaited, "slow": failing}, progress=False)
    assert timeless(report) == timeless(
        evaluate(ASKED, {"ours": returning(LEAFLET[:55]), "slow": failing}, progress=False)
    )
    with pytest.raises(InputError, match="system 'ours' can only be awaited"):
        evaluate(ASKED, {"ours": awaited}, progress=False)


def test_a_judge_grades_answers_against_the_expected_ones():
    prompts = []

    def judge(prompt: str) -> str:
        prompts.append(prompt)
        return "Grade: 0.5"

    question = {"question": "Why?", "answer": "Two hours."}
    rag = returning({"context": LEAFLET, "answer": "Some hours."})
    assert measured(rag, question, judge=judge)["answer"] == 0.5
    assert "Expected answer: Two hours.\nAnswer: Some hours." in prompts[0]
    assert "answer" not in measured(returning(LEAFLET), question, judge=judge)
    report = evaluate([question], {"rag": rag}, judge=lambda prompt: "Well.", progress=False)
    assert report.rows[0].error == "judge: ValueError: the judge replied without a grade from 0 to 1: 'Well.'"
    assert report.rows[0].measures["recall"] == 1


class Overlap:
    """A metric in the form of RAGAS: `score` awaits `ascore`, which names what it takes."""

    async def ascore(self, response: str, reference: str, retrieved_contexts: list[str]) -> SimpleNamespace:
        return SimpleNamespace(value=float(reference in response and response in retrieved_contexts[0]))

    def score(self, **given: Any) -> SimpleNamespace:
        return asyncio.run(self.ascore(**given))


def test_a_metric_of_ragas_is_a_judge():
    question = {"question": "Why?", "answer": "two hours"}
    answered = returning({"context": LEAFLET, "answer": "until two hours before"})
    assert measured(answered, question, judge=Overlap())["answer"] == 1.0
    assert measured(returning({"context": LEAFLET, "answer": "ever"}), question, judge=Overlap())["answer"] == 0.0
    assert "answer" not in measured(returning(LEAFLET), question, judge=Overlap())


def test_a_function_of_question_expected_answer_and_answer_is_a_judge():
    question = {"question": "Why?", "answer": "Two hours."}
    rag = returning({"context": LEAFLET, "answer": "Two hours."})
    found = measured(rag, question, judge=lambda question, expected, answer: question == "Why?" and expected == answer)
    assert found["answer"] == 1


def test_tokens_are_priced_by_the_name_of_a_model():
    rag = returning({"context": LEAFLET, "answer": "Two hours."})
    tokens, written = measured(rag)["tokens"], 3
    assert measured(rag, model="gpt-4o")["cost"] == pytest.approx((tokens * 2.5 + written * 10) / 1e6)
    with pytest.raises(ConfigError, match="model must be a model that genai-prices knows, got 'nobody-1'"):
        measured(rag, model="nobody-1")


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
        ({"workers": 0}, "workers must be"),
        ({"budget": 0}, "budget must be"),
        ({"judge": 3}, "judge must be a LangChain or LlamaIndex model"),
        ({"corpus": 3}, "corpus must be a dict of texts by document id, or a list of chunks"),
        (
            {"questions": [marked(document_id="leaflet", start=900, end=950)], "corpus": {"leaflet": LEAFLET}},
            "no text at",
        ),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict[str, Any], message: str):
    with pytest.raises((ConfigError, InputError), match=message):
        evaluate(**{"questions": [QUESTION], "systems": {"ours": returning("")}, "progress": False, **arguments})


def test_the_report_notes_what_limits_it():
    asked = [
        {**QUESTION, "quotation": "Not in it.", "made": True},
        marked(document_id="unknown", start=3, end=9, id="b"),
    ]
    text = str(evaluate(asked, {"ours": returning(LEAFLET)}, corpus={"leaflet": LEAFLET}, progress=False))
    assert "- 1 question written by a model" in text
    assert "- 2 questions with evidence that isn't in the corpus: drink, b" in text
    pages = [Chunk(f"leaflet#{at}", "leaflet", text, start=0) for at, text in enumerate((DRINK, EAT))]
    text = str(evaluate([QUESTION], {"ours": returning(LEAFLET)}, corpus=pages, progress=False))
    assert "- 1 document of the corpus can't be put together" in text
    assert "isn't in the corpus" not in text
    assert "without corpus=, spans" in str(evaluate(asked, {"ours": returning(LEAFLET)}, progress=False))


def test_a_report_is_a_page_and_a_data_frame(tmp_path: Path):
    pytest.importorskip("pandas")
    report = evaluate(ASKED, {"<b>": returning(LEAFLET), "none": returning("")}, progress=False)
    page = report.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8") == page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "-1.000 [-1.000, -1.000]*" in page
    frame = report.to_pandas()
    assert frame.shape[0] == 12
    assert frame["recall"].tolist() == [1, 0] * 6


def test_depths_beyond_the_longest_context_are_left_out():
    report = evaluate(
        ASKED, {"short": returning(LEAFLET), "long": returning(LEAFLET * 3)}, encoding=len, progress=False
    )
    depths = [measure for measure in report.measures if measure.startswith("within")]
    assert depths == ["within_125", "within_250", "within_500"]
    assert report.only("tokens").measures == ("tokens",)
    with pytest.raises(ConfigError, match="measure must be one of"):
        report.only("token")


def test_quotation_marks_of_any_form_are_the_same():
    said = "He said “drink”, and drank."
    for corpus in (None, {"said": said}):
        assert measured(returning(said), marked(quotation='said "Drink"'), corpus=corpus)["recall"] == 1


def test_a_table_is_aligned():
    report = evaluate(ASKED, {"ours": returning(LEAFLET), "none": returning("")}, progress=False)
    _, means, differences = str(report).split("\n\n")
    for block in (means.splitlines(), differences.splitlines()[1:]):
        assert len({len(line.rstrip("* ")) for line in block}) == 1
