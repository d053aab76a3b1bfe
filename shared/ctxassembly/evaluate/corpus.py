"""The documents that evidence is marked in, and the place of evidence and of results in them.

Without a corpus the documents are put together from what the systems return: text that no piece of a result covers is
then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import InputError
from ctxassembly.evaluate.meter import Meter
from ctxassembly.evaluate.questions import Evidence
from ctxassembly.evaluate.results import Piece, read_chunk
from ctxassembly.evaluate.spans import DocumentSpan, without_blanks
from ctxassembly.safe_repr import safe_repr

UNKNOWN = "\ufffd"
"""In place of each character of a document that no piece of a result has."""
_STRAIGHT = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')
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
            raise InputError(
                f"corpus must be a dict of texts by document id, or a list of chunks, got {safe_repr(source)}"
            )
        chunks = [read_chunk(item) for item in source]
        slices = [(chunk.document_id, chunk.start, chunk.text) for chunk in chunks if type(chunk.start) is int]
        return cls(restored(slices, _blanks), {chunk.id: chunk for chunk in chunks})

    @cached_property
    def _comparable(self) -> dict[str, str]:
        return {}

    def comparable_text(self, document_id: str) -> str:
        """Return a document as quotations are compared with it: without white space, see `comparable`."""
        if document_id not in self._comparable:
            self._comparable[document_id] = comparable(self.meter.dense.of(document_id)[0])
        return self._comparable[document_id]

    @cached_property
    def meter(self) -> Meter:
        """The measures over the documents."""
        return Meter(self.texts)


def _blanks(length: int) -> str:
    """Return the white space that a splitter has stripped between two chunks: a blank, or an empty line."""
    return " " if length == 1 else "\n" * length


def restored(slices: Iterable[tuple[str, int, str]], fill: Callable[[int], str]) -> dict[str, str]:
    """Return the documents that `slices` (id, start, text) are from; `fill` gives what none of them has, by its length.

    A document whose slices contradict each other, as pages do that each count from 0, is left out.

    >>> restored([("a", 0, "Drink"), ("a", 6, "water."), ("b", 0, "x"), ("b", 0, "y")], " ".__mul__)
    {'a': 'Drink water.'}
    """
    documents: dict[str, list[tuple[int, str]]] = {}
    for document_id, start, text in slices:
        documents.setdefault(document_id, []).append((start, text))
    texts = {}
    for document_id, parts in documents.items():
        text = ""
        for start, part in sorted(parts):
            text += fill(max(start - len(text), 0))
            shared = min(len(text) - start, len(part))
            if text[start : start + shared] != part[:shared]:
                break
            text += part[shared:]
        else:
            texts[document_id] = text
    return texts


class Located(NamedTuple):
    """The evidence of a question and the pieces of a result as spans of the documents of one meter."""

    meter: Meter
    evidence: list[DocumentSpan]
    runs: list[DocumentSpan]
    """The place of each piece, in reading order."""
    marks: list[DocumentSpan]
    """The same, with a mark of each chunk and document where evidence is marked by their ids alone."""
    is_placed: bool
    """True if all runs are in documents of the corpus."""


def locate(evidence: Sequence[Evidence], pieces: Sequence[Piece], corpus: Corpus) -> Located:
    """Return `evidence` and `pieces` as spans."""
    known = {piece.document_id for piece in pieces if piece.document_id} - corpus.texts.keys()
    slices = [(p.document_id, p.start, p.text) for p in pieces if p.document_id in known and p.start is not None]
    texts = restored(slices, UNKNOWN.__mul__)
    for one in evidence:
        if one.document_id is not None and one.end is not None and one.document_id not in corpus.texts:
            texts[one.document_id] = texts.get(one.document_id, "").ljust(one.end, UNKNOWN)
    runs = [_piece_span(piece, corpus, texts) for piece in pieces]
    wanted = [span for one in evidence if (span := _evidence_span(one, pieces, corpus, texts))]
    marked = {span.document_id for span in wanted if span.document_id.startswith(_LOOSE)}
    marks: list[DocumentSpan] = []
    for piece, run in zip(pieces, runs, strict=True):
        ids = (f"{_LOOSE}chunk {piece.chunk_id}", f"{_LOOSE}document {piece.document_id}")
        marks += [run, *(DocumentSpan(each, 0, 1) for each in ids if each in marked and texts[each] == UNKNOWN)]
        chunk = corpus.chunks.get(piece.chunk_id or "")
        if ids[0] in marked and chunk and piece.chunk_start is not None:
            marks.append(DocumentSpan(ids[0], piece.chunk_start, piece.chunk_start + len(piece.text)))
    is_placed = all(run.document_id in corpus.texts for run in runs)
    return Located(Meter(texts, corpus.meter), wanted, runs, marks, is_placed)


def _piece_span(piece: Piece, corpus: Corpus, texts: dict[str, str]) -> DocumentSpan:
    """Return the place of a piece: by its own offset, by its chunk's, by its words; else a text of its own."""
    chunk = corpus.chunks.get(piece.chunk_id or "")
    starts = [piece.start]
    if chunk and type(chunk.start) is int and piece.chunk_start is not None:
        starts.append(chunk.start + piece.chunk_start)
    document_id = piece.document_id or (chunk.document_id if chunk else "")
    text = corpus.texts.get(document_id, texts.get(document_id, ""))
    if document_id in corpus.texts:
        starts.append(text.find(piece.text))
    for start in starts:
        if start is not None and start >= 0 and text.startswith(piece.text, start):
            return DocumentSpan(document_id, start, start + len(piece.text))
    if not document_id:
        for other, whole in corpus.texts.items():
            if (at := whole.find(piece.text)) >= 0:
                return DocumentSpan(other, at, at + len(piece.text))
    loose = f"{_LOOSE}text {piece.text}"
    texts[loose] = piece.text
    return DocumentSpan(loose, 0, len(piece.text))


def _evidence_span(
    evidence: Evidence, pieces: Sequence[Piece], corpus: Corpus, texts: dict[str, str]
) -> DocumentSpan | None:
    """Return the place of a piece of evidence; of its words or its id if it has none. None if it is empty."""
    document_id = evidence.document_id or ""
    if evidence.start is not None and evidence.end is not None:
        length = len(corpus.texts.get(document_id, texts.get(document_id, "")))
        return DocumentSpan(document_id, evidence.start, min(evidence.end, length))
    if evidence.quotation is not None:
        if found := find_quotation(evidence, corpus):
            return found
        quotation = _as_written(evidence.quotation, pieces)
        return _loose(f"{_LOOSE}text {quotation}", quotation, texts)
    if evidence.chunk_id is not None:
        chunk = corpus.chunks.get(evidence.chunk_id)
        text = corpus.texts.get(chunk.document_id, "") if chunk else ""
        if chunk and type(chunk.start) is int and text.startswith(chunk.text, chunk.start):
            return DocumentSpan(chunk.document_id, chunk.start, chunk.start + len(chunk.text))
        return _loose(f"{_LOOSE}chunk {evidence.chunk_id}", chunk.text if chunk else UNKNOWN, texts)
    return _loose(f"{_LOOSE}document {document_id}", UNKNOWN, texts)


def _loose(name: str, text: str, texts: dict[str, str]) -> DocumentSpan:
    texts[name] = text
    return DocumentSpan(name, 0, len(text))


def find_quotation(evidence: Evidence, corpus: Corpus) -> DocumentSpan | None:
    """Return the first place of a quotation in the corpus; None if it is nowhere.

    White space, capitals and the form of quotation marks don't count.
    """
    words = comparable(without_blanks(evidence.quotation or ""))
    for document_id in (evidence.document_id,) if evidence.document_id else corpus.texts:
        if document_id in corpus.texts and (at := corpus.comparable_text(document_id).find(words)) >= 0:
            before = corpus.meter.dense.of(document_id)[1]
            first, last = before.searchsorted([at, at + len(words) - 1], side="right") - 1
            return DocumentSpan(document_id, int(first), int(last) + 1)
    return None


def _as_written(quotation: str, pieces: Sequence[Piece]) -> str:
    """Return a quotation as the first piece that has it writes it, without white space; as it is if none has it."""
    words = comparable(without_blanks(quotation))
    for piece in pieces:
        text = without_blanks(piece.text)
        if (at := comparable(text).find(words)) >= 0:
            return text[at : at + len(words)]
    return quotation


def comparable(text: str) -> str:
    """Return `text` with straight quotation marks and in lower case, each character in its place.

    >>> comparable("\u201cDRINK\u201d")
    '"drink"'
    """
    text = text.translate(_STRAIGHT)
    return lowered if len(lowered := text.lower()) == len(text) else text


def is_in_corpus(evidence: Evidence, corpus: Corpus) -> bool:
    """Return True if `evidence` is in the corpus, or nobody can know, since there is none."""
    if evidence.quotation is not None:
        return not corpus.texts or find_quotation(evidence, corpus) is not None
    if evidence.chunk_id is not None:
        return not corpus.chunks or evidence.chunk_id in corpus.chunks
    text = corpus.texts.get(evidence.document_id or "")
    return not corpus.texts or (text is not None and len(text) >= (evidence.end or 0))
