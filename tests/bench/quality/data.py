"""A question set: a corpus, its chunks, and questions with marked evidence and the chunks that were retrieved for them.

A folder holds three files of JSON lines. Offsets count characters (code points) and are half-open.

corpus.jsonl     {"document_id", "title", "text"}
chunks.jsonl     {"id", "document_id", "index", "start", "end", "text"}: `index` counts from 0 in each document
questions.jsonl  {"qid", "question", "spans": [{"document_id", "start", "end"}], "hits": [[chunk id, score]]}: hits best
                 first; "answers": [text] may stand besides, for measuring a language model's answers
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ctxassembly import Chunk, Hit
from ctxassembly.evaluate import Evidence, LabeledQuestion
from ctxassembly.evaluate.corpus import Corpus, DocumentSpan

Span = DocumentSpan
FILES = ("corpus.jsonl", "chunks.jsonl", "questions.jsonl")


class Document(NamedTuple):
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    evidence: tuple[Span, ...]
    hits: tuple[Hit, ...]
    answers: tuple[str, ...] = ()

    @property
    def labeled(self) -> LabeledQuestion:
        """The question as `evaluate` takes it. The filter is its id: two questions may have the same words."""
        return LabeledQuestion(self.text, tuple(Evidence(*span) for span in self.evidence), self.id, filter=self.id)


@dataclass(frozen=True)
class QuestionSet:
    name: str
    documents: Mapping[str, Document]
    chunks: Mapping[str, Chunk]
    questions: tuple[Question, ...]
    digest: str
    """Of the three files: results belong to it."""
    places: Mapping[tuple[str, int], Chunk] = field(init=False, repr=False)
    """The chunks by document and index."""

    def __post_init__(self) -> None:
        places = {(chunk.document_id, chunk.index or 0): chunk for chunk in self.chunks.values()}
        object.__setattr__(self, "places", places)

    @cached_property
    def corpus(self) -> Corpus:
        """The documents as `evaluate` measures with them."""
        return Corpus({document.id: document.text for document in self.documents.values()})

    def around(self, chunk: Chunk, window: int) -> list[Chunk]:
        """The chunk and up to `window` chunks on each side, in order."""
        index = chunk.index or 0
        near = ((chunk.document_id, at) for at in range(index - window, index + window + 1))
        return [self.places[place] for place in near if place in self.places]


class DataError(ValueError):
    """A folder isn't in the form that this module describes."""


def read(folder: Path) -> QuestionSet:
    """The question set in `folder`, named after it.

    Raises:
        DataError: a file is missing, or something in it isn't what it should be.
    """
    for name in FILES:
        if not (folder / name).is_file():
            raise DataError(f"{folder}: there is no {name}")
    documents = {
        row["document_id"]: Document(row["document_id"], row.get("title") or row["document_id"], row["text"])
        for row in _rows(folder / "corpus.jsonl", "document_id", "text")
    }
    chunks = {
        row["id"]: _chunk(row, documents)
        for row in _rows(folder / "chunks.jsonl", "id", "document_id", "index", "start", "end", "text")
    }
    questions = tuple(
        _question(row, documents, chunks)
        for row in _rows(folder / "questions.jsonl", "qid", "question", "spans", "hits")
    )
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((folder / name).read_bytes())
    return QuestionSet(folder.resolve().name, documents, chunks, questions, digest.hexdigest())


def _rows(file: Path, *needed: str) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{file}:{number}: {error}") from None
            if missing := [key for key in needed if key not in row]:
                raise DataError(f"{file}:{number}: {', '.join(missing)} missing")
            yield row


def _chunk(row: Mapping[str, Any], documents: Mapping[str, Document]) -> Chunk:
    document = documents.get(row["document_id"])
    if document is None or document.text[row["start"] : row["end"]] != row["text"]:
        raise DataError(f"chunk {row['id']!r} isn't what stands at its offsets in its document")
    metadata = {"title": document.title, "source": document.id}
    return Chunk(row["id"], document.id, row["text"], index=row["index"], start=row["start"], metadata=metadata)


def _question(row: Mapping[str, Any], documents: Mapping[str, Document], chunks: Mapping[str, Chunk]) -> Question:
    evidence = tuple(Span(each["document_id"], each["start"], each["end"]) for each in row["spans"])
    for span in evidence:
        if span.document_id not in documents or not documents[span.document_id].text[span.start : span.end].strip():
            raise DataError(f"question {row['qid']!r}: there is no text at {tuple(span)}")
    if not evidence:
        raise DataError(f"question {row['qid']!r} has no evidence")
    if unknown := [chunk_id for chunk_id, _ in row["hits"] if chunk_id not in chunks]:
        raise DataError(f"question {row['qid']!r}: there is no chunk {unknown[0]!r}")
    hits = tuple(Hit(chunks[chunk_id], score) for chunk_id, score in row["hits"])
    return Question(row["qid"], row["question"], evidence, hits, tuple(row.get("answers", ())))
