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

from ctxassembly.data.candidates import GAP, Piece
from ctxassembly.data.citations import Assembled, Passage
from ctxassembly.text.sentences import tiles
from ctxassembly.views.evidence import Mark, Marks, in_passage

Places = tuple[int | None, ...]
"""For each context the place of a sentence in it, None where it isn't in line."""


class Sentence(NamedTuple):
    """A sentence of a context."""

    words: str
    """Its text with each white space as one blank, by which it is compared."""
    text: str
    """As it stands, with the white space behind it, and before it the mark of a gap, if there is one."""
    chunk_id: str
    """The chunk in which it begins."""
    evidence: tuple[Mark, ...] = ()
    """The marks in `text`, which count in it."""


class Band(NamedTuple):
    """Sentences side by side: for each context those that stand there, maybe none."""

    cells: tuple[tuple[Sentence, ...], ...]
    same: bool
    """True if all contexts have these sentences."""


class Row(NamedTuple):
    """The bands of one document, and for each context the words of all of its sentences."""

    document_id: str
    bands: tuple[Band, ...]
    known: tuple[frozenset[str], ...]


def side_by_side(contexts: Sequence[Assembled], marks: Sequence[Marks] = ()) -> Iterator[Row]:
    """The documents of `contexts` in the order in which they first stand, with their sentences side by side.

    `marks` has the evidence in each context.
    """
    known = marks or [Marks()] * len(contexts)
    read = [sentences_by_document(context, own) for context, own in zip(contexts, known, strict=True)]
    for document_id in dict.fromkeys(document_id for found in read for document_id in found):
        columns = [found.get(document_id, ()) for found in read]
        yield Row(document_id, tuple(_bands(columns)), tuple(frozenset(one.words for one in col) for col in columns))


def sentences_by_document(context: Assembled, marks: Marks | None = None) -> dict[str, list[Sentence]]:
    """The sentences of each document in reading order."""
    found: dict[str, list[Sentence]] = {}
    for passage in context.passages:
        found.setdefault(passage.document_id, []).extend(sentences(passage, marks))
    return found


def sentences(passage: Passage, marks: Marks | None = None) -> Iterator[Sentence]:
    """The sentences of `passage`; together they are its text. None runs over a gap."""
    spans = in_passage(passage, marks) if marks else []
    at = 0
    for one in _sentences(passage):
        end = at + len(one.text)
        found = tuple(
            ((max(start, at) - at, min(stop, end) - at), numbers)
            for (start, stop), numbers in spans
            if start < end and at < stop
        )
        yield one._replace(evidence=found) if found else one
        at = end


def _sentences(passage: Passage) -> Iterator[Sentence]:
    run: list[Piece] = []
    for piece in passage.pieces:
        if run and GAP in piece.glue:
            yield from _of_run(run)
            run = []
        run.append(piece)
    yield from _of_run(run)


def _of_run(run: Sequence[Piece]) -> Iterator[Sentence]:
    """The sentences of pieces without a gap between them; the glue before the first stands before its sentence."""
    edges, texts, at = [], [], 0
    for nth, piece in enumerate(run):
        texts.append((piece.glue if nth else "") + piece.text)
        at += len(texts[-1])
        edges.append((at, piece.candidate.chunk.id))
    text, place = "".join(texts), 0
    for start, end in tiles(text):
        while place + 1 < len(edges) and edges[place][0] <= start:
            place += 1
        glue = run[0].glue if start == 0 else ""
        yield Sentence(" ".join(text[start:end].split()), glue + text[start:end], edges[place][1])


def evidence_of(run: Sequence[Sentence]) -> list[Mark]:
    """The marks in the text of `run`."""
    found: list[Mark] = []
    at = 0
    for one in run:
        found += (((start + at, end + at), numbers) for (start, end), numbers in one.evidence)
        at += len(one.text)
    return found


def aligned(columns: Sequence[Sequence[str]]) -> list[Places]:
    """All entries of `columns`, equal ones in one row, each column in its own order.

    >>> aligned(["abd", "acd"])
    [(0, 0), (1, None), (None, 1), (2, 2)]
    """
    rows: list[Places] = [(place,) for place in range(len(columns[0]))]
    seen = list(columns[0])
    for before, column in enumerate(columns[1:], 1):
        merged: list[Places] = []
        words: list[str] = []
        for how, first, last, begin, end in SequenceMatcher(None, seen, column).get_opcodes():
            if how == "equal":
                merged += ((*row, place) for row, place in zip(rows[first:last], range(begin, end), strict=True))
            else:
                merged += ((*row, None) for row in rows[first:last])
                merged += ((None,) * before + (place,) for place in range(begin, end))
            words += seen[first:last]
            words += () if how == "equal" else column[begin:end]
        rows, seen = merged, words
    return rows


def _bands(columns: Sequence[Sequence[Sentence]]) -> Iterator[Band]:
    """Runs of rows that the same contexts have; what no context shares with the run before it stands beside that."""
    cells: list[tuple[Sentence, ...]] = [()] * len(columns)
    rows = aligned([[one.words for one in column] for column in columns])
    for present, run in groupby(rows, key=lambda row: tuple(place is not None for place in row)):
        found = list(zip(*run, strict=True))
        if any(cells) and (all(present) or any(cell and has for cell, has in zip(cells, present, strict=True))):
            yield Band(tuple(cells), same=False)
            cells = [()] * len(columns)
        for at, places in enumerate(found):
            if present[at]:
                cells[at] = tuple(columns[at][place] for place in places if place is not None)
        if all(present):
            yield Band(tuple(cells), same=True)
            cells = [()] * len(columns)
    if any(cells):
        yield Band(tuple(cells), same=False)
