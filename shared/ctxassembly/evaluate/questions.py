"""Questions with the evidence that answers them, read from a JSONL file or from dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

ID_DIGITS = 12
"""Hexadecimal digits of the id that a question gets from its text."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of text that answers a question, marked in one way: a span, a chunk, a whole document or a quotation.

    A quotation or a chunk may name its document, too.

    >>> Evidence(document_id="gastro", start=10, end=45).quotation, Evidence(quotation="two hours before").quotation
    (None, 'two hours before')
    """

    document_id: str | None = None
    start: int | None = None
    """Offset of the first character in the document, half-open with `end`."""
    end: int | None = None
    chunk_id: str | None = None
    quotation: str | None = None
    """The words themselves. White space, capitals and the form of quotation marks don't count."""

    def __post_init__(self) -> None:
        for name in ("document_id", "chunk_id", "quotation"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise InputError(f"{name} must be a text or None, got {safe_repr(value)}")
        ways = [name for name in ("start", "chunk_id", "quotation") if getattr(self, name) is not None]
        if len(ways) > 1:
            raise InputError(f"a piece of evidence is marked in one way, got {' and '.join(ways)}")
        if self.start is not None or self.end is not None:
            is_span = type(self.start) is int and type(self.end) is int and 0 <= self.start < self.end
            if not is_span or self.document_id is None:
                given = f"{self.document_id!r}, {self.start!r} and {self.end!r}"
                raise InputError(f"a span needs document_id, and start and end with 0 <= start < end, got {given}")
        if not ways and self.document_id is None:
            raise InputError("evidence needs a quotation, a chunk_id, or a document_id with or without start and end")


@dataclass(frozen=True, slots=True)
class LabeledQuestion:
    """A question with the evidence that answers it.

    >>> question = LabeledQuestion("Until when may I drink?", (Evidence(quotation="two hours before"),))
    >>> question.id
    'd3bed7e24a83'
    """

    text: str
    evidence: tuple[Evidence, ...] = ()
    id: str = ""
    """Unique in a set. Made from the text if empty."""
    answer: str | None = None
    """The expected answer. Its words are the evidence if nothing else is marked."""
    filter: Any = None
    """The filter of the caller, for systems that take one."""
    is_answerable: bool = True
    """False if the documents have no answer: a system should then abstain."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise InputError(f"text must be the question, got {safe_repr(self.text)}")
        evidence = (self.evidence,) if isinstance(self.evidence, Evidence) else tuple(self.evidence)
        if not all(isinstance(piece, Evidence) for piece in evidence):
            raise InputError(f"evidence must be a tuple of Evidence, got {safe_repr(self.evidence)}")
        if evidence and not self.is_answerable:
            raise InputError("a question without an answer has no evidence")
        object.__setattr__(self, "evidence", evidence)
        object.__setattr__(self, "id", self.id or sha256(self.text.encode("utf-8", "replace")).hexdigest()[:ID_DIGITS])

    @property
    def is_marked(self) -> bool:
        """True if there is something to find: evidence, or the words of the expected answer."""
        return bool(self.evidence) or bool(self.answer and self.is_answerable)


EVIDENCE_FIELDS = ("document_id", "start", "end", "chunk_id", "quotation")
FIELDS = frozenset(("question", "id", "answer", "filter", "is_answerable", "evidence", *EVIDENCE_FIELDS))


def read_questions(source: Any) -> tuple[LabeledQuestion, ...]:
    """Return the questions of `source`.

    >>> [question] = read_questions([{"question": "Until when may I drink?", "quotation": "two hours before"}])
    >>> question.evidence
    (Evidence(document_id=None, start=None, end=None, chunk_id=None, quotation='two hours before'),)

    A row has `question`, and the fields of an `Evidence` that marks what answers it: `quotation`, `chunk_id`,
    `document_id` with `start` and `end`, or `document_id` alone; or a list `evidence` of such dicts; or only `answer`,
    the expected answer. `is_answerable: false` marks a question that the documents don't answer. `id` and `filter` are
    optional. A field that is None is left out.

    Args:
        source: the path of a JSONL file (UTF-8), or an iterable of dicts or of `LabeledQuestion`.

    Raises:
        InputError: a row can't be read, or has another field; the message names the row. Or two rows share an id.
    """
    questions: dict[str, LabeledQuestion] = {}
    for place, row in _rows(source):
        try:
            question = row if isinstance(row, LabeledQuestion) else _question(row)
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        if question.id in questions:
            raise InputError(f"{place}: id {question.id!r} is already used: give each question its own")
        questions[question.id] = question
    if not questions:
        raise InputError("there are no questions")
    return tuple(questions.values())


def _rows(source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the rows of `source`, each with its place for errors."""
    if isinstance(source, (str, Path)):
        try:
            lines = Path(source).read_text("utf-8-sig").split("\n")
        except (OSError, ValueError) as error:  # no path, or no UTF-8
            raise InputError(f"questions can't be read: {error}") from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                place = f"{Path(source).name}, line {number}"
                try:
                    yield place, json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise InputError(f"{place}: no JSON: {error}") from None
    elif isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError(f"questions must be the path of a JSONL file or a list of dicts, got {safe_repr(source)}")
    else:
        yield from ((f"question {number}", row) for number, row in enumerate(source, 1))


def _question(row: Any) -> LabeledQuestion:
    if not isinstance(row, Mapping):
        raise InputError(f"a question must be a dict, got {safe_repr(row)}")
    if unknown := row.keys() - FIELDS:
        field, known = min(unknown, key=str), ", ".join(sorted(FIELDS))
        raise InputError(f"unknown field {safe_repr(field)}; the fields are {known}")
    row = {name: value for name, value in row.items() if value is not None}
    answer, is_answerable = row.get("answer"), row.get("is_answerable", True)
    if not (answer is None or isinstance(answer, str)) or type(is_answerable) is not bool:
        raise InputError(f"answer must be a text and is_answerable true or false, got {answer!r}, {is_answerable!r}")
    pieces = [*row.get("evidence", ()), {name: row[name] for name in EVIDENCE_FIELDS if name in row}]
    evidence = tuple(_evidence(piece) for piece in pieces if piece)
    if is_answerable and not evidence and not answer:
        raise InputError(
            "nothing marks the evidence: add quotation, chunk_id, document_id (with start and end), evidence, answer, "
            "or is_answerable=false"
        )
    text, id_ = row.get("question", ""), str(row.get("id", ""))
    return LabeledQuestion(text, evidence, id_, answer, row.get("filter"), is_answerable)


def _evidence(piece: Any) -> Evidence:
    if isinstance(piece, Evidence):
        return piece
    if not isinstance(piece, Mapping) or not piece.keys() <= {*EVIDENCE_FIELDS}:
        raise InputError(f"evidence must be dicts with {', '.join(EVIDENCE_FIELDS)}, got {safe_repr(piece)}")
    return Evidence(**piece)
