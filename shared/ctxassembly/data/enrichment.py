"""Notes of a model on documents, made when these are ingested: what there is to note, and what was noted."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_text

SUMMARY_KEY = "page_summary"
"""The metadata key of a chunk for the summary of its document, which `AssemblyConfig.summary_key` reads first."""
LABEL_KEYS = ("category", "entity_type", "place", "date")
"""The metadata keys of a chunk for what a model says that its document is. A chunk's own values are kept, and filters
don't read a model's."""


@dataclass(frozen=True, slots=True)
class ChunkNotes:
    """Notes on a chunk, by which it is found. No context ever shows them."""

    questions: tuple[str, ...] = ()
    """Questions that the chunk answers."""
    context: str = ""
    """A sentence that says where in its document the chunk is, and whom or what it is about."""


@dataclass(frozen=True, slots=True)
class DocumentNotes:
    """Notes on a document."""

    summary: str = ""
    """A context shows it once, above the document's passages."""
    chunks: tuple[ChunkNotes, ...] = ()
    """One for each chunk, in their order."""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Its labels, by `LABEL_KEYS`."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A stored document without its text: chunks of one document id with equal metadata, but for keys that vary."""

    document_id: str
    keys: tuple[Any, ...]
    """The keys of its rows, in the order of its chunks."""
    content_hash: str
    """A hash of its texts."""
    fingerprints: frozenset[str]
    """The marks of the notes that its chunks have; "" for a chunk without notes."""
    split_by: tuple[str, ...] = ()
    """The metadata keys by which it differs from others of the same id, as the documents of two tenants do."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Answered with a `StoredDocument`."""

    outline: Outline


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The chunks of a document in their order, and the title above them."""

    chunks: tuple[Chunk, ...]
    contexts: tuple[str, ...]
    """The contexts that are stored; "" for a chunk without one."""
    title: str = ""
    questions: tuple[tuple[str, ...], ...] = ()
    """The questions that are stored for each chunk."""


@dataclass(frozen=True, slots=True)
class WriteNotes:
    """Answered with True; with False if a chunk has gone or has another text by now, and then nothing is written."""

    outline: Outline
    texts: tuple[str, ...]
    """The texts of the chunks, as they were read."""
    notes: DocumentNotes | None
    """None leaves those that are stored."""
    vectors: Sequence[Sequence[float]] | None
    """One for each chunk; None leaves those that are stored."""
    fingerprint: str


class StoredChunk(NamedTuple):
    """A row of an index."""

    key: Any
    chunk: Chunk
    fingerprint: str
    """The mark of its notes; "" without notes."""


SharedValues = frozenset[tuple[str, Hashable]]
"""The metadata that the chunks of a document share, by their keys."""


def group_outlines(rows: Iterable[StoredChunk], shared_values: Callable[[Chunk], SharedValues]) -> list[Outline]:
    """Return the documents among `rows`, in the order of their ids.

    A model reads a document as one, and what it writes is shown with each of its chunks. So what one reader may not see
    beside the others is a document of its own.
    """
    documents: dict[str, dict[SharedValues, list[tuple[Any, Any, bytes, str]]]] = defaultdict(lambda: defaultdict(list))
    for key, chunk, mark in rows:
        digest = hashlib.sha256(chunk.text.encode(errors="surrogatepass")).digest()
        documents[chunk.document_id][shared_values(chunk)].append((sort_key(chunk), key, digest, mark))
    outlines: list[Outline] = []
    for document_id in sorted(documents):
        groups = documents[document_id]
        differing = frozenset[tuple[str, Hashable]]().union(*groups) - next(iter(groups)).intersection(*groups)
        split_by = tuple(sorted({path for path, _ in differing}))
        in_order = (sorted(group, key=itemgetter(0)) for group in groups.values())
        for stored in sorted(in_order, key=lambda rows: rows[0][0]):
            content = hashlib.sha256(b"".join(digest for _, _, digest, _ in stored)).hexdigest()
            marks = frozenset(mark for *_, mark in stored)
            outlines.append(Outline(document_id, tuple(key for _, key, _, _ in stored), content, marks, split_by))
    return outlines


def sort_key(chunk: Chunk) -> tuple[Any, ...]:
    """Return the place of a chunk in its document, to sort by: its index, else its offset, else its id."""
    # A table may hold anything there.
    numbers = [number if type(number) is int else None for number in (chunk.index, chunk.start)]
    return (*((number is None, number or 0) for number in numbers), chunk.id)


def stored_document(
    outline: Outline, rows: Mapping[Any, tuple[Chunk, ChunkNotes | StoredNotes]], keys: MetadataKeys
) -> StoredDocument:
    """Return the document of an outline, from its chunks with their notes by their keys."""
    stored = [rows[key] for key in outline.keys if key in rows]
    metadata = stored[0][0].metadata if stored else {}
    title = next((text for name in ("title", "source") if (text := to_text(keys.read(metadata, name)))), "")
    return StoredDocument(
        tuple(chunk for chunk, _ in stored),
        tuple(notes.context for _, notes in stored),
        title,
        tuple(notes.questions for _, notes in stored),
    )


class StoredNotes(NamedTuple):
    """What an index keeps with a chunk of the notes on it and on its document."""

    fingerprint: str = ""
    questions: tuple[str, ...] = ()
    context: str = ""
    summary: str = ""
    labels: Mapping[str, str] = MappingProxyType({})

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that are searched with the chunk's own."""
        return *self.questions, self.context

    def updated(self, request: WriteNotes, place: int) -> StoredNotes:
        """Return the notes on the chunk at `place` of the document after `request`."""
        if request.notes is None:
            return self._replace(fingerprint=request.fingerprint)
        own, summary, labels = request.notes.chunks[place], request.notes.summary, dict(request.notes.labels)
        return StoredNotes(request.fingerprint, own.questions, own.context, summary, labels)

    def add_to(self, chunk: Chunk) -> Chunk:
        """Return `chunk` with the notes on its document, as searches and contexts show it."""
        return with_notes(chunk, self.summary, self.labels)


def with_notes(chunk: Chunk, summary: str | None, labels: Mapping[str, str]) -> Chunk:
    """Return `chunk` with the notes on its document in its metadata, where it has none of its own."""
    notes = {key: value for key, value in {SUMMARY_KEY: summary, **labels}.items() if value}
    added = {key: value for key, value in notes.items() if key not in chunk.metadata}
    return replace(chunk, metadata={**chunk.metadata, **added}) if added else chunk
