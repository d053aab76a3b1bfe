"""The documents that evidence is marked in, and the place of evidence and of results in them.

A document that isn't in the corpus has no text: its offsets are compared as they are, white space included.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple

from ctxassembly.cached_property import cached_property
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import InputError
from ctxassembly.evaluate.meter import Borders, DocumentSpan, Meter, comparable, without_blanks
from ctxassembly.evaluate.questions import Evidence
from ctxassembly.evaluate.systems import Piece, read_chunk
from ctxassembly.safe_repr import safe_repr

MAX_GAP_CHARS = 1_000_000
"""Characters between two chunks from which a document isn't put together: an offset is wrong, or chunks are missing."""
_LOOSE = "\0"
"""The beginning of the id of a text without a place in a document."""


@dataclass(frozen=True)
class Corpus:
    """Documents and chunks by id; either may be empty."""

    texts: Mapping[str, str] = field(default_factory=dict)
    chunks: Mapping[str, Chunk] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Any) -> Corpus:
        """Return the corpus of a mapping from document ids to texts, of chunks, documents or nodes, or of nothing.

        Raises:
            InputError: `source` is something else.
        """
        if source is None or isinstance(source, Corpus):
            return source or cls()
        if isinstance(source, Mapping) and all(isinstance(text, str) for text in source.values()):
            return cls({str(document_id): text for document_id, text in source.items()})
        if isinstance(source, (str, Mapping)) or not isinstance(source, Iterable):
            allowed = "a dict of texts by document id, or a list of chunks"
            raise InputError(f"corpus must be {allowed}, got {safe_repr(source)}")
        chunks = [read_chunk(item) for item in source]
        slices = [(chunk.document_id, chunk.start, chunk.text) for chunk in chunks if type(chunk.start) is int]
        return cls(restored(slices), {chunk.id: chunk for chunk in chunks})

    @cached_property
    def without_text(self) -> set[str]:
        """The documents whose chunks have no offsets, or offsets that contradict each other."""
        return {chunk.document_id for chunk in self.chunks.values()} - self.texts.keys()

    @cached_property
    def comparable_text(self) -> Callable[[str], str]:
        """A function from a document's id to its text as quotations are compared with it, see `comparable`."""
        return cache(lambda document_id: comparable(self.meter.dense.of(document_id)[0]))

    @cached_property
    def find_quotation(self) -> Callable[[Evidence], DocumentSpan | None]:
        """A function from a quotation to its first place, see `_find_quotation`. Each is searched once."""
        return cache(partial(_find_quotation, corpus=self))

    @cached_property
    def meter(self) -> Meter:
        """The measures over the documents."""
        return Meter(self.texts)

    @cached_property
    def borders(self) -> Borders:
        """The borders of sentences and lines in the documents."""
        return Borders(self.texts)


def _blanks(length: int) -> str:
    """Return the white space that a splitter has stripped between two chunks: a blank, or an empty line."""
    return " " if length == 1 else "\n" * length


def restored(slices: Iterable[tuple[str, int, str]]) -> dict[str, str]:
    """Return the documents that `slices` (id, start, text) are from, with blanks where none has a character.

    A document whose slices contradict each other, as pages do that each count from 0, is left out.

    >>> restored([("a", 0, "Drink"), ("a", 6, "water."), ("b", 0, "x"), ("b", 0, "y")])
    {'a': 'Drink water.'}
    """
    texts = {}
    for document_id, parts in _by_document(slices).items():
        text = ""
        for start, part in sorted(parts):
            gap = max(start - len(text), 0)
            if gap > MAX_GAP_CHARS or text[start : start + len(part)] != part[: max(len(text) - start, 0)]:
                break
            text += _blanks(gap) + part[max(len(text) - start, 0) :]
        else:
            texts[document_id] = text
    return texts


def _by_document(slices: Iterable[tuple[str, int, str]]) -> dict[str, list[tuple[int, str]]]:
    documents: dict[str, list[tuple[int, str]]] = {}
    for document_id, start, text in slices:
        documents.setdefault(document_id, []).append((start, text))
    return documents


def _agree(parts: Iterable[tuple[int, str]]) -> bool:
    """Return True if slices (start, text) of a document don't contradict each other where they overlap."""
    begin, longest = 0, ""
    for start, part in sorted(parts):
        if longest[start - begin : start - begin + len(part)] != part[: max(begin + len(longest) - start, 0)]:
            return False
        if start + len(part) > begin + len(longest):
            begin, longest = start, part
    return True


class Located(NamedTuple):
    """The evidence of a question and the pieces of a result as spans of the documents of one meter."""

    meter: Meter
    evidence: list[DocumentSpan]
    runs: list[DocumentSpan]
    """The text of each piece, in reading order: in a document of the corpus, else a text of its own."""
    places: list[DocumentSpan]
    """The place of each piece: the same, or its offsets in a document that isn't in the corpus."""
    marks: list[DocumentSpan]
    """Runs and places, with a mark of each chunk and document where evidence is marked by their ids alone."""
    is_placed: bool
    """True if all runs are in documents of the corpus."""


def locate(evidence: Sequence[Evidence], pieces: Sequence[Piece], corpus: Corpus) -> Located:
    """Return `evidence` and `pieces` as spans."""
    texts: dict[str, str] = {}
    wanted = [_evidence_span(one, pieces, corpus, texts) for one in evidence]
    marked = {span.document_id for span in wanted if span.document_id.startswith(_LOOSE)}
    outside = [(one.document_id, one.start, one.text) for one in pieces if one.document_id and one.start is not None]
    unknown = _by_document(each for each in outside if each[0] not in corpus.texts)
    known_offsets = {document_id for document_id, parts in unknown.items() if _agree(parts)}
    runs: list[DocumentSpan] = []
    places: list[DocumentSpan] = []
    marks: list[DocumentSpan] = []
    for piece in pieces:
        run = place = _corpus_span(piece, corpus) or _loose(f"{_LOOSE}text {piece.text}", piece.text, texts)
        if piece.document_id in known_offsets and piece.start is not None:
            place = DocumentSpan(piece.document_id, piece.start, piece.start + len(piece.text))
        runs.append(run)
        places.append(place)
        marks += dict.fromkeys((run, place, *_id_marks(piece, marked, texts)))  # each place once
    is_placed = all(run.document_id in corpus.texts for run in runs)
    return Located(Meter(texts, corpus.meter), wanted, runs, places, marks, is_placed)


def _id_marks(piece: Piece, marked: Container[str], texts: Mapping[str, str]) -> Iterator[DocumentSpan]:
    """Yield the part of a chunk or a document, marked by its id, that `piece` is."""
    chunk, document = f"{_LOOSE}chunk {piece.chunk_id}", f"{_LOOSE}document {piece.document_id}"
    if document in marked:
        yield DocumentSpan(document, 0, 1)
    if chunk in marked and chunk not in texts:
        yield DocumentSpan(chunk, 0, 1)
    elif chunk in marked and piece.chunk_start is not None:
        yield DocumentSpan(chunk, piece.chunk_start, min(piece.chunk_start + len(piece.text), len(texts[chunk])))


def _corpus_span(piece: Piece, corpus: Corpus) -> DocumentSpan | None:
    """Return the place of a piece in the corpus: by its own offset, by its chunk's, by its words."""
    chunk = corpus.chunks.get(piece.chunk_id or "")
    document_id = piece.document_id or (chunk.document_id if chunk else None)
    if document_id is not None and document_id in corpus.texts:
        text = corpus.texts[document_id]
        starts = [piece.start]
        if chunk and type(chunk.start) is int and piece.chunk_start is not None:
            starts.append(chunk.start + piece.chunk_start)
        known = (at for at in starts if at is not None and at >= 0 and text.startswith(piece.text, at))
        at = next(known, -1)
        if at >= 0 or (at := text.find(piece.text)) >= 0:
            return DocumentSpan(document_id, at, at + len(piece.text))
    elif document_id is None:
        for other, text in corpus.texts.items():
            if (at := text.find(piece.text)) >= 0:
                return DocumentSpan(other, at, at + len(piece.text))
    return None


def _evidence_span(evidence: Evidence, pieces: Sequence[Piece], corpus: Corpus, texts: dict[str, str]) -> DocumentSpan:
    """Return the place of a piece of evidence; if it has none, its words or its id as a text of its own."""
    if evidence.document_id is not None and evidence.start is not None and evidence.end is not None:
        length = len(corpus.texts.get(evidence.document_id, ())) or evidence.end
        return DocumentSpan(evidence.document_id, evidence.start, min(evidence.end, length))
    if evidence.quotation is not None:
        if found := corpus.find_quotation(evidence):
            return found
        quotation = _as_written(evidence.quotation, pieces)
        return _loose(f"{_LOOSE}text {quotation}", quotation, texts)
    if evidence.chunk_id is not None:
        chunk = corpus.chunks.get(evidence.chunk_id)
        name = f"{_LOOSE}chunk {evidence.chunk_id}"
        if chunk is None or not chunk.text.strip():
            return DocumentSpan(name, 0, 1)
        own = Piece(chunk.text, chunk.document_id, chunk.start, chunk.id, 0)
        return _corpus_span(own, corpus) or _loose(name, chunk.text, texts)
    return DocumentSpan(f"{_LOOSE}document {evidence.document_id}", 0, 1)


def _loose(name: str, text: str, texts: dict[str, str]) -> DocumentSpan:
    texts[name] = text
    return DocumentSpan(name, 0, len(text))


def _find_quotation(evidence: Evidence, corpus: Corpus) -> DocumentSpan | None:
    """Return the first place of a quotation in the corpus; None if it is nowhere.

    White space, capitals and the form of quotation marks don't count.
    """
    words = comparable(evidence.quotation or "")
    for document_id in (evidence.document_id,) if evidence.document_id else corpus.texts:
        if document_id in corpus.texts and (at := corpus.comparable_text(document_id).find(words)) >= 0:
            before = corpus.meter.dense.of(document_id)[1]
            first, last = before.searchsorted([at, at + len(words) - 1], side="right") - 1
            return DocumentSpan(document_id, int(first), int(last) + 1)
    return None


def _as_written(quotation: str, pieces: Sequence[Piece]) -> str:
    """Return a quotation as the first piece that has it writes it, without white space; as it is if none has it."""
    words = comparable(quotation)
    for piece in pieces:
        text = without_blanks(piece.text)
        if (at := comparable(text).find(words)) >= 0:
            return text[at : at + len(words)]
    return quotation


def is_in_corpus(evidence: Evidence, corpus: Corpus) -> bool:
    """Return True if `evidence` is in the corpus, or there is none."""
    if not corpus.texts and not corpus.chunks:
        return True
    if evidence.quotation is not None:
        words = comparable(evidence.quotation)
        loose = (chunk.text for chunk in corpus.chunks.values() if chunk.document_id in corpus.without_text)
        in_chunk = any(words in comparable(text) for text in loose)
        return in_chunk or corpus.find_quotation(evidence) is not None
    if evidence.chunk_id is not None:
        return not corpus.chunks or evidence.chunk_id in corpus.chunks
    text = corpus.texts.get(evidence.document_id or "")
    return evidence.document_id in corpus.without_text if text is None else len(text) >= (evidence.end or 0)
