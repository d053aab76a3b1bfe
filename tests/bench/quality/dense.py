"""Texts without their white space: evidence is counted in the characters that say something.

A dense offset counts only such characters. Two spans with nothing but white space between them touch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from quality.data import Document, Span


class Dense:
    """The documents of a set, without white space. What is asked for is made once."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._made: dict[str, tuple[str, NDArray[np.int32]]] = {}

    def span(self, span: Span) -> Span:
        """The same characters by dense offsets."""
        before = self._of(span.document_id)[1]
        return Span(span.document_id, int(before[span.start]), int(before[span.end]))

    def text(self, dense: Span) -> str:
        """What stands at dense offsets."""
        return self._of(dense.document_id)[0][dense.start : dense.end]

    def _of(self, document_id: str) -> tuple[str, NDArray[np.int32]]:
        if document_id not in self._made:
            text = self._documents[document_id].text
            # surrogatepass: a lone surrogate is a character, too.
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
            before = np.zeros(len(text) + 1, dtype=np.int32)
            np.cumsum(~np.isin(codes, _blanks()), out=before[1:])
            self._made[document_id] = without_blanks(text), before
        return self._made[document_id]


def without_blanks(text: str) -> str:
    return "".join(text.split())


def union(spans: Iterable[Span]) -> list[Span]:
    """The same characters as spans that are ascending and apart."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and merged[-1].document_id == span.document_id and span.start <= merged[-1].end:
            merged[-1] = Span(span.document_id, merged[-1].start, max(merged[-1].end, span.end))
        elif span.start < span.end:
            merged.append(span)
    return merged


def overlap(some: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """The characters in both; each side ascending and apart."""
    by_document: dict[str, list[Span]] = {}
    for span in others:
        by_document.setdefault(span.document_id, []).append(span)
    both = (
        Span(one.document_id, max(one.start, other.start), min(one.end, other.end))
        for one in some
        for other in by_document.get(one.document_id, ())
    )
    return [span for span in both if span.start < span.end]


def size(spans: Iterable[Span]) -> int:
    """How many characters they have together."""
    return sum(span.end - span.start for span in spans)


@cache
def _blanks() -> NDArray[np.uint32]:
    return np.array([code for code in range(sys.maxunicode + 1) if chr(code).isspace()], dtype=np.uint32)
