"""The share of a context's stretches that begin and end at the borders of sentences and lines.

A stretch is text that is continuous in its source, white space aside. It is clean if

- it begins at the beginning of a sentence or line of its document, and ends at the end of one;
- the head of its first line is in the context: the first row of a table for one of its rows, the introduction of a list
  ("The following:") for one of its items;
- it doesn't end with an introduction whose list is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.evaluate.meter import DocumentSpan
from ctxassembly.text.sentences import sentence_spans

_ROW = re.compile(r"[ \t]*\|")
_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣▪◦–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s")
_INTRODUCTION = re.compile(r":[*_]*\s*\Z")


class _Structure(NamedTuple):
    """The sentences and lines of a document, without the white space around them."""

    begins: Sequence[int]
    ends: Sequence[int]
    heads: Sequence[int]
    """The index of the sentence that each needs: of a row its table's first row; its own if it needs none."""
    items: Mapping[int, Sequence[int]]
    """The indexes of the items of the list that a sentence introduces, by the index of the sentence."""


class Borders:
    """The sentences and lines of all documents, each document split once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._made: dict[str, _Structure] = {}

    def clean_share(self, runs: Iterable[DocumentSpan]) -> float | None:
        """Return the share of the stretches of `runs` that are clean; None if there are none."""
        stretches = list(self._stretches(runs))
        covered: dict[str, list[DocumentSpan]] = {}
        for stretch in stretches:
            covered.setdefault(stretch.document_id, []).append(stretch)
        clean = [self._is_clean(stretch, covered[stretch.document_id]) for stretch in stretches]
        return sum(clean) / len(clean) if clean else None

    def _stretches(self, runs: Iterable[DocumentSpan]) -> Iterator[DocumentSpan]:
        """Yield the stretches of `runs`, without the white space around them."""
        last: DocumentSpan | None = None
        for run in runs:
            text = self._texts[run.document_id]
            piece = text[run.start : run.end]
            if not piece.strip():
                continue
            start, end = run.end - len(piece.lstrip()), run.start + len(piece.rstrip())
            if (
                last
                and last.document_id == run.document_id
                and not text[last.end : start].strip()
                and start >= last.end
            ):
                last = DocumentSpan(run.document_id, last.start, end)
                continue
            if last:
                yield last
            last = DocumentSpan(run.document_id, start, end)
        if last:
            yield last

    def _is_clean(self, stretch: DocumentSpan, covered: Sequence[DocumentSpan]) -> bool:
        structure = self._of(stretch.document_id)
        first = bisect_right(structure.begins, stretch.start) - 1
        last = bisect_left(structure.ends, stretch.end)
        if (
            structure.begins[first] != stretch.start
            or last == len(structure.ends)
            or structure.ends[last] != stretch.end
        ):
            return False
        head = structure.begins[structure.heads[first]]
        if not any(other.start <= head < other.end for other in covered):
            return False
        items = [structure.begins[item] for item in structure.items.get(last, ())]
        return not items or any(other.start <= item < other.end for other in covered for item in items)

    def _of(self, document_id: str) -> _Structure:
        if document_id not in self._made:
            self._made[document_id] = _structure(self._texts[document_id])
        return self._made[document_id]


def _structure(text: str) -> _Structure:
    spans = [
        (end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip()))
        for start, end in sentence_spans(text)
        if text[start:end].strip()
    ]
    sentences = [text[start:end] for start, end in spans]
    begins_line = [not start or "\n" in text[before:start] for (_, before), (start, _) in pairwise([(0, 0), *spans])]
    heads: list[int] = []
    items: dict[int, list[int]] = {}
    is_item = [
        begins and _ITEM.match(f"{own} ") is not None for begins, own in zip(begins_line, sentences, strict=True)
    ]
    table = introduction = item = -1
    for at, (sentence, (start, _)) in enumerate(zip(sentences, spans, strict=True)):
        is_row = begins_line[at] and _ROW.match(sentence) is not None
        table = (table if table >= 0 else at) if is_row else -1
        is_indented = begins_line[at] and text[start - 1 : start] not in ("", "\n")
        if begins_line[at] and not is_item[at] and not is_indented:
            introduction = item = -1
        if is_row:
            heads.append(table)
        elif is_item[at]:
            heads.append(introduction if introduction >= 0 else at)
            item = at
        else:
            heads.append(item if is_indented and item >= 0 else at)
        if is_item[at + 1 : at + 2] == [True] and not is_item[at] and _INTRODUCTION.search(sentence):
            introduction = at
        if is_item[at] and introduction >= 0:
            items.setdefault(introduction, []).append(at)
    return _Structure([start for start, _ in spans], [end for _, end in spans], heads, items)
