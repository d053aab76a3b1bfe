"""Evidence and results as spans of documents, and the share of the evidence that a result has.

Evidence counts by its place (document, start, end), or because the result has the same words from another place:
corpora repeat themselves, and a reader doesn't care which copy it reads. For the latter, evidence is compared by
sentence. Short sentences count by their place alone, since "Yes." is everywhere.

Evidence is counted in the characters that say something: a dense offset doesn't count white space. Two spans with
nothing but white space between them touch. A document that isn't in the corpus has no text: its offsets are compared as
they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import InputError
from ctxassembly.evaluate.questions import Evidence
from ctxassembly.evaluate.systems import Piece, read_chunk
from ctxassembly.lazy import cached_property
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.sentences import sentence_ends

MAX_GAP_CHARS = 1_000_000
"""Characters between two chunks from which a document isn't put together: an offset is wrong, or chunks are missing."""
_LOOSE = "\0"
"""The beginning of the id of a text without a place in a document."""

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

    def __init__(self, texts: Mapping[str, str], parent: Meter | None = None, least: int | None = None) -> None:
        """`texts` are the documents by id; `parent` has those that `texts` hasn't.

        Sentences of at least `least` characters count from another place, too; None means `LEAST_ELSEWHERE`.
        """
        self._texts, self._parent, self._least = texts, parent, least
        self.dense: Dense = Dense(texts, parent.dense if parent else None)

    def text(self, span: DocumentSpan) -> str:
        """Return the text of `span`; empty for a document without a text."""
        if self._parent and span.document_id not in self._texts:
            return self._parent.text(span)
        return self._texts.get(span.document_id, "")[span.start : span.end]

    def recall(self, evidence: Sequence[DocumentSpan], runs: Sequence[DocumentSpan]) -> float:
        """Return the share of the characters of `evidence` that `runs` have, without white space."""
        found = self.found(evidence, [self.dense.span(run) for run in runs])
        return size(found) / size(self._evidence(evidence))

    def evidence_end(self, evidence: Sequence[DocumentSpan], runs: Sequence[DocumentSpan], text: str) -> int | None:
        """Return the number of characters of `text` up to the end of the last evidence; None if some is missing."""

        def has_all(chars: int) -> bool:
            return self.recall(evidence, _first(runs, chars)) == 1

        if self.recall(evidence, runs) < 1:
            return None

        length = sum(run.end - run.start for run in runs)
        read = _first(runs, bisect_left(range(length + 1), True, key=has_all))
        end = 0
        for run in read:
            piece = self.text(run).strip()
            at = text.find(piece, end)
            end = max(end, (text.find(piece) if at < 0 else at) + len(piece))
        return end

    def found(self, evidence: Sequence[DocumentSpan], runs: Sequence[DocumentSpan]) -> list[DocumentSpan]:
        """Return the evidence that the dense `runs` have: dense, ascending spans that don't touch."""
        wanted = self._evidence(evidence)
        found = overlap(wanted, union(runs))
        if size(found) == size(wanted):
            return found
        text = BOUNDARY.join(self.dense.text(run) for run in _joined(runs))
        elsewhere = [
            sentence
            for sentence in self.sentences(evidence)
            if size(overlap([sentence], found)) < sentence.end - sentence.start and self.dense.text(sentence) in text
        ]
        return union((*found, *elsewhere))

    def sentences(self, evidence: Sequence[DocumentSpan]) -> list[DocumentSpan]:
        """Return the sentences of `evidence` that count from another place, too; dense."""
        found = []
        for span in evidence:
            text = self.text(span)
            edges = (0, *sentence_ends(text), len(text))
            found += [
                self.dense.span(DocumentSpan(span.document_id, span.start + first, span.start + last))
                for first, last in pairwise(edges)
            ]
        least = LEAST_ELSEWHERE if self._least is None else self._least
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


def _blanks(length: int) -> str:
    """Return the white space that a splitter has stripped between two chunks: a blank, or an empty line."""
    return " " if length == 1 else "\n" * length


def restored(slices: Iterable[tuple[str, int, str]]) -> dict[str, str]:
    """Return the documents that `slices` (id, start, text) are from, with blanks where none has a character.

    A document whose slices contradict each other, as pages do that each count from 0, is left out.

    >>> restored([("a", 0, "Drink"), ("a", 6, "water."), ("b", 0, "x"), ("b", 0, "y")])
    {'a': 'Drink water.'}
    """
    documents: dict[str, list[tuple[int, str]]] = {}
    for document_id, start, part in slices:
        documents.setdefault(document_id, []).append((start, part))
    texts = {}
    for document_id, parts in documents.items():
        text = ""
        for start, part in sorted(parts):
            gap = max(start - len(text), 0)
            if gap > MAX_GAP_CHARS or text[start : start + len(part)] != part[: max(len(text) - start, 0)]:
                break
            text += _blanks(gap) + part[max(len(text) - start, 0) :]
        else:
            texts[document_id] = text
    return texts


class Located(NamedTuple):
    """The evidence of a question and the pieces of a result as spans of the documents of one meter."""

    meter: Meter
    evidence: list[DocumentSpan]
    pieces: list[tuple[DocumentSpan, ...]]
    """The places of each piece, in reading order: in a document of the corpus, else a text of its own; its offsets in a
    document that isn't in the corpus; and its chunk and document where evidence is marked by their ids alone."""

    @property
    def runs(self) -> list[DocumentSpan]:
        """All places of all pieces."""
        return [span for spans in self.pieces for span in spans]

    @property
    def recall(self) -> float:
        """The share of the evidence that the pieces have."""
        return self.meter.recall(self.evidence, self.runs)


def locate(evidence: Sequence[Evidence], pieces: Sequence[Piece], corpus: Corpus) -> Located:
    """Return `evidence` and `pieces` as spans."""
    texts: dict[str, str] = {}
    wanted = [_evidence_span(one, pieces, corpus, texts) for one in evidence]
    marked = {span.document_id for span in wanted if span.document_id.startswith(_LOOSE)}
    places = []
    for piece in pieces:
        run = place = _corpus_span(piece, corpus) or _loose(piece.text, texts)
        if piece.document_id and piece.start is not None and piece.document_id not in corpus.texts:
            place = DocumentSpan(piece.document_id, piece.start, piece.start + len(piece.text))
        marks = (f"{_LOOSE}chunk {piece.chunk_id}", f"{_LOOSE}document {piece.document_id}")
        places.append(tuple(dict.fromkeys((run, place, *(DocumentSpan(one, 0, 1) for one in marks if one in marked)))))
    # A quotation counts wherever its words are, however short it is.
    least = 0 if all(one.quotation is not None for one in evidence) else None
    return Located(Meter(texts, corpus.meter, least), wanted, places)


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
        return _loose(quotation, texts)
    if evidence.chunk_id is not None:
        chunk = corpus.chunks.get(evidence.chunk_id)
        if chunk is None or not chunk.text.strip():
            return DocumentSpan(f"{_LOOSE}chunk {evidence.chunk_id}", 0, 1)
        own = Piece(chunk.text, chunk.document_id, chunk.start, chunk.id, 0)
        return _corpus_span(own, corpus) or _loose(chunk.text, texts)
    return DocumentSpan(f"{_LOOSE}document {evidence.document_id}", 0, 1)


def _loose(text: str, texts: dict[str, str]) -> DocumentSpan:
    """Return `text` as a document of its own, and add that to `texts`."""
    name = f"{_LOOSE}text {text}"
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
        in_chunk = any(words in comparable(chunk.text) for chunk in corpus.chunks.values())
        return in_chunk or corpus.find_quotation(evidence) is not None
    if evidence.chunk_id is not None:
        return not corpus.chunks or evidence.chunk_id in corpus.chunks
    text = corpus.texts.get(evidence.document_id or "")
    if text is not None:
        return len(text) >= (evidence.end or 0)
    return any(chunk.document_id == evidence.document_id for chunk in corpus.chunks.values())
