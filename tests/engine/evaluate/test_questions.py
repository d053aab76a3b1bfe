from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxassembly import Chunk
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate import Evidence, LabeledQuestion, evaluate, questions_from, read_questions

DRINK = "Until when may I drink?"
QUOTED = Evidence(quotation="until two hours before")


@pytest.mark.parametrize(
    ("fields", "evidence"),
    [
        ({"quotation": "until two hours before"}, (QUOTED,)),
        ({"quotations": ["a b", "c d"]}, (Evidence(quotation="a b"), Evidence(quotation="c d"))),
        ({"reference_contexts": ["until two hours before"], "reference": "Two hours."}, (QUOTED,)),
        ({"quotation": "a b", "document_id": "gastro"}, (Evidence("gastro", quotation="a b"),)),
        ({"chunk_ids": ["gastro#0", "gastro#1"]}, (Evidence(chunk_id="gastro#0"), Evidence(chunk_id="gastro#1"))),
        ({"document_id": "gastro", "start": "3", "end": 9.0}, (Evidence("gastro", 3, 9),)),
        ({"document_ids": ["gastro", "lab"]}, (Evidence("gastro"), Evidence("lab"))),
        ({"evidence": ["until two hours before"]}, (QUOTED,)),
        ({"spans": [{"document_id": "gastro", "start": 3, "end": 9}]}, (Evidence("gastro", 3, 9),)),
        ({"answer": "Two hours."}, ()),
    ],
)
def test_evidence_is_read_in_every_form(fields: dict[str, Any], evidence: tuple[Evidence, ...]):
    [question] = read_questions([{"question": DRINK, **fields}])
    assert question.evidence == evidence
    assert question.is_marked


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"quotation": "a"}, "question 2: question is missing; the fields are quotation"),
        ({"question": DRINK, "quotaton": "a"}, "question 2: nothing marks the evidence.*quotaton"),
        ({"question": DRINK, "document_id": "a", "start": 3}, "question 2: a span of evidence needs start and end"),
        ({"question": DRINK, "document_id": "a", "start": "x", "end": 3}, "start must be an integer, got 'x'"),
        ({"question": DRINK, "start": 1, "end": 3}, "needs a document_id"),
        ({"question": DRINK, "evidence": [{"start": 1, "end": 3}]}, "needs a document_id"),
        ({"question": DRINK, "evidence": [{"page": 1}]}, "evidence must have quotation, chunk_id or document_id"),
        ({"question": DRINK, "evidence": [3]}, "evidence must be texts or dicts, got 3"),
        ({"question": DRINK, "answer": 3}, "answer must be a text, got 3"),
        ({"question": DRINK, "is_answerable": "maybe"}, "is_answerable must be true or false, got 'maybe'"),
        ({"question": DRINK, "is_answerable": False, "quotation": "a"}, "without an answer has no evidence"),
        ({"question": "Other?", "id": "one", "answer": "a"}, "id 'one' is already used by question 1"),
        ({"question": 3, "answer": "a"}, "text must be the question, got 3"),
        ({"question": DRINK, "document_id": "a", "start": float("inf"), "end": 3}, "start must be an integer, got inf"),
        ({"question": DRINK, "document_id": "a", "start": 1, "end": 3.5}, "end must be an integer, got 3.5"),
        ({"question": DRINK, "chunk_id": [["a"]]}, r"chunk_id must be a text, got \['a'\]"),
        ({"question": DRINK, "document_id": {"a": 1}}, "document_id must be a text, got {'a': 1}"),
        ({"question": DRINK, "quotation": [["a"]]}, r"quotation must be a text or None, got \['a'\]"),
        ({"question": DRINK, "answer": "a", "id": ["a"]}, r"id must be a text, got \['a'\]"),
        ({"question": ["a"], "answer": "a"}, r"text must be the question, got \['a'\]"),
        ({"inputs": {"question": DRINK}, "outputs": ["a"]}, r"outputs must be a dict, got \['a'\]"),
        (3, "a question must be a dict, got 3"),
    ],
)
def test_an_error_names_the_row_and_the_field(row: Any, message: str):
    with pytest.raises(InputError, match=message):
        read_questions([{"id": "one", "question": "First?", "answer": "Yes."}, row])


@pytest.mark.parametrize("source", [3, "missing.jsonl", {"question": DRINK}, []])
def test_a_source_of_another_kind_is_an_error(source: Any):
    with pytest.raises(InputError):
        read_questions(source)


def test_a_jsonl_file_names_the_line_of_an_error(tmp_path: Path):
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Until when?", "answer": "Two hours."}\n\n{"question": \n', encoding="utf-8")
    with pytest.raises(InputError, match=r"questions\.jsonl, line 3: no JSON"):
        read_questions(file)


def test_csv_and_data_frames_give_the_same_questions(tmp_path: Path):
    rows = [
        {"id": "a", "question": DRINK, "quotation": "until two\nhours before", "document_id": "gastro"},
        {"id": "b", "question": "Where?", "chunk_ids": '["x", "y"]'},
        {"id": "c", "question": "Why?", "is_answerable": "false"},
    ]
    file = tmp_path / "questions.csv"
    pd = pytest.importorskip("pandas")
    pd.DataFrame(rows).to_csv(file, index=False)
    asked = read_questions(str(file))
    assert [question.evidence for question in asked] == [
        (Evidence("gastro", quotation="until two\nhours before"),),
        (Evidence(chunk_id="x"), Evidence(chunk_id="y")),
        (),
    ]
    assert not asked[2].is_answerable
    frame = pd.DataFrame([{**rows[0]}, {**rows[1], "chunk_ids": ["x", "y"]}, {**rows[2], "is_answerable": False}])
    assert read_questions(frame) == asked


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "question;quotation\nWhy?;because, so\n"),
        ("a.csv", "\ufeffquestion\tquotation\r\nWhy?\tbecause, so\r\n"),
        ("a.json", '[{"question": "Why?",\n"quotation": "because, so"}]'),
        ("a.jsonl", '{"question": "Why?", "quotation": "because, so"}'),
    ],
)
def test_files_of_several_forms_are_read(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_bytes(content.encode())
    assert read_questions(tmp_path / name) == (LabeledQuestion("Why?", (Evidence(quotation="because, so"),)),)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("long.csv", f"question,quotation\nShort?,a\nLong?,{'x' * 200_000}\n", "long.csv, line 3: .*field larger than"),
        ("deep.csv", f'question,evidence\nDeep?,"{"[" * 50_000}"\n', "deep.csv, line 2: evidence: nested too deep"),
        ("deep.jsonl", '{"question": "a?", "answer": "b"}\n' + '{"a":' * 50_000, "deep.jsonl, line 2: nested too deep"),
        ("deep.json", "[" * 50_000, "deep.json: nested too deep"),
        (
            "inf.jsonl",
            '{"question": "a?", "document_id": "d", "start": Infinity, "end": 2}',
            "inf.jsonl, line 1: start",
        ),
        ("binary.jsonl", "\x00\x01\x02", "binary.jsonl, line 1: no JSON"),
        ("../" * 2_000, None, "there is no file"),
        ("null\x00", None, "there is no file"),
        (".", None, "there is no file"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_hostile_file_is_an_error_that_names_file_and_line(
    tmp_path: Path, name: str, content: str | None, message: str
):
    if content is not None:
        (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(InputError, match=message):
        read_questions(f"{tmp_path}/{name}")


def test_half_a_surrogate_pair_is_read_as_it_is(tmp_path: Path):
    file = tmp_path / "half.jsonl"
    file.write_text('{"question": "Why \\ud800?", "quotation": "a \\ud800"}', "utf-8")
    [question] = read_questions(file)
    assert question.evidence[0].quotation == "a \ud800"
    report = evaluate([question], {"ours": lambda question: "a \ud800"}, progress=False)
    assert report.estimate("ours", "recall").mean == 1.0
    assert str(report)


def test_a_file_of_another_encoding_is_an_error(tmp_path: Path):
    (tmp_path / "a.csv").write_bytes("question,answer\nWarum?,Maße\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"a\.csv: save it as UTF-8"):
        read_questions(tmp_path / "a.csv")


@dataclass
class Example:
    """An example of LangSmith."""

    id: int
    inputs: dict[str, Any]
    outputs: dict[str, Any] | None = None


def test_examples_of_langsmith_are_read():
    asked = read_questions([Example(1, {"my_input": DRINK}, {"result": "Two hours."}), {"inputs": {"question": "Why?"},
                            "outputs": {"quotation": "because"}}])  # fmt: skip
    assert [(question.text, question.answer) for question in asked] == [(DRINK, "Two hours."), ("Why?", None)]
    assert (asked[0].id, asked[1].evidence) == ("1", (Evidence(quotation="because"),))


def test_questions_are_read_as_they_are():
    asked = (LabeledQuestion(DRINK, (QUOTED,)),)
    assert read_questions(asked) == asked
    assert asked[0].id == LabeledQuestion(DRINK).id


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"chunk_id": "a", "quotation": "b"},
        {"document_id": "a", "start": 3, "end": 3},
        {"quotation": " "},
        {"document_id": 3},
    ],
)
def test_evidence_is_marked_in_one_way(fields: dict[str, Any]):
    with pytest.raises(InputError):
        Evidence(**fields)


TEXT = "Drink water until two\nhours before the examination. Eat nothing for six hours, and bring the leaflet. "
CHUNKS = [Chunk(f"gastro#{at}", "gastro", f"{TEXT} {at}") for at in range(6)]


def test_a_model_writes_questions_with_verbatim_quotations():
    calls = []

    def llm(prompt: str) -> str:
        calls.append(prompt)
        return f'Sure: {{"question": "When {prompt[-1]}?", "quotation": "water until two hours  before"}}'

    asked = questions_from([*CHUNKS, Chunk("title", "gastro", "Gastroscopy")], llm, 3)
    assert len(asked) == 3 <= len(calls)
    assert {question.evidence for question in asked} == {
        (Evidence("gastro", quotation="water until two\nhours before"),)
    }
    assert all(question.made for question in asked)


@pytest.mark.parametrize("reply", ["", "{}", '{"question": "When?", "quotation": "not in it"}', "{nothing}"])
def test_a_reply_without_a_verbatim_quotation_is_no_question(reply: str):
    assert questions_from(CHUNKS, lambda prompt: reply) == ()


def test_a_model_that_fails_is_an_error():
    def llm(prompt: str) -> str:
        raise TimeoutError("no answer")

    with pytest.raises(InputError, match="TimeoutError: no answer"):
        questions_from(CHUNKS, llm)
    with pytest.raises(InputError, match="llm must be a LangChain or LlamaIndex model"):
        questions_from(CHUNKS, None)
    with pytest.raises(ConfigError, match="n must be"):
        questions_from(CHUNKS, llm, 0)


def test_models_of_both_frameworks_write_questions():
    from langchain_core.language_models import FakeListChatModel
    from llama_index.core.llms import MockLLM

    reply = '{"question": "When?", "quotation": "Eat nothing"}'
    assert questions_from(CHUNKS[:1], FakeListChatModel(responses=[reply]))[0].text == "When?"
    assert questions_from(CHUNKS[:1], MockLLM(max_tokens=1)) == ()
