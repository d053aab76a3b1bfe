"""The sentences of several contexts, document by document, with equal ones beside each other.

Sentences are equal if their words are. They are put beside each other by difflib, one context after the other: each is
matched with the sequence of all sentences before it. So a sentence is found in its place, or is said to stand elsewhere
in the same document; never is one called missing that stands in a context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from ctxassembly.data.candidates import GAP, TextPiece
from ctxassembly.data.citations import ContextData, Passage
from ctxassembly.text.sentences import sentence_spans
from ctxassembly.views.evidence import EvidenceMarks, Mark, passage_marks

ColumnIndexes = tuple[int | None, ...]
"""For each context the place of a sentence in it, None where it isn't in line."""


class ContextSentence(NamedTuple):
    """A sentence of a context."""

    normalized: str
    """Its text with each white space as one blank, by which it is compared."""
    text: str
    """As it stands, with the white space behind it, and before it the mark of a gap, if there is one."""
    chunk_id: str
    """The chunk in which it begins."""
    evidence: tuple[Mark, ...] = ()
    """The marks in `text`, which count in it."""


class SentenceRow(NamedTuple):
    """Sentences side by side: for each context those that stand there, maybe none."""

    cells: tuple[tuple[ContextSentence, ...], ...]
    is_shared: bool
    """True if all contexts have these sentences."""


class AlignedDocument(NamedTuple):
    """The bands of one document, and for each context the words of all of its sentences."""

    document_id: str
    rows: tuple[SentenceRow, ...]
    sentences: tuple[frozenset[str], ...]


def align_documents(contexts: Sequence[ContextData], marks: Sequence[EvidenceMarks] = ()) -> Iterator[AlignedDocument]:
    """The documents of `contexts` in the order in which they first stand, with their sentences side by side.

    `marks` has the evidence in each context.
    """
    marks_by_context = marks or [EvidenceMarks()] * len(contexts)
    sentences_by_context = [
        sentences_by_document(context, own) for context, own in zip(contexts, marks_by_context, strict=True)
    ]
    for document_id in dict.fromkeys(document_id for found in sentences_by_context for document_id in found):
        columns = [found.get(document_id, ()) for found in sentences_by_context]
        yield AlignedDocument(
            document_id,
            tuple(_sentence_rows(columns)),
            tuple(frozenset(one.normalized for one in col) for col in columns),
        )


def sentences_by_document(context: ContextData, marks: EvidenceMarks | None = None) -> dict[str, list[ContextSentence]]:
    """The sentences of each document in reading order."""
    found: dict[str, list[ContextSentence]] = {}
    for passage in context.passages:
        found.setdefault(passage.document_id, []).extend(passage_sentences(passage, marks))
    return found


def passage_sentences(passage: Passage, marks: EvidenceMarks | None = None) -> Iterator[ContextSentence]:
    """The sentences of `passage`; together they are its text. None runs over a gap."""
    spans = passage_marks(passage, marks) if marks else []
    at = 0
    for one in _iter_sentences(passage):
        end = at + len(one.text)
        shifted = tuple(
            ((max(start, at) - at, min(stop, end) - at), numbers)
            for (start, stop), numbers in spans
            if start < end and at < stop
        )
        yield one._replace(evidence=shifted) if shifted else one
        at = end


def _iter_sentences(passage: Passage) -> Iterator[ContextSentence]:
    run: list[TextPiece] = []
    for piece in passage.pieces:
        if run and GAP in piece.separator:
            yield from _split_run(run)
            run = []
        run.append(piece)
    yield from _split_run(run)


def _split_run(run: Sequence[TextPiece]) -> Iterator[ContextSentence]:
    """The sentences of pieces without a gap between them; the glue before the first stands before its sentence."""
    piece_ends, texts, at = [], [], 0
    for piece_index, piece in enumerate(run):
        texts.append((piece.separator if piece_index else "") + piece.text)
        at += len(texts[-1])
        piece_ends.append((at, piece.candidate.chunk.id))
    text, piece_at = "".join(texts), 0
    for start, end in sentence_spans(text):
        while piece_at + 1 < len(piece_ends) and piece_ends[piece_at][0] <= start:
            piece_at += 1
        glue = run[0].separator if start == 0 else ""
        yield ContextSentence(" ".join(text[start:end].split()), glue + text[start:end], piece_ends[piece_at][1])


def joined_marks(sentences: Sequence[ContextSentence]) -> list[Mark]:
    """The marks in the text of `passage_sentences`."""
    shifted: list[Mark] = []
    at = 0
    for one in sentences:
        shifted += (((start + at, end + at), numbers) for (start, end), numbers in one.evidence)
        at += len(one.text)
    return shifted


def align_columns(columns: Sequence[Sequence[str]]) -> list[ColumnIndexes]:
    """All entries of `columns`, equal ones in one row, each column in its own order.

    >>> align_columns(["abd", "acd"])
    [(0, 0), (1, None), (None, 1), (2, 2)]
    """
    rows: list[ColumnIndexes] = [(place,) for place in range(len(columns[0]))]
    merged_words = list(columns[0])
    for before, column in enumerate(columns[1:], 1):
        merged: list[ColumnIndexes] = []
        words: list[str] = []
        for how, first, last, begin, end in SequenceMatcher(None, merged_words, column).get_opcodes():
            if how == "equal":
                merged += ((*row, place) for row, place in zip(rows[first:last], range(begin, end), strict=True))
            else:
                merged += ((*row, None) for row in rows[first:last])
                merged += ((None,) * before + (place,) for place in range(begin, end))
            words += merged_words[first:last]
            words += () if how == "equal" else column[begin:end]
        rows, merged_words = merged, words
    return rows


def _sentence_rows(columns: Sequence[Sequence[ContextSentence]]) -> Iterator[SentenceRow]:
    """Runs of rows that the same contexts have; what no context shares with the run before it stands beside that."""
    cells: list[tuple[ContextSentence, ...]] = [()] * len(columns)
    rows = align_columns([[one.normalized for one in column] for column in columns])
    for has_sentence, run in groupby(rows, key=lambda row: tuple(place is not None for place in row)):
        found = list(zip(*run, strict=True))
        if any(cells) and (
            all(has_sentence) or any(cell and has for cell, has in zip(cells, has_sentence, strict=True))
        ):
            yield SentenceRow(tuple(cells), is_shared=False)
            cells = [()] * len(columns)
        for at, places in enumerate(found):
            if has_sentence[at]:
                cells[at] = tuple(columns[at][place] for place in places if place is not None)
        if all(has_sentence):
            yield SentenceRow(tuple(cells), is_shared=True)
            cells = [()] * len(columns)
    if any(cells):
        yield SentenceRow(tuple(cells), is_shared=False)
