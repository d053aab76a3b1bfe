"""Downloaded question sets, in small: their forms are those of the files that their homes offer."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest

from ctxassembly.text.titles import comparable, comparable_title
from quality import prepare
from quality.data import DataError, Document
from quality.filling import count
from quality.python_reference import python_reference, python_two_hops
from quality.sources import Asked, Source, chroma, hotpot, musique, qmsum, squad

TEXT = "Larks sing at dawn. Owls hunt at night.\r\nThey sleep by day."


def evidence(source: Source) -> list[list[str]]:
    texts = {document.id: document.text for document in source.documents}
    return [[texts[span.document_id][span.start : span.end] for span in asked.evidence] for asked in source.questions]


def write_chroma(folder: Path, start: int) -> Path:
    (folder / "corpora").mkdir(parents=True)
    (folder / "corpora" / "birds.md").write_bytes(TEXT.encode())
    references = json.dumps(
        [
            {"content": "Owls hunt at night.", "start_index": start, "end_index": start + 19},
            {"content": "by day", "start_index": 52, "end_index": 58},
        ]
    )
    with (folder / "questions_df.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("question", "references", "corpus_id"), ("What do owls do, and when?", references, "birds")]
        )
    return folder


def test_chroma(tmp_path: Path) -> None:
    source = chroma(write_chroma(tmp_path / "a", 20))
    assert source.documents == (Document("birds", "birds", TEXT),)
    assert evidence(source) == [["Owls hunt at night.", "by day"]]
    with pytest.raises(DataError, match="the evidence of question 0 isn't where it is said to be"):
        chroma(write_chroma(tmp_path / "b", 21))


def test_squad(tmp_path: Path) -> None:
    file = tmp_path / "xquad.en.json"
    asked = [
        {"id": "1", "question": "When do owls hunt?", "answers": [{"text": "night", "answer_start": 33}] * 2},
        {"id": "2", "question": "And then?", "answers": [{"text": "night.\r\nThey", "answer_start": 33}]},
        {"id": "3", "question": "Why?", "answers": []},
    ]
    paragraphs = [{"context": "First.", "qas": []}, {"context": TEXT, "qas": asked}]
    file.write_text(json.dumps({"data": [{"title": "Birds", "paragraphs": paragraphs}, {"paragraphs": []}]}))
    source = squad(file)
    assert source.documents[0] == Document("xquad.en-000", "Birds", f"First.\n\n{TEXT}")
    assert source.documents[1].title == "xquad.en-001", "COVID-QA has no titles"
    assert evidence(source) == [["Owls hunt at night."], ["Owls hunt at night.\r\nThey sleep by day."]]
    assert [asked.answers for asked in source.questions] == [("night",), ("night.\r\nThey",)]


def test_hotpot(tmp_path: Path) -> None:
    context = [["Owls", ["Owls hunt at night.", " They see."]], ["Larks", ["Larks sing at dawn."]]]
    asked = {"question": "Who sings?", "answer": "larks", "supporting_facts": [["Larks", 0], ["Owls", 1], ["Owls", 9]]}
    (file := tmp_path / "hops.json").write_text(json.dumps([{**asked, "context": context}] * 2))
    source = hotpot(file)
    assert [(each.title, each.text) for each in source.documents] == [
        ("Owls", "Owls hunt at night. They see."),
        ("Larks", "Larks sing at dawn."),
    ]
    assert evidence(source) == [["Larks sing at dawn.", " They see."]] * 2


@pytest.mark.parametrize("as_lines", [True, False])
def test_musique(tmp_path: Path, *, as_lines: bool) -> None:
    texts = [("Owls", "Owls hunt.", False), ("Owls", "They see.", True), ("Larks", "Larks sing.", True)]
    paragraphs = [{"title": title, "paragraph_text": text, "is_supporting": used} for title, text, used in texts]
    row = {"id": "2hop__1", "question": "Who sees?", "answer": "owls", "paragraphs": paragraphs}
    (file := tmp_path / "hops.json").write_text(json.dumps(row) if as_lines else json.dumps([row]))
    source = musique(file)
    assert [each.text for each in source.documents] == ["Owls hunt.\n\nThey see.", "Larks sing."]
    assert evidence(source) == [["They see.", "Larks sing."]]


def test_python_two_hops() -> None:
    source = python_two_hops()
    titles = {document.id: document.title for document in source.documents}
    assert len(source.questions) > 20
    for question, (first, second) in zip(source.questions, evidence(source), strict=True):
        mentioned = comparable_title(titles[question.evidence[1].document_id])
        assert mentioned in comparable(first)
        assert mentioned not in comparable(question.text)
        assert second


def test_qmsum(tmp_path: Path) -> None:
    turns = [
        {"speaker": "A", "content": "Hello ."},
        {"speaker": "B", "content": "Hi ."},
        {"speaker": "A", "content": "Bye ."},
    ]
    queries = [
        {"query": "How did they greet?", "answer": "Shortly.", "relevant_text_span": [["0", "1"]]},
        {"query": "And?", "answer": "Gone.", "relevant_text_span": [["2", "9"], ["7", "9"]]},
        {"query": "What else?", "answer": "Nothing.", "relevant_text_span": []},
    ]
    (tmp_path / "m1.json").write_text(json.dumps({"meeting_transcripts": turns, "specific_query_list": queries}))
    source = qmsum(tmp_path)
    assert source.documents == (Document("m1", "m1", "A: Hello .\nB: Hi .\nA: Bye .\n"),)
    assert evidence(source) == [["A: Hello .\nB: Hi ."], ["A: Bye ."]]
    assert source.questions[0].answers == ("Shortly.",)


def test_the_language_reference_has_its_headings_taken_out() -> None:
    source = python_reference()
    texts = {document.id: document.text for document in source.documents}
    assert len(source.questions) > 100
    for asked, (first,) in zip(source.questions, evidence(source), strict=True):
        assert f"\n{asked.text.split(': ')[-1]}\n==" not in texts[asked.evidence[0].document_id]
        assert len(first) >= 80
        assert "\n\n" not in first


def test_chunks_stand_where_they_say() -> None:
    text = " ".join(f"Sentence {number} says the same thing again." for number in range(200))
    chunks = list(prepare.split(Document("d", "d", f"{text}\n\n{text}")))
    assert len(chunks) > 5
    for number, chunk in enumerate(chunks):
        assert f"{text}\n\n{text}"[chunk["start"] : chunk["end"]] == chunk["text"]
        assert count(chunk["text"]) <= prepare.CHUNK_TOKENS
        assert chunk["index"] == number
    assert [chunk["start"] for chunk in chunks] == sorted({chunk["start"] for chunk in chunks})
    assert any(one["end"] > other["start"] for one, other in pairwise(chunks)), "they overlap"


def test_nothing_to_prepare_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare.main(["qmsum", str(tmp_path), "--out", str(tmp_path / "out"), "--retriever", "bm25"]) == 2
    assert "no documents or no questions were found" in capsys.readouterr().err
    assert prepare.main(["squad", str(tmp_path / "none.json"), "--out", str(tmp_path / "out")]) == 2
    assert "none.json" in capsys.readouterr().err


@pytest.mark.bench
def test_a_prepared_set_is_read_with_its_answers(tmp_path: Path) -> None:
    from quality.data import Span, read

    document = Document("birds", "Birds", TEXT)
    asked = Asked("1", "When do owls hunt?", (Span("birds", 20, 39),), ("night",))
    prepare.prepare(Source((document,), (asked,)), tmp_path / "birds", "bm25")
    (question,) = read(tmp_path / "birds").questions
    assert (question.text, question.evidence, question.answers) == (asked.text, asked.evidence, asked.answers)
    assert [hit.chunk.text for hit in question.hits] == [TEXT]


@pytest.mark.semantic
def test_minilm_finds_what_has_no_word_in_common() -> None:
    texts = ["The car park costs two euros.", "Owls hunt at night.", "Water boils at 100 degrees."]
    ((best, *_),) = prepare.by_minilm(texts, ["Which birds are active in the dark?"])
    assert best[0] == 1
