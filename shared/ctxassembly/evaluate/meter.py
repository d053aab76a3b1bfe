"""The share of the evidence that a context has, and the form of the text around it.

Evidence counts by its place (document, start, end), or because the context has the same words from another place:
corpora repeat themselves, and a reader doesn't care which copy it reads. For the latter, evidence is compared by
sentence. Short sentences count by their place alone, since "Yes." is everywhere.

Evidence is counted in the characters that say something: a dense offset doesn't count white space. Two spans with
nothing but white space between them touch.

A stretch is text that is continuous in its source, white space aside. Its borders are clean if

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

import numpy as np
from numpy.typing import NDArray

from ctxassembly.text.sentences import sentence_ends, sentence_spans

_STRAIGHT = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')


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
            before = np.zeros(len(text) + 1, dtype=np.int32)
            np.cumsum(~np.fromiter(map(str.isspace, text), bool, len(text)), out=before[1:])
            self._made[document_id] = without_blanks(text), before
        return self._made[document_id]


def without_blanks(text: str) -> str:
    """Return `text` without white space."""
    return "".join(text.split())


def comparable(text: str) -> str:
    """Return `text` as quotations are compared: without white space, in lower case, with straight quotation marks.

    Each character has the place that it has in `without_blanks(text)`.

    >>> comparable("\u201cDRINK water\u201d")
    '"drinkwater"'
    """
    text = without_blanks(text).translate(_STRAIGHT)
    return lowered if len(lowered := text.lower()) == len(text) else text


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


LEAST_ELSEWHERE = 20
"""Characters from which a sentence of the evidence counts from another place."""
BOUNDARY = "\0"
"""Between two runs: nothing is found across it."""


class Meter:
    """Measures contexts over documents. A context is given by its runs: the source characters that it has, in order."""

    def __init__(self, texts: Mapping[str, str], parent: Meter | None = None) -> None:
        """`texts` are the documents by id; `parent` has those that `texts` hasn't."""
        self._texts, self._parent = texts, parent
        self.dense: Dense = Dense(texts, parent.dense if parent else None)

    def text(self, span: DocumentSpan) -> str:
        """Return the text of `span`; empty for a document without a text."""
        if self._parent and span.document_id not in self._texts:
            return self._parent.text(span)
        return self._texts.get(span.document_id, "")[span.start : span.end]

    def recall(self, evidence: Sequence[DocumentSpan], runs: Sequence[DocumentSpan], least: int | None = None) -> float:
        """Return the share of the characters of `evidence` that `runs` have, without white space.

        Sentences of at least `least` characters count from another place, too; None means `LEAST_ELSEWHERE`.
        """
        found = self.found(evidence, [self.dense.span(run) for run in runs], least)
        return size(found) / size(self._evidence(evidence))

    def duplicates(self, runs: Sequence[DocumentSpan]) -> float:
        """Return the share of the characters of `runs` that an earlier run has."""
        dense = [self.dense.span(run) for run in runs]
        return 1 - size(union(dense)) / size(dense) if size(dense) else 0.0

    def stretch_length(self, runs: Sequence[DocumentSpan]) -> float | None:
        """Return the mean characters of a stretch, runs that continue each other; None if there are no runs."""
        lengths: list[int] = []
        last: DocumentSpan | None = None
        for run, dense in zip(runs, map(self.dense.span, runs), strict=True):
            if last and (last.document_id, last.end) == (dense.document_id, dense.start):
                lengths[-1] += run.end - run.start
            else:
                lengths.append(run.end - run.start)
            last = dense
        return sum(lengths) / len(lengths) if lengths else None

    def evidence_end(
        self,
        evidence: Sequence[DocumentSpan],
        runs: Sequence[DocumentSpan],
        text: str,
        least: int | None = None,
    ) -> int | None:
        """Return the number of characters of `text` up to the end of the last evidence; None if some is missing."""
        total = size(self.found(evidence, [self.dense.span(run) for run in runs], least))
        if total < size(self._evidence(evidence)):
            return None

        def has_all(chars: int) -> bool:
            return size(self.found(evidence, [self.dense.span(run) for run in _first(runs, chars)], least)) == total

        length = sum(run.end - run.start for run in runs)
        read = _first(runs, bisect_left(range(length + 1), True, key=has_all))
        end = 0
        for run in read:
            piece = self.text(run).strip()
            at = text.find(piece, end)
            end = max(end, (text.find(piece) if at < 0 else at) + len(piece))
        return end

    def found(
        self, evidence: Sequence[DocumentSpan], runs: Sequence[DocumentSpan], least: int | None = None
    ) -> list[DocumentSpan]:
        """Return the evidence that the dense `runs` have: dense, ascending spans that don't touch."""
        wanted = self._evidence(evidence)
        found = overlap(wanted, union(runs))
        if size(found) == size(wanted):
            return found
        text = BOUNDARY.join(self.dense.text(run) for run in _joined(runs))
        elsewhere = [
            sentence
            for sentence in self.sentences(evidence, least)
            if size(overlap([sentence], found)) < sentence.end - sentence.start and self.dense.text(sentence) in text
        ]
        return union((*found, *elsewhere))

    def sentences(self, evidence: Sequence[DocumentSpan], least: int | None = None) -> list[DocumentSpan]:
        """Return the sentences of `evidence` that count from another place, too; dense."""
        found = []
        for span in evidence:
            text = self.text(span)
            edges = (0, *sentence_ends(text), len(text))
            found += [
                self.dense.span(DocumentSpan(span.document_id, span.start + first, span.start + last))
                for first, last in pairwise(edges)
            ]
        least = LEAST_ELSEWHERE if least is None else least
        return [sentence for sentence in found if sentence.end - sentence.start >= least]

    def _evidence(self, evidence: Sequence[DocumentSpan]) -> list[DocumentSpan]:
        return union(self.dense.span(span) for span in evidence)


def _first(runs: Sequence[DocumentSpan], chars: int) -> list[DocumentSpan]:
    """Return the first `chars` characters of `runs`."""
    found: list[DocumentSpan] = []
    for run in runs:
        if chars <= 0:
            break
        found.append(run._replace(end=min(run.end, run.start + chars)))
        chars -= run.end - run.start
    return found


def _joined(runs: Sequence[DocumentSpan]) -> list[DocumentSpan]:
    """Return dense runs with those put together that continue each other."""
    joined: list[DocumentSpan] = []
    for run in runs:
        if joined and joined[-1].document_id == run.document_id and joined[-1].end == run.start:
            joined[-1] = DocumentSpan(run.document_id, joined[-1].start, run.end)
        else:
            joined.append(run)
    return joined


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
            is_after = last and last.document_id == run.document_id and last.end <= start
            if last and is_after and not text[last.end : start].strip():
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
        if structure.begins[first] != stretch.start or [*structure.ends[last : last + 1]] != [stretch.end]:
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
    is_item = [begins and bool(_ITEM.match(f"{own} ")) for begins, own in zip(begins_line, sentences, strict=True)]
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
