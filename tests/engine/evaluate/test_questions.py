from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxassembly.errors import InputError
from ctxassembly.evaluate import Evidence, read_questions

DRINK = "Until when may I drink?"
QUOTED = Evidence(quotation="until two hours before")


@pytest.mark.parametrize(
    ("fields", "evidence"),
    [
        ({"quotation": "until two hours before"}, (QUOTED,)),
        ({"quotation": "a b", "document_id": "gastro"}, (Evidence("gastro", quotation="a b"),)),
        ({"chunk_id": "gastro#0", "quotation": None}, (Evidence(chunk_id="gastro#0"),)),
        ({"document_id": "gastro", "start": 3, "end": 9}, (Evidence("gastro", 3, 9),)),
        ({"document_id": "gastro"}, (Evidence("gastro"),)),
        ({"evidence": [{"chunk_id": "a"}, {"chunk_id": "b"}]}, (Evidence(chunk_id="a"), Evidence(chunk_id="b"))),
        ({"answer": "Two hours."}, ()),
    ],
)
def test_evidence_is_marked_in_one_of_four_ways(fields: dict[str, Any], evidence: tuple[Evidence, ...]) -> None:
    [question] = read_questions([{"question": DRINK, **fields}])
    assert question.evidence == evidence
    assert question.is_marked


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"quotation": "a"}, "question 2: text must be the question, got ''"),
        ({"question": DRINK, "quotaton": "a"}, "question 2: unknown field 'quotaton'; the fields are answer, chunk_id"),
        ({"question": DRINK}, "question 2: nothing marks the evidence"),
        ({"question": DRINK, "document_id": "a", "start": 3}, "question 2: a span needs document_id"),
        ({"question": DRINK, "document_id": "a", "start": 3, "end": 3}, "0 <= start < end"),
        ({"question": DRINK, "chunk_id": "a", "quotation": "b"}, "is marked in one way"),
        ({"question": DRINK, "evidence": [{"page": 1}]}, "evidence must be dicts with document_id"),
        ({"question": DRINK, "answer": 3}, "answer must be a text and is_answerable true or false"),
        ({"question": DRINK, "is_answerable": False, "quotation": "a"}, "without an answer has no evidence"),
        ({"question": "Other?", "id": "one", "answer": "a"}, "id 'one' is already used"),
        (3, "a question must be a dict, got 3"),
    ],
)
def test_an_error_names_the_row_and_the_field(row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_questions([{"id": "one", "question": "First?", "answer": "Yes."}, row])


@pytest.mark.parametrize("source", [3, "missing.jsonl", "null\0", {"question": DRINK}, []])
def test_a_source_of_another_kind_is_an_error(source: Any) -> None:
    with pytest.raises(InputError):
        read_questions(source)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question": "Until?", "answer": "Two."}\n\n{"question": \n', "a.jsonl, line 3: no JSON"),
        (b'{"question": "Until?", "answer": "Two."}\n' + b'{"a":' * 50_000, "a.jsonl, line 2: no JSON"),
        ("Maße".encode("latin-1"), "questions can't be read: .*utf-8"),
    ],
    ids=["cut", "deep", "latin-1"],
)
def test_a_broken_file_is_an_error_that_names_the_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_questions(tmp_path / "a.jsonl")
