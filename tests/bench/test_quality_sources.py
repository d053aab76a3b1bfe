"""Downloaded question sets, in small: their forms are those of the files that their homes offer."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest

from quality import prepare
from quality.data import DataError, Document
from quality.filling import count
from quality.python_reference import python_reference
from quality.sources import Asked, Source, chroma

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
