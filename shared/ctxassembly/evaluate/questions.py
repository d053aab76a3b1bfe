"""Questions with the evidence that answers them, read from files, rows, data frames, sets of LangSmith and RAGAS."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
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

    >>> Evidence(document_id="gastro", start=10, end=45).kind, Evidence(quotation="two hours before").kind
    ('span', 'quotation')
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
        if (self.start is None) != (self.end is None):
            raise InputError("a span of evidence needs start and end")
        if self.start is not None and self.end is not None:
            if not (type(self.start) is int and type(self.end) is int and 0 <= self.start < self.end):
                given = f"{self.start!r} and {self.end!r}"
                raise InputError(f"start and end must be integers, 0 <= start < end, got {given}")
            if self.document_id is None:
                raise InputError("a span of evidence needs a document_id")
        if not ways and self.document_id is None:
            raise InputError("evidence needs a quotation, a chunk_id, or a document_id with or without start and end")

    @property
    def kind(self) -> str:
        """The way it is marked: "span", "chunk", "document" or "quotation"."""
        if self.quotation is not None:
            return "quotation"
        if self.chunk_id is not None:
            return "chunk"
        return "document" if self.start is None else "span"


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
    made: bool = False
    """True if a model wrote the question."""
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


QUESTION = ("question", "text", "query", "user_input", "input")
ANSWER = ("answer", "expected_answer", "reference", "reference_answer", "ground_truth", "output")
ID = ("id", "qid", "question_id")
QUOTATION = ("quotation", "quotations", "quote", "quotes", "reference_contexts", "contexts")
CHUNK = ("chunk_id", "chunk_ids", "reference_context_ids")
DOCUMENT = ("document_id", "document_ids")
EVIDENCE = ("evidence", "spans")
"""The names of a field, the first that a row has counts. `user_input`, `reference` and `reference_contexts` are of
RAGAS."""
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def read_questions(source: Any) -> tuple[LabeledQuestion, ...]:
    """Return the questions of `source`.

    >>> [question] = read_questions([{"question": "Until when may I drink?", "quotation": "two hours before"}])
    >>> question.evidence
    (Evidence(document_id=None, start=None, end=None, chunk_id=None, quotation='two hours before'),)

    A row has `question`, and one field that marks what answers it: `quotation` (text or list of texts), `chunk_id`,
    `document_id` with `start` and `end`, `document_id` alone, a list `evidence` of such dicts, or only `answer`, the
    expected answer. `is_answerable: false` marks a question that the documents don't answer. `id` and `filter` are
    optional, other fields are ignored. Lists in a CSV file are JSON.

    Args:
        source: the path of a JSONL, JSON or CSV file (UTF-8), a list of dicts or of `LabeledQuestion`, a pandas
            DataFrame, examples of LangSmith (objects or dicts with `inputs` and `outputs`), or a data set of RAGAS.

    Raises:
        InputError: a row can't be read; the message names the row and the field. Or two rows share an id.
    """
    questions: list[LabeledQuestion] = []
    places: dict[str, str] = {}
    for place, row in _rows(source):
        try:
            question = row if isinstance(row, LabeledQuestion) else _question(_flat(row))
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        if question.id in places:
            raise InputError(f"{place}: id {question.id!r} is already used by {places[question.id]}: give each its own")
        places[question.id] = place
        questions.append(question)
    if not questions:
        raise InputError("there are no questions")
    return tuple(questions)


def _rows(source: Any) -> Iterator[tuple[str, Any]]:
    """Yield the rows of `source`, each with its place for errors."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        try:
            has_file = path.is_file()
        except (OSError, ValueError):  # no path: too long, or with a null character
            has_file = False
        if not has_file:
            raise InputError(f"there is no file {safe_repr(str(path))}")
        yield from _csv_rows(path) if path.suffix.lower() == ".csv" else _json_rows(path)
        return
    if hasattr(source, "to_dict") and hasattr(source, "columns"):  # a pandas DataFrame
        source = source.to_dict("records")
    elif hasattr(source, "to_list") and not isinstance(source, Sequence):  # a data set of RAGAS or Hugging Face
        source = source.to_list()
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError(f"questions must be a path, a list of dicts or a DataFrame, got {safe_repr(source)}")
    yield from ((f"question {number}", row) for number, row in enumerate(source, 1))


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file with JSON on each line, or with one JSON list."""
    text = _read_text(path)
    if text.lstrip()[:1] == "[":
        yield from ((f"{path.name}, question {number}", row) for number, row in enumerate(_parsed(text, path.name), 1))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{path.name}, line {number}"
            yield place, _parsed(line, place)


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError(f"{place}: nested too deep") from None
    except ValueError as error:
        raise InputError(f"{place}: no JSON: {error}") from None


def _csv_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a table whose first line has the fields, separated by commas, semicolons or tabs."""
    text = _read_text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter)
    try:
        for row in rows:
            place = f"{path.name}, line {rows.line_num}"
            yield place, {key: _cell(value, f"{place}: {key}") for key, value in row.items() if key}
    except csv.Error as error:
        raise InputError(f"{path.name}, line {rows.reader.line_num}: can't be read as CSV: {error}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name}: save it as UTF-8: {error}") from None
    except OSError as error:
        raise InputError(f"{path.name}: can't be read: {error}") from None


def _cell(text: str, place: str) -> Any:
    """Return a cell of a CSV file: a list or a dict if it is JSON of one, else its text."""
    try:
        return json.loads(text) if text and text.lstrip()[:1] in ("[", "{") else text
    except RecursionError:
        raise InputError(f"{place}: nested too deep") from None
    except ValueError:
        return text


def _flat(row: Any) -> Mapping[str, Any]:
    """Return the fields of `row`. The inputs and outputs of an example of LangSmith are put together."""
    if not isinstance(row, Mapping):
        if hasattr(row, "inputs"):
            row = {name: getattr(row, name, None) for name in ("id", "inputs", "outputs")}
        elif hasattr(row, "model_dump"):
            row = row.model_dump()
        else:
            raise InputError(f"a question must be a dict, got {safe_repr(row)}")
    if isinstance(row.get("inputs"), Mapping):
        if not isinstance(row.get("outputs") or {}, Mapping):
            raise InputError(f"outputs must be a dict, got {safe_repr(row['outputs'])}")
        inputs, outputs = dict(row["inputs"]), dict(row.get("outputs") or {})
        if len(inputs) == 1:
            inputs = {"question": next(iter(inputs.values()))}
        if len(outputs) == 1 and outputs.keys().isdisjoint((*ANSWER, *QUOTATION, *CHUNK, *DOCUMENT, *EVIDENCE)):
            outputs = {"answer": next(iter(outputs.values()))}
        row = {**({"id": _name(row["id"], "id")} if row.get("id") is not None else {}), **inputs, **outputs}
    return {str(key): value for key, value in row.items() if not _is_missing(value)}


def _is_missing(value: Any) -> bool:
    """Return True for None, blank text, an empty list and the NaN of a data frame."""
    if isinstance(value, str):
        return not value.strip()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return (isinstance(value, float) and value != value) or (isinstance(value, list) and not value)  # noqa: PLR0124


def _question(row: Mapping[str, Any]) -> LabeledQuestion:
    text, answer = _field(row, QUESTION), _field(row, ANSWER)
    if text is None:
        raise InputError(f"question is missing; the fields are {', '.join(row) or 'none'}")
    is_answerable = _flag(row, "is_answerable", default=True)
    evidence = _evidence(row)
    if is_answerable and not evidence and answer is None:
        raise InputError(
            "nothing marks the evidence: add quotation, chunk_id, document_id (with start and end), evidence, answer, "
            f"or is_answerable=false; the fields are {', '.join(row)}"
        )
    if answer is not None and not isinstance(answer, str):
        raise InputError(f"answer must be a text, got {safe_repr(answer)}")
    id_, is_made = _name(_field(row, ID), "id"), _flag(row, "made", default=False)
    return LabeledQuestion(text, evidence, id_, answer, row.get("filter"), is_made, is_answerable)


def _evidence(row: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Return the evidence that the fields of `row` mark: a list under `evidence`, or flat fields."""
    found = [_piece(piece) for piece in _as_list(_field(row, EVIDENCE))]
    quotations, chunk_ids = _as_list(_field(row, QUOTATION)), _as_list(_field(row, CHUNK))
    document_ids = [_name(document_id, "document_id") for document_id in _as_list(_field(row, DOCUMENT))]
    only_document = document_ids[0] if len(document_ids) == 1 else None
    found += [Evidence(quotation=quotation, document_id=only_document) for quotation in quotations]
    found += [Evidence(chunk_id=_name(id_, "chunk_id"), document_id=only_document) for id_ in chunk_ids]
    if "start" in row or "end" in row:
        found.append(Evidence(only_document, _offset(row, "start"), _offset(row, "end")))
    elif not found:
        found += [Evidence(document_id) for document_id in document_ids]
    return tuple(dict.fromkeys(found))


def _piece(piece: Any) -> Evidence:
    """Return one piece of the list `evidence`: a quotation, or a dict of fields."""
    if isinstance(piece, (Evidence, str)):
        return piece if isinstance(piece, Evidence) else Evidence(quotation=piece)
    if not isinstance(piece, Mapping):
        raise InputError(f"evidence must be texts or dicts, got {safe_repr(piece)}")
    marked = _evidence({key: value for key, value in piece.items() if key not in EVIDENCE and not _is_missing(value)})
    if len(marked) != 1:
        raise InputError(f"evidence must have quotation, chunk_id or document_id, got {safe_repr(dict(piece))}")
    return marked[0]


def _field(row: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray" else [value]


def _name(value: Any, field: str) -> str:
    """Return an id as text; empty for None. A number or a UUID is one, a list isn't."""
    if isinstance(value, (list, tuple, Mapping)) or type(value).__name__ == "ndarray":
        raise InputError(f"{field} must be a text, got {safe_repr(value)}")
    return "" if value is None else str(value)


def _offset(row: Mapping[str, Any], name: str) -> int | None:
    value = row.get(name)
    try:
        offset = None if value is None else int(value)
    except (TypeError, ValueError, OverflowError):
        offset = None
    if value is not None and (offset is None or (isinstance(value, float) and value != offset)):
        raise InputError(f"{name} must be an integer, got {safe_repr(value)}")
    return offset


def _flag(row: Mapping[str, Any], name: str, *, default: bool) -> bool:
    text = str(row.get(name, default)).strip().lower().removesuffix(".0")
    if text not in (*_TRUE, *_FALSE):
        raise InputError(f"{name} must be true or false, got {safe_repr(row[name])}")
    return text in _TRUE
