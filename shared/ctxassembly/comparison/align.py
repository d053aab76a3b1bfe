"""The sentences of several contexts, document by document, with equal ones side by side, and why others are missing.

Sentences are equal if their words are. difflib aligns them, one context after the other: each is matched with the
merged sequence of the contexts before it. A sentence is shown in its place, or as included elsewhere in the same
document; no sentence that a context has is called missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import NamedTuple

from ctxassembly.data.candidates import GAP
from ctxassembly.data.citations import ContextData, Passage
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import join_first
from ctxassembly.text.sentences import sentence_spans
from ctxassembly.views.evidence import EvidenceMarks, Mark, passage_marks, piece_offsets

ColumnIndexes = tuple[int | None, ...]
"""For each context the index of a sentence in it, None if it has none in this row."""


class ContextSentence(NamedTuple):
    """A sentence of a context."""

    normalized: str
    """Its text with single blanks, by which it is compared."""
    text: str
    """Its text with the white space after it, and with the marker of a gap before it, if there is one."""
    chunk_id: str
    """The chunk in which it begins."""
    evidence: tuple[Mark, ...] = ()
    """The evidence to mark in `text`."""


class SentenceRow(NamedTuple):
    """Sentences side by side: for each context those in this row, maybe none."""

    cells: tuple[tuple[ContextSentence, ...], ...]
    is_shared: bool
    """True if all contexts have these sentences."""


class AlignedDocument(NamedTuple):
    """The rows of one document, and for each context its normalized sentences."""

    document_id: str
    rows: tuple[SentenceRow, ...]
    sentences: tuple[frozenset[str], ...]


def align_documents(contexts: Sequence[ContextData], marks: Sequence[EvidenceMarks] = ()) -> Iterator[AlignedDocument]:
    """Yield the documents of `contexts` in the order in which they first appear, with their sentences side by side.

    `marks` has the evidence in each context.
    """
    sentences_by_context = [*map(sentences_by_document, contexts, marks or [EvidenceMarks()] * len(contexts))]
    for document_id in dict.fromkeys(document_id for found in sentences_by_context for document_id in found):
        columns = [found.get(document_id, ()) for found in sentences_by_context]
        sentences = tuple(frozenset(one.normalized for one in column) for column in columns)
        yield AlignedDocument(document_id, tuple(_sentence_rows(columns)), sentences)


def sentences_by_document(context: ContextData, marks: EvidenceMarks | None = None) -> dict[str, list[ContextSentence]]:
    """Return the sentences of each document in reading order."""
    found: dict[str, list[ContextSentence]] = {}
    for passage in context.passages:
        found.setdefault(passage.document_id, []).extend(passage_sentences(passage, marks))
    return found


def passage_sentences(passage: Passage, marks: EvidenceMarks | None = None) -> Iterator[ContextSentence]:
    """Yield the sentences of `passage`; together they are its text. None contains a gap."""
    text, pieces = passage.text, list(piece_offsets(passage))
    starts = [at for at, _ in pieces]
    evidence = passage_marks(passage, marks) if marks else []
    # A run of pieces without a gap between them begins after a separator, which goes to its first sentence.
    runs = [(at - len(piece.separator), at) for at, piece in pieces if at == starts[0] or GAP in piece.separator]
    for (separator_at, begin), (end, _) in pairwise((*runs, (len(text), len(text)))):
        for start, stop in sentence_spans(text[begin:end]):
            first, last = begin + start if start else separator_at, begin + stop
            _, piece = pieces[bisect_right(starts, begin + start) - 1]
            shifted = tuple(
                ((max(span[0], first) - first, min(span[1], last) - first), numbers)
                for span, numbers in evidence
                if span[0] < last and first < span[1]
            )
            normalized = " ".join(text[begin + start : last].split())
            yield ContextSentence(normalized, text[first:last], piece.candidate.chunk.id, shifted)


def joined_marks(sentences: Sequence[ContextSentence]) -> list[Mark]:
    """Return the evidence to mark in the joined text of `sentences`."""
    shifted: list[Mark] = []
    at = 0
    for one in sentences:
        shifted += (((start + at, end + at), numbers) for (start, end), numbers in one.evidence)
        at += len(one.text)
    return shifted


def align_columns(columns: Sequence[Sequence[str]]) -> list[ColumnIndexes]:
    """Return all entries of `columns`, equal ones in one row, each column in its own order.

    >>> align_columns(["abd", "acd"])
    [(0, 0), (1, None), (None, 1), (2, 2)]
    """
    rows: list[ColumnIndexes] = [(index,) for index in range(len(columns[0]))]
    merged_words = list(columns[0])
    for before, column in enumerate(columns[1:], 1):
        merged: list[ColumnIndexes] = []
        words: list[str] = []
        for how, first, last, begin, end in SequenceMatcher(None, merged_words, column).get_opcodes():
            if how == "equal":
                merged += ((*row, index) for row, index in zip(rows[first:last], range(begin, end), strict=True))
            else:
                merged += ((*row, None) for row in rows[first:last])
                merged += ((None,) * before + (index,) for index in range(begin, end))
            words += merged_words[first:last]
            words += () if how == "equal" else column[begin:end]
        rows, merged_words = merged, words
    return rows


def _sentence_rows(columns: Sequence[Sequence[ContextSentence]]) -> Iterator[SentenceRow]:
    """Yield runs of rows that the same contexts have; two runs that no context shares are put side by side."""
    cells: list[tuple[ContextSentence, ...]] = [()] * len(columns)
    rows = align_columns([[one.normalized for one in column] for column in columns])
    for has_sentence, run in groupby(rows, key=lambda row: tuple(index is not None for index in row)):
        found = list(zip(*run, strict=True))
        shares_column = any(cell and has for cell, has in zip(cells, has_sentence, strict=True))
        if any(cells) and (shares_column or all(has_sentence)):
            yield SentenceRow(tuple(cells), is_shared=False)
            cells = [()] * len(columns)
        for column, indexes in enumerate(found):
            if has_sentence[column]:
                cells[column] = tuple(columns[column][index] for index in indexes if index is not None)
        if all(has_sentence):
            yield SentenceRow(tuple(cells), is_shared=True)
            cells = [()] * len(columns)
    if any(cells):
        yield SentenceRow(tuple(cells), is_shared=False)


SHORTENING_REASONS: Mapping[str, str] = {
    "budget": "cut to the budget",
    "max_chunk_tokens": "cut to max_chunk_tokens",
    "sentence": "other sentences of its chunk were selected",
    "extractive": "compressed",
    "llm": "compressed by a model",
    "repeated": "a better-ranked passage has it",
    "already sent": "the conversation has it",
}
_MAX_REASONS = 2
"""Most reasons in a cell."""


def decisions_by_chunk(context: ContextData) -> dict[str, Decision]:
    """Return the decision on each chunk by its id: the one that includes it, else the best-ranked."""
    first: dict[str, Decision] = {}
    for decision in context.trace.decisions:
        if decision.chunk_id not in first or decision.is_in_context:
            first[decision.chunk_id] = decision
    return first


def explain_absence(
    missing: Sequence[ContextSentence], present: frozenset[str], decisions: Mapping[str, Decision]
) -> str:
    """Return the reason why a row of a context has no `missing`, if the document there has the sentences `present`.

    >>> explain_absence([ContextSentence("Drink water.", "Drink water.", "a#0")], frozenset(), {})
    'not here: not fetched'
    """
    chunks = dict.fromkeys(one.chunk_id for one in missing if one.normalized not in present)
    if not chunks:
        return "elsewhere in this document"
    reasons = list(dict.fromkeys(_absence_reason(decisions.get(chunk_id)) for chunk_id in chunks))
    return f"not here: {join_first(reasons, _MAX_REASONS, 'reasons')}"


def _absence_reason(decision: Decision | None) -> str:
    if decision is None:
        return "not fetched"
    if decision.outcome in ("cut", "compressed"):
        return SHORTENING_REASONS.get(decision.reason, decision.reason)
    return "left out of its chunk" if decision.is_in_context else decision.reason
