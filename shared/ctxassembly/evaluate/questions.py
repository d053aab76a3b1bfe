"""Questions with the evidence that answers them."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
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
                raise InputError(
                    f"start and end must be integers, 0 <= start < end, got {self.start!r} and {self.end!r}"
                )
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
