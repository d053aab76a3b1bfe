"""Spans of documents, and texts without their white space: evidence is counted in the characters that say something.

A dense offset counts only such characters. Two spans with nothing but white space between them touch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class DocumentSpan(NamedTuple):
    """The characters `[start:end]` of a document."""

    document_id: str
    start: int
    end: int


class Dense:
    """Texts without white space, by document id; each is computed once, on first use.

    A document without a text keeps its offsets, and has no words.
    """

    def __init__(self, texts: Mapping[str, str], parent: Dense | None = None) -> None:
        """`parent` has the documents that `texts` hasn't."""
        self._texts, self._parent = texts, parent
        self._made: dict[str, tuple[str, NDArray[np.int32]]] = {}

    def span(self, span: DocumentSpan) -> DocumentSpan:
        """Return the same characters by dense offsets."""
        if not self.has(span.document_id):
            return span
        before = self.of(span.document_id)[1]
        return DocumentSpan(span.document_id, int(before[span.start]), int(before[span.end]))

    def text(self, dense: DocumentSpan) -> str:
        """Return the text at dense offsets."""
        return self.of(dense.document_id)[0][dense.start : dense.end] if self.has(dense.document_id) else ""

    def has(self, document_id: str) -> bool:
        """Return True if the document has a text."""
        return document_id in self._texts or (self._parent is not None and self._parent.has(document_id))

    def of(self, document_id: str) -> tuple[str, NDArray[np.int32]]:
        """Return a document without white space, and for each offset the number of such characters before it."""
        if self._parent and document_id not in self._texts:
            return self._parent.of(document_id)
        if document_id not in self._made:
            text = self._texts[document_id]
            # surrogatepass: a lone surrogate is a character, too.
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
            before = np.zeros(len(text) + 1, dtype=np.int32)
            np.cumsum(~np.isin(codes, _blanks()), out=before[1:])
            self._made[document_id] = without_blanks(text), before
        return self._made[document_id]


def without_blanks(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())


def union(spans: Iterable[DocumentSpan]) -> list[DocumentSpan]:
    """Return the same characters as ascending spans that don't touch."""
    merged: list[DocumentSpan] = []
    for span in sorted(spans):
        if merged and merged[-1].document_id == span.document_id and span.start <= merged[-1].end:
            merged[-1] = DocumentSpan(span.document_id, merged[-1].start, max(merged[-1].end, span.end))
        elif span.start < span.end:
            merged.append(span)
    return merged


def overlap(some: Iterable[DocumentSpan], others: Iterable[DocumentSpan]) -> list[DocumentSpan]:
    """Return the characters in both. Each argument is ascending and without overlaps."""
    by_document: dict[str, list[DocumentSpan]] = {}
    for span in others:
        by_document.setdefault(span.document_id, []).append(span)
    both = (
        DocumentSpan(one.document_id, max(one.start, other.start), min(one.end, other.end))
        for one in some
        for other in by_document.get(one.document_id, ())
    )
    return [span for span in both if span.start < span.end]


def size(spans: Iterable[DocumentSpan]) -> int:
    """Return the number of characters of all `spans`."""
    return sum(span.end - span.start for span in spans)


@cache
def _blanks() -> NDArray[np.uint32]:
    return np.array([code for code in range(sys.maxunicode + 1) if chr(code).isspace()], dtype=np.uint32)
